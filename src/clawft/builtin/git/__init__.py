"""Git: the tools, from the hardened git command line.

A repository is untrusted until a person approved it. In an untrusted one nothing of its own is started: no hook, no
filter, no driver, no helper. `program` and `hostile_config` say how, `repository_paths` keeps git inside the workspace,
`words` and `address` judge what comes from outside, `run` holds the process. Each tool is a file; `family` lists them.
"""

from collections.abc import Callable
from typing import Any

from clawft.builtin.git.family import git_tools
from clawft.builtin.git.settings import MANIFEST, Bounds, GitSettings

__all__ = ["MANIFEST", "Bounds", "GitSettings", "git_tools", "tools_with"]


def tools_with(settings: GitSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    return [(function, True) for function in git_tools(settings or GitSettings())]
