"""Finds the scripts of a launch, such as the file in `python server.py`, which are pinned besides its program.

A data file, such as a database, changes with every run and decides nothing. So only named files that look like programs
count: by their ending, by their first two letters, by their mode, or as the first file of an interpreter. Files named
in other ways (a module, a package, a variable) are in `named_scripts`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from clawft.config.named_scripts import (
    Candidate,
    by_code,
    by_folder,
    by_module,
    by_runner,
    by_variables,
    folders_entered,
)
from clawft.policy.pin import PREFIX
from clawft.sandbox.bounds import is_within
from clawft.sandbox.pinned_file import PinnedFile, pinned, stamp_of
from clawft.sandbox.program import hops
from clawft.store.private_files import open_at_once

MAX_SCRIPTS = 32
MAX_SCRIPT_BYTES = 32 * 1024 * 1024
UNREAD = "too large to be read; last changed"
NO_FILE = "it is not a regular file"

INTERPRETERS = ("python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "java", "sh", "bash")
ENDINGS = frozenset(
    ".py .pyz .pyw .js .mjs .cjs .jsx .ts .mts .cts .tsx .rb .pl .php .lua .sh .bash .zsh .fish .jar .wasm .so .dylib "
    ".dll .node".split()
)
NO_VARIABLES: Mapping[str, str] = {}
_MAY_RUN = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def scripts(command: str, args: Sequence[str], cwd: str, env: Mapping[str, str] = NO_VARIABLES) -> dict[str, str]:
    """Name → path of each script, up to a bound."""
    program = os.path.basename(command)
    named = {
        **code(command, args, cwd, env),
        **_in_all_places(args, cwd, lambda place: _those_there(by_runner(program, args, place))),
        **_in_all_places(args, cwd, lambda place: _programs(by_code(args, place))),
        **_programs(by_variables(env, cwd)),
    }
    return dict(list(named.items())[:MAX_SCRIPTS])


def code(command: str, args: Sequence[str], cwd: str, env: Mapping[str, str] = NO_VARIABLES) -> dict[str, str]:
    """Scripts that are run themselves; other files say what to run, and the programs that read them may write them."""
    interpreted = os.path.basename(command).rstrip("0123456789.") in INTERPRETERS
    return {
        **_in_all_places(args, cwd, lambda place: _of_arguments(interpreted, args, place)),
        **_those_there(by_folder(args, cwd) if interpreted else iter(())),
        **_those_there(_interpreters(command, cwd)),
        **_in_all_places(args, cwd, lambda place: _those_there(by_module(args, place, env))),
    }


def _in_all_places(args: Sequence[str], cwd: str, look: Callable[[str], Mapping[str, str]]) -> dict[str, str]:
    """The scripts found in the server's own folder, and in folders it enters first."""
    found = dict(look(cwd))
    for place in folders_entered(args, cwd):
        there = {name: path for name, path in look(place).items() if path not in found.values()}
        found.update({f"{os.path.relpath(place, cwd)}: {name}": path for name, path in there.items()})
    return found


def read_pinned(paths: Iterable[str], workspace: str) -> Iterator[PinnedFile]:
    """The files; with contents, up to a bound, for those in the workspace, where others may write."""
    room = MAX_SCRIPT_BYTES
    for path in islice(paths, MAX_SCRIPTS):
        with suppress(OSError), open_at_once(path) as file:
            seen = os.fstat(file.fileno())
            inside = is_within(os.path.realpath(path), workspace)
            is_read = inside and stat.S_ISREG(seen.st_mode) and seen.st_size <= room
            room -= seen.st_size if is_read else 0
            yield pinned(path, seen, file.read(seen.st_size) if is_read else None)


def digest_of(content: bytes) -> str:
    import hashlib  # loads OpenSSL; only where a launch is judged

    return PREFIX + hashlib.sha256(content).hexdigest()


def _interpreters(command: str, cwd: str) -> Iterator[Candidate]:
    """The interpreter a program names in its first line, if it lies in the folder: others are the system's."""
    beside = (hop for hop, _ in hops(command) if hop != command and is_within(hop, os.path.realpath(cwd)))
    return ((f"#!{hop}", hop) for hop in beside)


def _of_arguments(interpreted: bool, args: Sequence[str], cwd: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for argument, path in _files(args, cwd):
        if len(found) < MAX_SCRIPTS and (interpreted or _is_program(path)):
            found[argument] = path
        interpreted = interpreted and argument.startswith("-")
    return found


def _those_there(candidates: Iterator[Candidate]) -> dict[str, str]:
    return {name: path for name, path in candidates if os.path.isfile(path)}


def _programs(candidates: Iterator[Candidate]) -> dict[str, str]:
    return {name: path for name, path in candidates if os.path.isfile(path) and _is_program(path)}


def digests(found: Mapping[str, str]) -> dict[str, str]:
    return {argument: _digest(path) for argument, path in found.items()}


def _files(args: Sequence[str], cwd: str) -> Iterator[tuple[str, str]]:
    """Arguments that name a regular file, also as in `--require=./hook.js`."""
    for argument in args:
        option, _, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
        path = os.path.join(cwd, value)
        if value and "\0" not in value and os.path.isfile(path):
            yield (value if not option else argument), path


def _is_program(path: str) -> bool:
    if os.path.splitext(path)[1].lower() in ENDINGS:
        return True
    try:
        with open(path, "rb") as file:
            return bool(os.fstat(file.fileno()).st_mode & _MAY_RUN) or file.read(2) == b"#!"
    except OSError:
        return False


def digest(path: str, most: int) -> str:
    """The digest of a file; for one that is too large its time and size. Raises OSError."""
    import hashlib  # loads OpenSSL; only where a launch is judged

    with open_at_once(path) as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return NO_FILE
        if seen.st_size > most:
            return f"{UNREAD} {stamp_of(seen)}"
        return PREFIX + hashlib.file_digest(file, "sha256").hexdigest()


def _digest(path: str) -> str:
    try:
        return digest(path, MAX_SCRIPT_BYTES)
    except OSError as failed:
        return f"cannot be read: {failed.strerror}"
