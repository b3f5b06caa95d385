"""The git program to run, and its environment."""

import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from clawft.builtin.git.run import RunPurpose
from clawft.builtin.git.settings import MANIFEST, PEOPLE, GitSettings
from clawft.builtin.process import DEFAULT_VARIABLES, PROBE_S, clear_environment
from clawft.errors import ExecutionFailed
from clawft.provider.manifest import check_variable
from clawft.sandbox.probe import leash, outside_workspace, which

OLDEST = (2, 31)
"""Older versions read no configuration from the environment, so nothing could be overridden."""
NO_PROTOCOL = "none"
"""A value for GIT_ALLOW_PROTOCOL that allows none, as there is no protocol of this name."""

_VERSION = re.compile(r"git version (\d+)\.(\d+)")

ALWAYS: Mapping[str, str] = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_ADVICE": "0",
    "GCM_INTERACTIVE": "never",
}
UNTRUSTED: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}
"""Also ignores the user's own configuration: its programs are the user's, but the repository would decide when they
run, and on what.
"""
SHAPE: Mapping[str, str] = {
    "color.ui": "false",
    "core.quotePath": "false",
    "diff.suppressBlankEmpty": "false",
    "gc.auto": "0",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "maintenance.auto": "false",
}
"""Overrides configuration that changes the output we parse, or leaves processes running after git."""


class GitProgram(Struct, frozen=True):
    """How git is started: `brief` for short runs that only read; else `tied`, so that it ends with us."""

    brief: tuple[str, ...]
    tied: tuple[str, ...]


@cache
def program() -> GitProgram:
    """The git program. Blocks for a moment the first time; raises ExecutionFailed if git is missing or too old."""
    clear = clear_environment()
    found = which("git", clear["PATH"].split(os.pathsep))
    if found is None:
        raise ExecutionFailed(
            "git: the program git is not installed", hint="install git; the family is the extra clawft[git]"
        )
    asked = subprocess.run([found, "version"], env=clear, capture_output=True, text=True, timeout=PROBE_S, check=False)
    version = _VERSION.match(asked.stdout)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ExecutionFailed(f"git: '{asked.stdout.strip()}' is too old", hint=f"git {wanted} or newer is needed")
    argv = (found, "--no-pager")
    return GitProgram(argv, (*leash(), *argv))


def environment(
    settings: GitSettings,
    purpose: RunPurpose,
    *,
    config: Mapping[str, str] = SHAPE,
    extra: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The complete environment of git. `extra` and `config` win over variables from outside."""
    kept = clear_environment(environ)
    kept["PATH"] = (_absolute if purpose.trusted else _foreign)(kept["PATH"]) or DEFAULT_VARIABLES["PATH"]
    if purpose.trusted:
        kept |= {name: environ[name] for name in settings.variables if name in environ}
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(purpose.protocols) or NO_PROTOCOL}
    chosen = {} if purpose.trusted else dict(UNTRUSTED)
    if purpose.users_own:
        chosen.pop("GIT_CONFIG_GLOBAL", None)
    return {**kept, **ALWAYS, **chosen, **allowed, **(extra or {}), **_as_variables(config)}


def people(tool: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The author and committer from the environment."""
    for name in PEOPLE:
        check_variable(MANIFEST, tool, name)
    return {name: environ[name] for name in PEOPLE if environ.get(name)}


def _as_variables(config: Mapping[str, str]) -> dict[str, str]:
    """Configuration as environment variables: on the command line a key with `=` in its name is impossible."""
    found = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found


def _absolute(path: str) -> str:
    """The PATH without relative entries, which a repository could put a `git` of its own in."""
    return os.pathsep.join(filter(os.path.isabs, path.split(os.pathsep)))


@cache
def _foreign(path: str) -> str:
    """The PATH also without entries in the current folder: `ssh` is looked up in it."""
    return os.pathsep.join(outside_workspace(path.split(os.pathsep)))
