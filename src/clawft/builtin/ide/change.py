"""Tools that change texts: edit, rename, apply an action, format, save. All changes of a call are made, or none."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.family import (
    Anchor,
    Character,
    FilePath,
    Ide,
    IdeAnswer,
    Line,
    PlaceQuery,
    Spot,
    Symbol,
    WaitMs,
    WindowId,
    missing_arguments,
    stamped,
)
from clawft.builtin.ide.model import Action, Buffer, Diagnostic, FileEdit, Position, Problems, Range, TextEdit
from clawft.builtin.ide.review import reviewed
from clawft.builtin.ide.text import apply as applied_to
from clawft.builtin.ide.text import find_anchor, rewritten
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import IdeError, IdeFailed, InvalidArguments

MAX_EDITS = 1_000
MAX_NEW_TEXT = 2 * 1024 * 1024

_RANGE = ("start_line", "start_character", "end_line", "end_character")
Ends = tuple[int | None, int | None, int | None, int | None]
_FORMS = "give start_line, start_character, end_line, end_character and new_text; or anchor and new_text; or edits"

NewText = Annotated[str, Meta(max_length=MAX_NEW_TEXT, description="the text to put there")]
Save = Annotated[bool, Meta(description="write it to the disk, too")]


class RequestedEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """One change; `expected_text` must stand in its range now."""

    start_line: Line
    start_character: Character
    end_line: Line
    end_character: Character
    new_text: NewText
    expected_text: str | None = None


class EditAnswer(IdeAnswer, frozen=True, kw_only=True):
    path: str
    edits: int
    diagnostics: list[Diagnostic] | None = None
    review: str = ""

    def text(self) -> str:
        return f"Edited {self.path}: {_counted(self.edits, 'change')}, now version {self.version}{_saved(self.dirty)}"


class ChangedFile(Struct, frozen=True):
    path: str
    edits: int
    dirty: bool = False


class ChangeAnswer(IdeAnswer, frozen=True, kw_only=True):
    files: list[ChangedFile]
    dry_run: bool = False

    def text(self) -> str:
        would = "Would change" if self.dry_run else "Changed"
        rows = [f"{each.path}: {_counted(each.edits, 'change')}" for each in self.files]
        return "\n".join([f"{would} {_counted(len(rows), 'file')}{_saved(self.dirty)}", *rows])


class ActionsAnswer(IdeAnswer, frozen=True, kw_only=True):
    result: list[Action]
    applied: str = ""

    def text(self) -> str:
        rows = [f"{each.id}  {each.title}" for each in self.result]
        return f"Applied: {self.applied}{_saved(self.dirty)}" if self.applied else "\n".join(rows) or "no actions here"


class SaveAnswer(IdeAnswer, frozen=True, kw_only=True):
    path: str
    discarded: bool = False
    """Whether the editor has reloaded the text from the disk."""

    def text(self) -> str:
        return f"{self.path}: the editor has the text of the disk again" if self.discarded else f"Saved {self.path}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _saved(dirty: bool) -> str:
    return " (not saved: the disk still has the old text; ide__save, or save: true)" if dirty else ""


# ── edit ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@partial_tool(alias="ide_edit", title="Edit", open_world=False)
async def edit(  # noqa: PLR0913, PLR0917 - each one is a word agents may use
    ide: Ide,
    path: FilePath,
    start_line: Line | None = None,
    start_character: Character | None = None,
    end_line: Line | None = None,
    end_character: Character | None = None,
    new_text: NewText | None = None,
    anchor: Anchor = "",
    edits: Annotated[
        list[RequestedEdit], Meta(max_length=MAX_EDITS, description="several changes at once, all or none")
    ]
    | None = None,
    expected_text: Annotated[str, Meta(description="what must stand in the range now")] | None = None,
    expected_version: Annotated[int, Meta(description="version of the text these changes are for")] | None = None,
    save: Save = False,
    review: Annotated[bool, Meta(description="show it to the person first, and do what they say")] = False,
    wait_ms: Annotated[WaitMs, Meta(description="also return diagnostics of the new text, waiting this long")] = 0,
    window: WindowId = "",
) -> EditAnswer:
    """Change a file in the editor: a range, an anchor text, or several ranges at once. An empty range inserts.

    The text in the editor changes at once and can be undone there; the disk changes when it is saved.
    """
    found = ide.find_writable(path)
    connection = await ide.route(found, window)
    ends = (start_line, start_character, end_line, end_character)
    _check_one_form(ends, anchor, new_text, expected_text, edits)
    wanted = edits or _at_range(ends, new_text, expected_text)
    if wanted is None:
        wanted = await _at_anchor(ide, connection, found, anchor, new_text, expected_text)
    change = _change(found, wanted, expected_version)
    change, outcome = await _ask_first(ide, connection, change) if review else (change, "")
    (buffer,) = await ide.change(connection, connection.apply_edit([change], save=save))
    problems = await _problems(connection, found, wait_ms) if wait_ms else None
    fresh, pending = (problems.fresh, problems.pending) if problems else (not wait_ms, False)
    return EditAnswer(
        **stamped(connection, buffer, fresh=fresh, pending=pending),
        path=ide.shown(found),
        edits=len(change.edits),
        diagnostics=None if problems is None else [ide.placed(each) for each in problems.items],
        review=outcome,
    )


async def _problems(connection: IdeConnection, path: str, wait_ms: int) -> Problems | None:
    """The problems after an edit; None if they cannot be found out, which does not fail the edit."""
    try:
        return await connection.get_diagnostics(path, wait_ms)
    except IdeError:
        return None


def _check_one_form(
    ends: Ends,
    anchor: str,
    new_text: str | None,
    expected: str | None,
    edits: Sequence[RequestedEdit] | None,
) -> None:
    """Refuse parameters that would be ignored: a caller that gives `expected_text` relies on it."""
    named = zip(
        (*_RANGE, "anchor", "new_text", "expected_text"), (*ends, anchor or None, new_text, expected), strict=True
    )
    given = [name for name, value in named if value is not None]
    if edits and given:
        raise InvalidArguments(
            f"edit: {', '.join(given)} beside edits", hint="each of the edits has members of its own"
        )
    if anchor and not set(given).isdisjoint(_RANGE):
        raise InvalidArguments("edit: an anchor and a range", hint=_FORMS)


def _at_range(ends: Ends, new_text: str | None, expected: str | None) -> list[RequestedEdit] | None:
    """The edit of the named range; None if none was named, so that the anchor counts."""
    match ends:
        case (int(line), int(character), int(end_line), int(end_character)) if new_text is not None:
            return [RequestedEdit(line, character, end_line, end_character, new_text, expected)]
        case (None, None, None, None) if new_text is not None:
            return None
        case _:
            named = zip((*_RANGE, "new_text"), (*ends, new_text), strict=True)
            raise missing_arguments("edit", [name for name, value in named if value is None], _FORMS)


async def _at_anchor(
    ide: Ide, connection: IdeConnection, path: str, anchor: str, new_text: str | None, expected: str | None
) -> list[RequestedEdit]:
    if not anchor or new_text is None:
        raise missing_arguments("edit", _RANGE, _FORMS)
    buffer = await ide.ask(connection, connection.read(path))
    place = find_anchor(buffer.text or "", anchor, ide.shown(path))
    start, end = place.start, place.end
    there = anchor if expected is None else expected
    return [RequestedEdit(start.line, start.character, end.line, end.character, new_text, there)]


def _change(path: str, wanted: Sequence[RequestedEdit], version: int | None) -> FileEdit:
    edits = [TextEdit(_range(each), each.new_text) for each in wanted]
    expected = [each.expected_text for each in wanted]
    return FileEdit(path, edits, version, expected if any(each is not None for each in expected) else None)


def _range(each: RequestedEdit) -> Range:
    return Range(Position(each.start_line, each.start_character), Position(each.end_line, each.end_character))


async def _ask_first(ide: Ide, connection: IdeConnection, change: FileEdit) -> tuple[FileEdit, str]:
    """The change as the person accepts it. Raises IdeFailed if they reject it."""
    buffer = await ide.ask(connection, connection.read(change.path))
    proposed = applied_to(buffer.text or "", change.edits)
    judged = await reviewed(ide, connection, change.path, buffer.text or "", proposed)
    if judged.outcome == "reject":
        raise IdeFailed("the person rejected this change", kind="rejected", hint="ask them what they want instead")
    return change if judged.text is None else rewritten(change.path, buffer, judged.text), judged.outcome


# ── rename, actions, format, save ────────────────────────────────────────────────────────────────────────────────────


@partial_tool(alias="ide_rename", title="Rename symbol", open_world=False)
async def rename(  # noqa: PLR0913, PLR0917 - each one is a word agents may use
    ide: Ide,
    path: FilePath,
    new_name: Annotated[str, Meta(min_length=1, max_length=256)],
    line: Line | None = None,
    character: Character | None = None,
    symbol: Symbol = "",
    anchor: Anchor = "",
    dry_run: Annotated[bool, Meta(description="only say what would change")] = False,
    save: Save = False,
    window: WindowId = "",
) -> ChangeAnswer:
    """Rename the symbol at a place in every file that uses it. Fails if nothing would change."""
    spot = await ide.spot(path, PlaceQuery(line, character, symbol, anchor), window)
    changes = await ide.ask(spot.connection, spot.connection.rename(spot.path, spot.position, new_name))
    changes = [each for each in changes if each.edits]
    if not changes or await _is_called_that(ide, spot, changes):
        raise IdeFailed(
            "nothing would be renamed",
            kind="not_found",
            hint="there is no symbol that can be renamed at this place, or it is called that already",
        )
    return await _apply(ide, spot.connection, changes, dry_run=dry_run, save=save)


async def _is_called_that(ide: Ide, spot: Spot, changes: Sequence[FileEdit]) -> bool:
    """Whether the rename changes nothing at the place: servers answer with edits all the same."""
    edits = [edit for each in changes if each.path == spot.path for edit in each.edits]
    buffer = await ide.ask(spot.connection, spot.connection.read(spot.path))
    return bool(edits) and applied_to(buffer.text or "", edits) == buffer.text


async def _apply(
    ide: Ide, connection: IdeConnection, changes: Sequence[FileEdit], *, dry_run: bool, save: bool
) -> ChangeAnswer:
    for change in changes:
        ide.check_change(change.path)
    buffers: list[Buffer] = []
    if not dry_run:
        buffers = await ide.change(connection, connection.apply_edit(changes, save=save))
    dirty = {buffer.path for buffer in buffers if buffer.dirty}
    return ChangeAnswer(
        **stamped(connection, next((each for each in buffers if each.dirty), buffers[0] if buffers else None)),
        dry_run=dry_run,
        files=[ChangedFile(ide.shown(each.path), len(each.edits), each.path in dirty) for each in changes],
    )


@partial_tool(alias="ide_code_actions", title="Code actions", open_world=False)
async def code_actions(  # noqa: PLR0913, PLR0917 - each one is a word agents may use
    ide: Ide,
    path: FilePath,
    line: Line | None = None,
    character: Character | None = None,
    symbol: Symbol = "",
    anchor: Anchor = "",
    apply: Annotated[str, Meta(description="id of an action to carry out; without it they are only listed")] = "",
    save: Save = False,
    window: WindowId = "",
) -> ActionsAnswer:
    """List the quick fixes and refactorings for a place, or carry one out."""
    spot = await ide.spot(path, PlaceQuery(line, character, symbol, anchor), window)
    place = Range(spot.position, spot.position)
    offered = await ide.ask(spot.connection, spot.connection.code_actions(spot.path, place))
    if not apply:
        listed = [msgspec.structs.replace(each, changes=[]) for each in offered]
        return ActionsAnswer(**spot.stamped(), result=listed)
    chosen = next((each for each in offered if each.id == apply), None)
    if chosen is None:
        raise IdeFailed(
            f"there is no action '{apply}' here", kind="not_found", hint="list them again: the text changed"
        )
    await _apply(ide, spot.connection, chosen.changes, dry_run=False, save=save)
    return ActionsAnswer(**spot.stamped(), result=[], applied=chosen.title)


@partial_tool(name="format", alias="ide_format", title="Format", idempotent=True, open_world=False)
async def format_file(ide: Ide, path: FilePath, save: Save = False, window: WindowId = "") -> ChangeAnswer:
    """Format a file with the formatter of the editor or the language server."""
    found = ide.find_writable(path)
    connection = await ide.route(found, window)
    before = await ide.ask(connection, connection.read(found))
    edits = await ide.ask(connection, connection.format(found))
    changes = [FileEdit(found, edits, before.version)] if edits else []
    return await _apply(ide, connection, changes, dry_run=not changes, save=save)


@partial_tool(alias="ide_save", title="Save", idempotent=True, open_world=False)
async def save(
    ide: Ide,
    path: FilePath,
    discard: Annotated[
        bool, Meta(description="the other way round: take the text of the disk, and lose what is not saved")
    ] = False,
    window: WindowId = "",
) -> SaveAnswer:
    """Write the editor's text of a file to the disk."""
    found = ide.find_writable(path)
    connection = await ide.route(found, window)
    work = connection.discard(found) if discard else connection.save(found)
    buffer = await ide.change(connection, work)
    return SaveAnswer(**stamped(connection, buffer), path=ide.shown(found), discarded=discard)
