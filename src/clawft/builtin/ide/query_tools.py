"""Tools that look: problems, symbols, documentation, definitions and uses."""

from heapq import nsmallest
from typing import Annotated

import msgspec
from msgspec import Meta

from clawft.builtin.ide.family import (
    MAX_ITEMS,
    Anchor,
    Character,
    FilePath,
    Ide,
    IdeAnswer,
    Limit,
    Line,
    PlaceQuery,
    Spot,
    Symbol,
    WaitMs,
    WindowId,
    json_text,
    stamped,
)
from clawft.builtin.ide.model import Diagnostic, HoverInfo, Location, SymbolInfo
from clawft.builtin.partial_tool import partial_tool
from clawft.provider.keeps import FIRST

DEFAULT_WAIT_MS = 2_000


class WideAnswer(IdeAnswer, frozen=True, kw_only=True):
    """About the whole workspace, whose languages may have several servers."""

    gaps: list[str] = msgspec.field(default_factory=list[str])
    """The gaps in the answer, with the reasons: a language server that is not installed, say."""

    def told_gaps(self) -> str:
        return f"\n(not everything: {'; '.join(self.gaps)})" if self.gaps else ""


class DiagnosticsAnswer(WideAnswer, frozen=True, kw_only=True):
    result: Annotated[list[Diagnostic], FIRST]
    total: int = 0

    def text(self) -> str:
        lines = json_text(self.result) + self.told_gaps()
        if self.fresh:
            return lines
        state = "still being analysed" if self.pending else "not known to be up to date"
        return f"{lines}\n({state}: ask again, or give a longer wait_ms)"


class SymbolsAnswer(WideAnswer, frozen=True, kw_only=True):
    result: Annotated[list[SymbolInfo], FIRST]

    def text(self) -> str:
        return json_text(self.result) + self.told_gaps()


class HoverAnswer(IdeAnswer, frozen=True, kw_only=True):
    result: HoverInfo | None

    def text(self) -> str:
        return json_text(self.result)


class PlacesAnswer(IdeAnswer, frozen=True, kw_only=True):
    result: Annotated[list[Location], FIRST]
    total: int = 0

    def text(self) -> str:
        return json_text(self.result)


@partial_tool(alias="ide_diagnostics", title="Diagnostics", read_only=True, idempotent=True, open_world=False)
async def diagnostics(
    ide: Ide,
    path: Annotated[str, Meta(description="file, relative to the workspace; all files if left out")] | None = None,
    severity: Annotated[
        int,
        Meta(ge=1, le=4, description="the least grave to show: 1 errors only, 2 warnings too, 3 information, 4 all"),
    ] = 4,
    wait_ms: WaitMs = DEFAULT_WAIT_MS,
    limit: Limit = 200,
    window: WindowId = "",
) -> DiagnosticsAnswer:
    """List errors and warnings of a file or of all files, as the editor or a language server sees them.

    `fresh` says whether they describe the text as it is now, unsaved changes included.
    """
    found = None if path is None else ide.find(path)
    connection = await ide.route(found, window)
    problems = await ide.ask(connection, connection.get_diagnostics(found, wait_ms), wait_ms)
    grave = [each for each in await ide.inside(problems.items) if each.severity <= severity]
    shown = nsmallest(limit, grave, key=lambda each: (each.severity, each.file_path or "", each.range))
    return DiagnosticsAnswer(
        **stamped(connection, problems, fresh=problems.fresh, pending=problems.pending),
        result=[ide.placed(each) for each in shown],
        total=len(grave),
        gaps=connection.window.gaps if found is None else [],
    )


@partial_tool(alias="ide_symbols", title="Find symbols", read_only=True, idempotent=True, open_world=False)
async def symbols(
    ide: Ide,
    query: Annotated[str, Meta(min_length=1, max_length=256, description="name or part of a name")],
    limit: Limit = 20,
    window: WindowId = "",
) -> SymbolsAnswer:
    """Find functions, classes and other symbols of the workspace by name."""
    connection = await ide.route(None, window)
    found = await ide.ask(connection, connection.search_symbols(query, limit))
    shown = _symbols(ide, (await ide.inside(found))[:limit])
    return SymbolsAnswer(**stamped(connection), result=shown, gaps=connection.window.gaps)


def _symbols(ide: Ide, found: list[SymbolInfo]) -> list[SymbolInfo]:
    return [msgspec.structs.replace(each, file_path=ide.shown(each.file_path)) for each in found]


@partial_tool(alias="ide_hover", title="Hover", read_only=True, idempotent=True, open_world=False)
async def hover(
    ide: Ide,
    path: FilePath,
    line: Line | None = None,
    character: Character | None = None,
    symbol: Symbol = "",
    anchor: Anchor = "",
    window: WindowId = "",
) -> HoverAnswer:
    """Say what stands at a place of a file: its type and documentation. Null if there is nothing to say."""
    spot = await ide.spot(path, PlaceQuery(line, character, symbol, anchor), window)
    info = await ide.ask(spot.connection, spot.connection.hover(spot.path, spot.position))
    return HoverAnswer(**spot.stamped(), result=info)


@partial_tool(alias="ide_definition", title="Go to definition", read_only=True, idempotent=True, open_world=False)
async def definition(
    ide: Ide,
    path: FilePath,
    line: Line | None = None,
    character: Character | None = None,
    symbol: Symbol = "",
    anchor: Anchor = "",
    window: WindowId = "",
) -> PlacesAnswer:
    """Find where the thing at a place is defined."""
    spot = await ide.spot(path, PlaceQuery(line, character, symbol, anchor), window)
    found = await ide.ask(spot.connection, spot.connection.definition(spot.path, spot.position))
    return _places(ide, spot, found, MAX_ITEMS)


@partial_tool(alias="ide_references", title="Find references", read_only=True, idempotent=True, open_world=False)
async def references(
    ide: Ide,
    path: FilePath,
    line: Line | None = None,
    character: Character | None = None,
    symbol: Symbol = "",
    anchor: Anchor = "",
    limit: Limit = 200,
    window: WindowId = "",
) -> PlacesAnswer:
    """Find every use of the thing at a place, its definition included."""
    spot = await ide.spot(path, PlaceQuery(line, character, symbol, anchor), window)
    found = await ide.ask(spot.connection, spot.connection.references(spot.path, spot.position))
    return _places(ide, spot, found, limit)


def _places(ide: Ide, spot: Spot, found: list[Location], limit: int) -> PlacesAnswer:
    shown = [msgspec.structs.replace(each, file_path=ide.shown(each.file_path)) for each in found[:limit]]
    return PlacesAnswer(**spot.stamped(), result=shown, total=len(found))


@partial_tool(alias="ide_document_symbols", title="Outline", read_only=True, idempotent=True, open_world=False)
async def document_symbols(ide: Ide, path: FilePath, window: WindowId = "") -> SymbolsAnswer:
    """List the symbols of one file in their order."""
    found = ide.find(path)
    connection = await ide.route(found, window)
    known = await ide.ask(connection, connection.document_symbols(found))
    return SymbolsAnswer(**stamped(connection, connection.state(found)), result=_symbols(ide, known[:MAX_ITEMS]))
