"""The data of editors: places in a text, changes to it, diagnostics, symbols, windows.

Lines and characters count from zero; a character is a UTF-16 unit, as in the Language Server Protocol and in VS Code.
"""

from enum import IntEnum
from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]


class Position(Struct, frozen=True, order=True):
    line: Count
    character: Count


class Range(Struct, frozen=True, order=True):
    start: Position
    end: Position


class TextEdit(Struct, frozen=True):
    """`new_text` in place of what is in `range`; an empty range inserts."""

    range: Range
    new_text: str


class DiagnosticSeverity(IntEnum):
    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    range: Range
    severity: DiagnosticSeverity
    message: str
    source: str | None = None
    code: str | None = None
    file_path: str | None = None


class SymbolInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    kind: str
    file_path: str
    range: Range
    container: str | None = None


class HoverInfo(Struct, frozen=True, omit_defaults=True):
    contents: str
    range: Range | None = None


class Location(Struct, frozen=True, order=True):
    file_path: str
    range: Range


class FileEdit(Struct, frozen=True, omit_defaults=True):
    """Changes to one file, all in terms of the text before any of them."""

    path: str
    edits: list[TextEdit]
    version: int | None = None
    """The version these changes were made for; they are refused if the text has another one."""
    expected: list[str | None] | None = None
    """The text that must stand in the range of each edit, if that is to be checked."""


class Buffer(Struct, frozen=True, omit_defaults=True):
    """The state of one text. `dirty`: it differs from the disk."""

    path: str
    version: int
    dirty: bool = False
    text: str | None = None


class Problems(Struct, frozen=True):
    """Diagnostics, and how far they can be believed. `fresh`: they describe the text as it is now."""

    items: list[Diagnostic]
    fresh: bool
    pending: bool = False
    version: int | None = None
    dirty: bool = False


class Action(Struct, frozen=True, omit_defaults=True):
    """Something the editor offers to do; `changes` is what it would do to texts."""

    id: str
    title: str
    kind: str = ""
    changes: list[FileEdit] = []


class OpenEditor(Struct, frozen=True, omit_defaults=True):
    path: str
    active: bool = False
    dirty: bool = False
    language: str = ""


class Selection(Struct, frozen=True, omit_defaults=True):
    """The person's selection. Nothing is open if `path` is missing."""

    path: str | None = None
    range: Range | None = None
    text: str = ""


class Review(Struct, frozen=True, omit_defaults=True):
    """How a person judged a proposal; `text` is what they made of it, if it is not what was proposed."""

    outcome: str
    text: str | None = None


class Window(Struct, frozen=True, omit_defaults=True):
    """One editor window, or the language servers that stand in for one."""

    id: str
    ide: str
    folders: list[str] = []
    version: str = ""
    focused: bool = False
    trusted: bool = True
    capabilities: list[str] = []
    ready: bool = True
    sandbox: str = ""
    """The sandbox of the language servers we started."""
    gaps: list[str] = []
    """The gaps that the last answer about all files may have, with the reasons: a language server that is not
    installed, say.
    """


SYMBOL_KINDS = (
    "file module namespace package class method property field constructor enum interface function variable constant "
    "string number boolean array object key null enum_member struct event operator type_parameter"
).split()  # fmt: skip


def symbol_kind(number: int) -> str:
    """The name of a kind in the Language Server Protocol, which counts from one."""
    return SYMBOL_KINDS[number - 1] if 1 <= number <= len(SYMBOL_KINDS) else "unknown"
