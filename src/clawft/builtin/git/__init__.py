"""The git family, which runs a hardened git command line.

A repository is untrusted until a person approved it. In an untrusted one nothing of its own is started: no hook, no
filter, no driver, no helper. `program` and `hostile_config` say how, `repository_paths` keeps git inside the workspace,
`argument_checks` and `address` judge what comes from outside, `run` holds the process, in its `cell`.

| what | where |
|---|---|
| a repository in use | `repo`, found by `repository_paths`, with its `kept_config` |
| to look | `status`, `log`, `show`, `diff`, `blame`, `branch`, and `tag`, `stash`, `worktree`, which can change, too |
| to change | `add`, `commit`, `switch`; with others `clone`, `remote`, `pull` |
| what they share | `staging`, `identity`, `conflicts`, `unfinished` |
| | `one_at_a_time`, `temporary_index`, `patch`, `hunks`, `diff_cursor`, `reading`, `page`, `progress`, `failure` |
| what the user lets them do | `settings`, `destructive_grant` |

Each tool is a file; `family` lists them. To add one: a file with its `partial_tool`, and a row there.
"""

from collections.abc import Callable
from typing import Any

from clawft.builtin.git.family import git_tools
from clawft.builtin.git.settings import MANIFEST, Bounds, GitSettings

__all__ = ["MANIFEST", "Bounds", "GitSettings", "git_tools", "tools_with"]


def tools_with(settings: GitSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    return [(function, True) for function in git_tools(settings or GitSettings())]
