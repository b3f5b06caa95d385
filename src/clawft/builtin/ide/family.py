"""The common parts of the family's tools: finding the editor, deadlines, and members of results."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.autorun_refusal import refuse_autorun
from clawft.builtin.ide import paths
from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.model import Buffer, Diagnostic, DiagnosticSeverity, Position, Problems, Range, SymbolInfo
from clawft.builtin.ide.paths import TOOL
from clawft.builtin.ide.text import find_anchor
from clawft.errors import IdeFailed, IdeTimeout, InvalidArguments
from clawft.provider.context import ToolContext
from clawft.provider.manifest import Manifest, Permissions

MANIFEST = Manifest(
    id="com.clawft.plugin-ide",
    name="IDE",
    permissions=Permissions(filesystem=("$WORKSPACE",), network=("127.0.0.1",), shell=True),
)
OPERATION_SECONDS = 5.0
MAX_WAIT_MS = 60_000
MAX_ITEMS = 1_000

FilePath = Annotated[str, Meta(description="file, relative to the workspace")]
WindowId = Annotated[str, Meta(description="id of a window as ide__windows lists it; found by the path if left out")]
Line = Annotated[int, Meta(ge=0, description="line, counted from 0")]
Character = Annotated[int, Meta(ge=0, description="character in UTF-16 units, counted from 0")]
Symbol = Annotated[str, Meta(description="name of a symbol of the file, in place of line and character")]
Anchor = Annotated[
    str, Meta(max_length=4096, description="text that stands in the file exactly once, in place of line and character")
]
WaitMs = Annotated[int, Meta(ge=0, le=MAX_WAIT_MS, description="how long to wait for an analysis that still runs")]
Limit = Annotated[int, Meta(ge=1, le=MAX_ITEMS)]

T = TypeVar("T")
Found = TypeVar("Found", Diagnostic, SymbolInfo)


class IdeSettings(Struct, frozen=True):
    sandbox: str = "auto"
    """The sandbox of language servers: `auto`, `strict` (no home, no network), `require` or `off`."""


MAYBE_MADE = "the change may have been made all the same, or may still be: read the file before you make it again"


class IdeAnswer(Struct, frozen=True, kw_only=True):
    """An answer with the editor that gave it, and the text it is about."""

    backend: str
    window: str
    version: int | None = None
    fresh: bool = True
    """Whether the answer describes the current text."""
    dirty: bool = False
    """Whether the text is unsaved: programs that read the disk see an older one."""
    pending: bool = False
    """Whether the editor is still working on it; ask again."""


class AnswerStamp(TypedDict):
    """The members of `IdeAnswer`, to build results that extend it."""

    backend: str
    window: str
    version: int | None
    fresh: bool
    dirty: bool
    pending: bool


def stamped(
    connection: IdeConnection, buffer: Buffer | Problems | None = None, *, fresh: bool = True, pending: bool = False
) -> AnswerStamp:
    return {
        "backend": connection.backend,
        "window": connection.window.id,
        "version": buffer.version if buffer else None,
        "fresh": fresh,
        "dirty": bool(buffer and buffer.dirty),
        "pending": pending,
    }


class PlaceQuery(Struct, frozen=True):
    line: int | None = None
    character: int | None = None
    symbol: str = ""
    anchor: str = ""


class Spot(Struct, frozen=True):
    """A place in a file, and the editor that has the file."""

    connection: IdeConnection
    path: str
    position: Position

    def stamped(self) -> AnswerStamp:
        return stamped(self.connection, self.connection.state(self.path))


class Ide:
    """The context of one call of a tool."""

    def __init__(self, tool: str, hub: IdeHub, ctx: ToolContext) -> None:
        self.tool = tool
        self.hub = hub
        self.ctx = ctx

    @property
    def workspace(self) -> Path:
        return self.hub.workspace

    async def route(self, path: str | None, window: str, *, screen: bool = False) -> IdeConnection:
        await self.hub.look_around()
        return self.hub.route(path, window, screen=screen)

    def find(self, path: str) -> str:
        return paths.find(self.hub.roots(), path)

    def shown(self, path: str) -> str:
        return paths.shown(path, self.hub.workspace)

    async def inside(self, found: Sequence[Found]) -> list[Found]:
        """The results of an editor that are in files the agent may see."""
        files = {each.file_path for each in found if each.file_path}
        known = await asyncio.to_thread(paths.beneath, self.hub.roots(), files)
        return [each for each in found if not each.file_path or each.file_path in known]

    def placed(self, each: Diagnostic) -> Diagnostic:
        """The diagnostic as agents see it."""
        path = each.file_path and self.shown(each.file_path)
        return msgspec.structs.replace(each, file_path=path, severity=DiagnosticSeverity(each.severity))

    def find_writable(self, path: str) -> str:
        """The path of a file that the agent may change: not one that decides which programs run."""
        found = self.find(path)
        refuse_autorun(TOOL, self.shown(found))
        return found

    def check_change(self, path: str) -> None:
        """Refuse a change of an editor to a file that decides which programs run. The file may be missing."""
        refuse_autorun(TOOL, self.shown(paths.find_new(self.hub.roots(), path)))

    async def ask(self, connection: IdeConnection, work: Awaitable[T], extra_ms: int = 0) -> T:
        """Await the answer, within the time such an operation may take."""
        seconds = connection.seconds() + extra_ms / 1000
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise IdeTimeout(
                f"{self.tool} ({connection.window.id})", int(seconds * 1000), hint="it may still be starting; try again"
            ) from None

    async def change(self, connection: IdeConnection, work: Awaitable[T]) -> T:
        """Await the answer to a change. A timeout does not undo it: a busy editor may still make it."""
        try:
            return await self.ask(connection, work)
        except IdeTimeout as late:
            late.hint = MAYBE_MADE
            raise

    async def spot(self, path: str, where: PlaceQuery, window: str) -> Spot:
        found = self.find(path)
        connection = await self.route(found, window)
        return Spot(connection, found, await self._locate(connection, found, where))

    async def _locate(self, connection: IdeConnection, path: str, where: PlaceQuery) -> Position:
        """The position that was asked for, by number, by symbol or by text."""
        if where.anchor:
            buffer = await self.ask(connection, connection.read(path))
            return find_anchor(buffer.text or "", where.anchor, self.shown(path)).start
        if where.symbol:
            return (await self._symbol(connection, path, where.symbol)).start
        missing = [name for name, value in (("line", where.line), ("character", where.character)) if value is None]
        if missing or where.line is None or where.character is None:
            raise missing_arguments(self.tool, missing, "give line and character, or symbol, or anchor")
        return Position(where.line, where.character)

    async def _symbol(self, connection: IdeConnection, path: str, name: str) -> Range:
        """The range of a symbol, named `greet`, or `Greeter.greet` where that is ambiguous."""
        container, _, own = name.rpartition(".")
        known = await self.ask(connection, connection.document_symbols(path))
        found = [each for each in known if each.name == own and container in ("", each.container)]
        if len(found) == 1:
            return found[0].range
        hint = ", ".join(dict.fromkeys(each.name for each in known[:20])) or "the file has no symbols"
        if not found:
            raise IdeFailed(f"'{self.shown(path)}' has no symbol '{name}'", kind="not_found", hint=hint)
        places = "; ".join(f"{each.container or ''}.{each.name} in line {each.range.start.line}" for each in found[:5])
        raise IdeFailed(f"'{name}' is {len(found)} symbols", kind="ambiguous", hint=places)


def missing_arguments(tool: str, names: Sequence[str], hint: str) -> InvalidArguments:
    complaint = "; ".join(f"missing '{name}'" for name in names)
    return InvalidArguments(f"{tool}: {complaint}", hint=hint)


def json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
