"""Passes a command its input and output so that no process around it holds them too. Pure.

bubblewrap stays with what it starts, and keeps descriptors 0 to 2 open: a command that closes its output and lives on
would not be noticed. It closes all others. So one line of shell puts the pipes among these before the wall is built,
and another, behind it, puts them back. That one sets the limits too, and a start takes hardly longer than by `prlimit`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

SHELL, ENV = "/bin/sh", "/usr/bin/env"
LOWEST_OTHER = 10
"""The lowest number for other descriptors: shells know only those of one digit."""

FIRST_TO_GO = 500
"""Added to the process's score, in thousandths of all memory, when the kernel looks for one to kill."""
_AWAY = f'{{ echo {FIRST_TO_GO} >/proc/self/oom_score_adj; }} 2>/dev/null; exec "$@" 8<&0 9>&1 </dev/null >/dev/null'
_BACK = 'exec "$@" <&8 8<&- >&9 9>&-'
_NAME = "sandbox"
"""The name in the shell's error messages."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Shells drop variables with other names."""
_OF_SHELLS = frozenset(
    "_ DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD IFS LINENO OLDPWD OPTARG OPTERR OPTIND "
    "PIPESTATUS POSIXLY_CORRECT PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID".split()
)
"""Variables that some shell sets or obeys, besides all that begin with `BASH`."""


def away() -> tuple[str, ...]:
    """The words to put before a wall."""
    return (SHELL, "-c", _AWAY, _NAME)


def back(limits: Sequence[str], leaves: Sequence[str] = ()) -> tuple[str, ...]:
    """The words to put between the wall and the command. `leaves`: variables this shell adds, to remove again."""
    cleaned = (ENV, *(word for name in leaves for word in ("-u", name))) if leaves else ()
    return (SHELL, "-c", " && ".join((*limits, _BACK)), _NAME, *cleaned)


def with_memory(back: Sequence[str], most: int) -> tuple[str, ...]:
    """The words of `back` with a limit in bytes on the memory of the command."""
    shell, option, line, *rest = back
    return (shell, option, f"ulimit -d {most // 1024} && {line}", *rest)


def limiting(files: tuple[int, int], tasks: int | None) -> list[str]:
    """The shell code that sets the limits. Shells use different letters for the number of processes."""
    counted = [] if tasks is None else [f"{{ ulimit -p {tasks} 2>/dev/null || ulimit -u {tasks}; }}"]
    return ["ulimit -c 0", f"ulimit -Sn {files[0]}", f"ulimit -Hn {files[1]}", *counted]


def are_kept(names: Collection[str]) -> bool:
    """Whether a shell passes on these variables unchanged and adds none: some shells set a PATH if there is none."""
    return "PATH" in names and not any(map(_is_odd, names))


def _is_odd(name: str) -> bool:
    return name in _OF_SHELLS or name.startswith("BASH") or not _PLAIN.fullmatch(name)
