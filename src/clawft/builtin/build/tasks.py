"""Tasks a workspace declares in `.clawft/tasks.toml`: the only things that `build__run` and `build__test` can run.

[tasks.unit]
runner = "pytest"
kind = "test"
args = ["tests/unit"]
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.build.family import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S, TaskKind
from clawft.builtin.build.runner import RUNNERS
from clawft.builtin.confine import confined, open_file
from clawft.error_words import did_you_mean
from clawft.errors import ConfigUnparsable, ExecutionFailed, InvalidConfig
from clawft.store.document import TomlDocument, parse

FILE = ".clawft/tasks.toml"
MAX_FILE_BYTES = 256 * 1024
MAX_TASKS = 200

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$"
_EXAMPLE = f'declare one in {FILE}: [tasks.unit] runner = "pytest", kind = "test"'
_WORD = r"^[^\u0000]*$"


class DeclaredTask(Struct, frozen=True):
    """The declaration of a task. `target` is the make target, the npm script or cargo's subcommand."""

    runner: str
    kind: TaskKind = "run"
    description: str = ""
    target: Annotated[str, Meta(pattern=r"^[^\u0000-][^\u0000]*$")] = ""
    args: tuple[Annotated[str, Meta(pattern=_WORD)], ...] = ()
    working_dir: Annotated[str, Meta(min_length=1)] = "."
    timeout_s: Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S)] = DEFAULT_TIMEOUT_S
    env: dict[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Annotated[str, Meta(pattern=_WORD)]] = {}


def read_tasks(workspace: Path) -> Mapping[str, DeclaredTask]:
    """All declared tasks. InvalidConfig names file, line and what was probably meant."""
    return tasks_in(_content(workspace))


def find_task(tasks: Mapping[str, DeclaredTask], name: str, tool: str) -> DeclaredTask:
    found = tasks.get(name)
    if found is not None:
        return found
    if not tasks:
        raise ExecutionFailed(f"{tool}: no tasks are declared", hint=_EXAMPLE)
    shown = name if len(name) <= 64 else name[:63] + "…"
    raise ExecutionFailed(
        f"{tool}: there is no task {shown!r}{did_you_mean(shown, tasks)}", hint=f"declared: {', '.join(tasks)}"
    )


def tasks_in(content: bytes) -> Mapping[str, DeclaredTask]:
    """The tasks of a file with this content."""
    declared = _parsed(content)
    for key in declared.tables:
        if key != "tasks":
            words = f"unknown key {key!r}{did_you_mean(key, ['tasks'])}"
            raise _wrong(declared, (key,), words, "tasks are [tasks.NAME]")
    tables = declared.tables.get("tasks", {})
    if not isinstance(tables, dict) or len(cast("dict[str, Any]", tables)) > MAX_TASKS:
        raise _wrong(declared, ("tasks",), f"tasks are at most {MAX_TASKS} tables, [tasks.NAME]")
    return {name: _task(declared, name, table) for name, table in cast("dict[str, Any]", tables).items()}


def _parsed(content: bytes) -> TomlDocument:
    try:
        return parse(content, FILE)
    except ConfigUnparsable as wrong:
        raise InvalidConfig(wrong.message, hint="correct that line") from None


def _wrong(declared: TomlDocument, path: tuple[str, ...], words: str, hint: str = "") -> InvalidConfig:
    """The error for the value at this path."""
    return InvalidConfig(f"{declared.file}:{declared.line_of(path)}: {words}", hint=hint)


def _task(declared: TomlDocument, name: str, table: Any) -> DeclaredTask:
    at = ("tasks", name)
    if not isinstance(table, dict):
        raise _wrong(declared, at, f"task {name!r} is no table", f"write [tasks.{name}]")
    values = cast("dict[str, Any]", table)
    _check_name(declared, name)
    _check_keys(declared, at, values)
    try:
        return msgspec.convert(values, DeclaredTask)
    except msgspec.ValidationError as wrong:
        raise _mistaken(declared, at, str(wrong)) from None


def _check_name(declared: TomlDocument, name: str) -> None:
    try:
        msgspec.convert(name, Annotated[str, Meta(pattern=_NAME)])
    except msgspec.ValidationError:
        raise _wrong(
            declared, ("tasks", name), f"{name[:64]!r} cannot name a task", "letters, digits and _ . : -, up to 64"
        ) from None


def _check_keys(declared: TomlDocument, at: tuple[str, ...], values: Mapping[str, Any]) -> None:
    known = DeclaredTask.__struct_fields__
    for key in values:
        if key not in known:
            words = f"unknown key {key!r} in [{'.'.join(at)}]{did_you_mean(key, known)}"
            raise _wrong(declared, (*at, key), words, f"known: {', '.join(known)}")
    if "runner" not in values:
        raise _wrong(declared, at, f"[{'.'.join(at)}] needs a runner", f"one of: {', '.join(RUNNERS)}")
    runner = str(values["runner"])
    if runner not in RUNNERS:
        words = f"unknown runner {runner[:64]!r}{did_you_mean(runner, RUNNERS)}"
        raise _wrong(declared, (*at, "runner"), words, f"one of: {', '.join(RUNNERS)}")


def _mistaken(declared: TomlDocument, at: tuple[str, ...], said: str) -> InvalidConfig:
    """The error of msgspec, which names the place as `$.args[0]`."""
    words, _, where = said.partition(" - at ")
    key = where.partition("$.")[2].rstrip("`").partition("[")[0]
    return _wrong(declared, (*at, key), f"{key}: {words}")


def _content(workspace: Path) -> bytes:
    """The content of the file, empty if it is missing."""
    if not os.path.lexists(workspace / FILE):
        return b""
    with confined(workspace, FILE, "build") as found, open_file(found) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidConfig(f"{FILE} is larger than {MAX_FILE_BYTES} bytes", hint="declare fewer tasks")
    return content
