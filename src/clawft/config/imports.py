"""Finds servers that other programs on this machine know, ready to be imported. Writes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawft.catalog.names import RESERVED, refuse_server
from clawft.config.cleared_entry import cleared, not_taken_over
from clawft.config.entry import ServerEntry, not_for, read_foreign
from clawft.config.entry_rules import command_of, judge, program_of
from clawft.config.load import SourceLine
from clawft.config.other_programs import OtherProgram, ServerFile, UserFolders, read_told
from clawft.config.places import expanded
from clawft.errors import ConfigError
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.shapes import members


class Candidate(Struct, frozen=True):
    """A server that was found: `spec` is what we would write, or `refused` says why not. `notes` are for the person."""

    source: str
    file: str
    name: str
    spec: UpstreamSpec | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()
    secrets: Mapping[str, str] = {}
    """Reference → the value written in clear. Never shown, and written only on request."""


def find(program: OtherProgram, around: UserFolders) -> Iterator[Candidate]:
    """All servers of one program, file by file; a file that cannot be read is refused, and hides no other."""
    for file in program.files(around):
        try:
            yield from _find_in(file, program.name, around)
        except ConfigError as wrong:
            yield Candidate(program.name, str(file.path), "", refused=str(wrong))
        except Exception as odd:  # noqa: BLE001 - others write what they like; what is said of it may hold a secret
            why = f"{file.path} contains something that cannot be read ({type(odd).__name__}); add its servers by hand"
            yield Candidate(program.name, str(file.path), "", refused=why)


def _find_in(file: ServerFile, source: str, around: UserFolders) -> Iterator[Candidate]:
    written = read_told(file.path)
    for name, entry in file.read(written, around) if written else ():
        yield candidate(source, file.path, name, entry, around)


# ── one entry into a server of ours ──────────────────────────────────────────────────────────────────────────────────

DEEPEST_TEXT = 2
"""Depth of tables around a text: `transport`, and `env` in it."""
_ODD = re.compile(r"[^A-Za-z0-9.-]+|_+")


def candidate(source: str, file: Path, name: str, entry: Mapping[str, Any], around: UserFolders) -> Candidate:
    """A server for an entry: named, resolved and free of secrets, or refused with the reason."""
    told = read_foreign(_with_workspace(entry, around), SourceLine(str(file)), name)
    if isinstance(told, ConfigError):
        return Candidate(source, str(file), name, refused=f"{told.message.removeprefix(f'{file}: ')}; {told.hint}")
    ours = our_name(name)
    unheard = not_for(told) if bool(told.url) != bool(told.command) else []
    told = msgspec.structs.replace(told, **{key: type(getattr(told, key))() for key in unheard})
    free = cleared(told, ours)
    renamed = [f"it is {name!r} there"] if ours != name else []
    off = (
        []
        if told.enabled
        else [f"it is disabled there, so it was imported as disabled; to enable it: weft servers enable {ours}"]
    )
    left = [f"its {key} have no effect there and were left out" for key in unheard]
    notes = (*renamed, *off, *left, *not_taken_over(entry, ours), *free.notes)
    refused, told = _resolved(free.entry, around.workspace)
    spec = judge(ours, told, SourceLine(str(file)), workspace=around.workspace)
    if refused or isinstance(spec, ConfigError):
        return Candidate(source, str(file), ours, refused=refused or str(spec), notes=notes)
    return Candidate(source, str(file), ours, _portable(spec, told), "", notes, free.secrets)


def our_name(name: str) -> str:
    """A name we accept, as close to the original as possible."""
    plain = _ODD.sub(lambda found: "_" if set(found[0]) == {"_"} else "-", name).strip("-_.")[:60] or "server"
    return f"{plain}-mcp" if plain in RESERVED or refuse_server(plain) else plain


def _portable(spec: UpstreamSpec, told: ServerEntry) -> UpstreamSpec:
    """The spec without a folder that was not named: the server then runs in the current workspace."""
    return msgspec.structs.replace(spec, cwd=told.cwd)


def _with_workspace(entry: Mapping[str, Any], around: UserFolders) -> Mapping[str, Any]:
    """The entry with the variables that an editor fills in, before it is read."""
    known = {
        "workspaceFolder": str(around.workspace),
        "workspaceFolderBasename": around.workspace.name,
        "userHome": str(around.user),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    return {key: _filled(value, known) for key, value in members(entry).items()}


def _filled(value: object, known: Mapping[str, str], depth: int = DEEPEST_TEXT) -> object:
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda found: known.get(found[1], found[0]), value)
    if not depth or not isinstance(value, list | dict):
        return value
    if isinstance(value, list):
        return [_filled(each, known, depth - 1) for each in cast("list[object]", value)]
    return {key: _filled(each, known, depth - 1) for key, each in cast("dict[str, object]", value).items()}


def _resolved(told: ServerEntry, workspace: Path) -> tuple[str, ServerEntry]:
    """The entry with the absolute path of its program. Our own entry is refused: that would be a cycle."""
    if told.url and not told.url.startswith("stdio:"):
        return "", told
    command, args = command_of(told)
    if not command:
        return "", told  # which is judged as written
    if Path(command).name == "weft" or ("clawft" in args and "-m" in args):
        return "this is weft itself", told
    folder = workspace / expanded(told.cwd)
    path = command if os.path.isabs(command) else program_of(command, str(folder))
    if path is None:
        return _missing(command, folder), told
    return "", msgspec.structs.replace(told, command=path, args=args, url="")


def _missing(command: str, folder: Path) -> str:
    """Why the program was not found; a hint if a whole command line stands in its place."""
    program, _, rest = command.partition(" ")
    if "${" in command:
        return f"{command!r} holds a variable, which is not filled in here"
    if rest and program_of(program, str(folder)):
        return f'{command!r} is not a program; put its arguments into "args"'
    where = f"not in {folder}" if os.sep in command else "not on the PATH"
    return f"{command} is {where}; install it first"
