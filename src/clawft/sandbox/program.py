"""Finds the folders a program cannot run without, so that they stay open in its sandbox.

A program is often a link to a script that names its interpreter, which is a link again. Each hop is followed, within
bounds; of `…/bin/name` the folder above `bin` is meant, because libraries lie beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from clawft.sandbox.bounds import TEMPORARY, is_within, may_be_opened

MAX_HOPS = 16
FIRST_LINE = 512
PACKAGES = "node_modules"
PROGRAM_FOLDERS = ("bin", "sbin", "Scripts", ".bin", "libexec")


def folders_of(
    argv: Sequence[str], home: str, cwd: str, workspace: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders of the program and of the scripts it is given; and the folders its arguments name.

    A link in the workspace that leads out of it is ignored: a server may have made it.
    """
    program = [place for file, folder in hops(argv[0]) for place in _install(file, folder, home)]
    paths = [path for argument in argv[1:] if (path := _path_in(argument, cwd, workspace))]
    program += [place for path in paths if os.path.isfile(path) for place in _beside(path, home)]
    named = [path for path in paths if os.path.isdir(path) and may_be_opened(path, home)]
    return tuple(dict.fromkeys(program)), tuple(dict.fromkeys(named))


def hops(file: str) -> Iterator[tuple[str, str]]:
    """The file, what it links to, the interpreter it names, and so on, each with its real folder."""
    waiting, seen = [file], set[str]()
    while waiting and len(seen) < MAX_HOPS:
        path = waiting.pop()
        if path in seen or not os.path.lexists(path):
            continue
        seen.add(path)
        folder = os.path.realpath(os.path.dirname(path))
        yield path, folder
        waiting += [next_hop] if (next_hop := _link(path, folder)) else _interpreter(path)


def _link(path: str, folder: str) -> str:
    try:
        return os.path.normpath(os.path.join(folder, os.readlink(path)))
    except OSError:
        return ""  # no link


def _interpreter(path: str) -> list[str]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe would block
            first = file.read(FIRST_LINE).partition(b"\n")[0]
    except OSError:
        return []
    words = os.fsdecode(first.removeprefix(b"#!")).split() if first.startswith(b"#!") else []
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        import shutil  # only for scripts that find their interpreter by PATH

        named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        return [found] if (found := shutil.which(named)) else []
    return words[:1]


def _install(file: str, folder: str, home: str) -> Iterable[str]:
    above = os.path.dirname(folder)
    if os.path.basename(folder) in PROGRAM_FOLDERS and may_be_opened(above, home):
        return (above,)
    return (folder,) if may_be_opened(folder, home) else (os.path.realpath(file),)


def _path_in(argument: str, cwd: str, workspace: str) -> str:
    """The path in an argument, also in `--folder=/path`; empty if there is none."""
    path = argument.partition("=")[2] if argument.startswith("--") and "=" in argument else argument
    if os.sep not in path or "://" in path:
        return ""
    joined = os.path.join(cwd, path)
    real = os.path.realpath(joined)  # resolved once: somebody may put a link there meanwhile
    return "" if leads_out(joined, real, workspace) else real


def leads_out(path: str, real: str, workspace: str) -> bool:
    """Whether the path seems to lie in the workspace, but a link leads out of it."""
    seems = bool(workspace) and is_within(os.path.normpath(path), workspace)
    return seems and not is_within(real, workspace)


def _beside(file: str, home: str) -> tuple[str, ...]:
    """The files a script needs beside it: its folder, if that may be opened; for one of npm all packages."""
    above, packages, _ = file.partition(f"/{PACKAGES}/")
    folder = f"{above}/{PACKAGES}" if packages else os.path.dirname(file)
    return (folder,) if may_be_opened(folder, home) and folder not in TEMPORARY else (file,)
