"""The messages of the Language Server Protocol that we read, and their conversion to our model."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import msgspec
from msgspec import Raw, Struct

from clawft.builtin.ide.model import (
    Action,
    Diagnostic,
    DiagnosticSeverity,
    FileEdit,
    HoverInfo,
    Location,
    Position,
    Range,
    SymbolInfo,
    TextEdit,
    symbol_kind,
)

MAX_MESSAGE_CHARS = 16 * 1024
"""Length of a diagnostic's message; a longer one is cut, with a note."""
MAX_HOVER_CHARS = 32 * 1024
_BEGINNING = Range(Position(0, 0), Position(0, 0))


def uri_of(path: str) -> str:
    return "file://" + quote(path, safe="/")


def path_of(uri: str) -> str:
    """The path of a `file:` address; empty for others."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # a host with an unclosed bracket
        return ""
    path = unquote(parts.path) if parts.scheme == "file" else ""
    return "" if "\0" in path else path


class LspDiagnostic(Struct):
    range: Range
    message: str
    severity: int | None = 1
    source: str | None = None
    code: Any = None


class _Said(Struct):
    """The message and severity of a diagnostic whose other members may be malformed."""

    message: str


class PublishedDiagnostics(Struct):
    uri: str
    diagnostics: list[Raw]
    """Decoded one by one, so that a malformed one does not lose the others."""
    version: int | None = None


class LspProgress(Struct):
    """Progress of the server's work; `value` is something else in other messages of this method."""

    token: int | str = ""
    value: Any = None

    @property
    def kind(self) -> str:
        match self.value:
            case {"kind": str(kind)}:
                return kind
            case _:
                return ""


class SettingsSection(Struct):
    section: str | None = None


class SettingsRequest(Struct):
    """The settings a server asks for."""

    items: list[SettingsSection] = []


class PulledReport(Struct):
    kind: str = "full"
    items: list[Raw] = []


class LspLocation(Struct, rename="camel"):
    uri: str = ""
    range: Range | None = None
    target_uri: str = ""
    target_selection_range: Range | None = None


class LspSymbol(Struct, rename="camel"):
    """A symbol in either form: with a location, or with children."""

    name: str
    kind: int
    location: LspLocation | None = None
    container_name: str | None = None
    selection_range: Range | None = None
    children: list["LspSymbol"] = []


class Markup(Struct):
    value: str = ""


class LspHover(Struct):
    contents: str | Markup | list[str | Markup]
    range: Range | None = None


class LspEdit(Struct, rename="camel"):
    range: Range
    new_text: str


class _Versioned(Struct):
    uri: str


class _DocumentChange(Struct, rename="camel"):
    text_document: _Versioned | None = None
    edits: list[LspEdit] = []
    kind: str = ""
    """Set for a change that makes, moves or removes files."""


class LspWorkspaceEdit(Struct, rename="camel"):
    changes: dict[str, list[LspEdit]] | None = None
    document_changes: list[_DocumentChange] | None = None


class LspAction(Struct):
    title: str = ""
    kind: str = ""
    edit: LspWorkspaceEdit | None = None
    data: Any = None


HOVER: Any = LspHover | None
LOCATIONS: Any = LspLocation | list[LspLocation] | None
SYMBOLS: Any = list[LspSymbol] | None
EDITS: Any = list[LspEdit] | None
WORKSPACE_EDIT: Any = LspWorkspaceEdit | None
ACTIONS: Any = list[LspAction] | None
"""The answer of a server, which may be null."""


def diagnostics(said: Iterable[Raw], path: str) -> list[Diagnostic]:
    return [found for each in said if (found := _read_diagnostic(each, path)) is not None]


def _read_diagnostic(raw: Raw, path: str) -> Diagnostic | None:
    """The diagnostic; at the beginning of the file if its place is malformed, None if it has no message."""
    try:
        return diagnostic(msgspec.json.decode(raw, type=LspDiagnostic, strict=False), path)
    except msgspec.ValidationError:
        pass
    try:
        return diagnostic(LspDiagnostic(_BEGINNING, msgspec.json.decode(raw, type=_Said).message), path)
    except msgspec.ValidationError:
        return None


def diagnostic(said: LspDiagnostic, path: str) -> Diagnostic:
    severity = DiagnosticSeverity(said.severity) if said.severity in (1, 2, 3, 4) else DiagnosticSeverity.ERROR
    code = str(said.code) if isinstance(said.code, int | str) else None
    return Diagnostic(said.range, severity, _cut(said.message, MAX_MESSAGE_CHARS), said.source, code, path)


def locations(said: "LspLocation | list[LspLocation] | None") -> list[Location]:
    many = [] if said is None else said if isinstance(said, list) else [said]
    found = ((path_of(each.uri or each.target_uri), each.range or each.target_selection_range) for each in many)
    return [Location(path, place) for path, place in found if path and place is not None]


def symbols(said: Iterable[LspSymbol], path: str, container: str | None = None) -> Iterator[SymbolInfo]:
    """The symbols as a flat list, parents before their children."""
    for each in said:
        place = each.selection_range or (each.location.range if each.location else None)
        file_path = path_of(each.location.uri) if each.location else path
        if place is not None and file_path:
            yield SymbolInfo(each.name, symbol_kind(each.kind), file_path, place, each.container_name or container)
        yield from symbols(each.children, path, each.name)


def hover(said: LspHover | None) -> HoverInfo | None:
    if said is None:
        return None
    many = said.contents if isinstance(said.contents, list) else [said.contents]
    contents = "\n\n".join(filter(None, (each if isinstance(each, str) else each.value for each in many)))
    return HoverInfo(_cut(contents, MAX_HOVER_CHARS), said.range) if contents else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [… {len(text) - most} more characters]"


def edits(said: Iterable[LspEdit]) -> list[TextEdit]:
    return [TextEdit(each.range, each.new_text) for each in said]


def file_edits(said: LspWorkspaceEdit | None) -> list[FileEdit]:
    """The changes to texts. Servers may not have us make or move files."""
    if said is None:
        return []
    if said.document_changes is not None:
        pairs = [(each.text_document.uri, each.edits) for each in said.document_changes if each.text_document]
    else:
        pairs = list((said.changes or {}).items())
    joined: dict[str, list[TextEdit]] = {}
    for uri, changes in pairs:
        joined.setdefault(path_of(uri), []).extend(edits(changes))
    return [FileEdit(path, changes) for path, changes in joined.items() if path]


def action(said: LspAction) -> Action:
    """The action, with an id from its kind and title, so that it stays the same."""
    id = sha256(f"{said.kind}\0{said.title}".encode()).hexdigest()[:8]
    return Action(id, said.title, said.kind, file_edits(said.edit))


def plain(value: Any) -> Any:
    """A struct as a JSON object with the member names of the protocol."""
    return msgspec.to_builtins(value)
