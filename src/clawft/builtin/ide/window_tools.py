"""Tools for the person's screen: open a file, selection, open editors, review of a diff, windows."""

from typing import Annotated

import msgspec
from msgspec import Meta

from clawft.builtin.ide import paths
from clawft.builtin.ide.change import MAX_NEW_TEXT
from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.family import Character, FilePath, Ide, IdeAnswer, Line, WindowId, json_text, stamped
from clawft.builtin.ide.model import OpenEditor, Position, Range, Selection, Window
from clawft.builtin.ide.review import PART, REJECT, reviewed
from clawft.builtin.ide.text import find_anchor, rewritten
from clawft.builtin.partial_tool import partial_tool


class OpenAnswer(IdeAnswer, frozen=True, kw_only=True):
    path: str

    def text(self) -> str:
        return f"Opened {self.path}"


class SelectionAnswer(IdeAnswer, frozen=True, kw_only=True):
    path: str | None = None
    range: Range | None = None
    selected: str = ""

    def text(self) -> str:
        if self.path is None:
            return "nothing is open"
        return json_text({"path": self.path, "range": self.range, "selected": self.selected})


class EditorsAnswer(IdeAnswer, frozen=True, kw_only=True):
    result: list[OpenEditor]

    def text(self) -> str:
        return json_text(self.result)


class ReviewAnswer(IdeAnswer, frozen=True, kw_only=True):
    path: str
    outcome: str
    applied: bool

    def text(self) -> str:
        verdict = {REJECT: "rejected: nothing is changed", PART: "accepted in part"}.get(self.outcome, "accepted")
        saved = " (not saved yet)" if self.dirty else ""
        return f"{self.path}: {verdict}{saved}"


class WindowsAnswer(IdeAnswer, frozen=True, kw_only=True):
    result: list[Window]

    def text(self) -> str:
        return json_text(self.result)


@partial_tool(alias="ide_open_file", title="Open file", destructive=False, idempotent=True, open_world=False)
async def open_file(
    ide: Ide,
    path: FilePath,
    line: Line | None = None,
    character: Character | None = None,
    anchor: Annotated[str, Meta(max_length=4096, description="text to show, in place of line and character")] = "",
    window: WindowId = "",
) -> OpenAnswer:
    """Open a file in the person's editor and put the cursor at a place of it."""
    found = ide.find(path)
    connection = await ide.route(found, window, screen=True)
    position = None if line is None else Position(line, character or 0)
    if anchor:
        buffer = await ide.ask(connection, connection.read(found))
        position = find_anchor(buffer.text or "", anchor, path).start
    buffer = await ide.ask(connection, connection.open_file(found, position))
    return OpenAnswer(**stamped(connection, buffer), path=path)


@partial_tool(alias="ide_selection", title="Selection", read_only=True, idempotent=True, open_world=False)
async def selection(ide: Ide, window: WindowId = "") -> SelectionAnswer:
    """Say which file the person has before them, and what they have selected in it."""
    connection = await ide.route(None, window, screen=True)
    selected = within_reach(ide, await ide.ask(connection, connection.selection()))
    return SelectionAnswer(
        **stamped(connection, None if selected.path is None else connection.state(selected.path)),
        path=selected.path and ide.shown(selected.path),
        range=selected.range,
        selected=selected.text,
    )


def within_reach(ide: Ide, said: Selection) -> Selection:
    """The selection; nothing if its file is outside the workspace."""
    if said.path is None or not _is_reachable(ide, said.path):
        return Selection()
    return said


def _is_reachable(ide: Ide, path: str) -> bool:
    return bool(paths.beneath(ide.hub.roots(), [path]))


@partial_tool(alias="ide_open_editors", title="Open editors", read_only=True, idempotent=True, open_world=False)
async def open_editors(ide: Ide, window: WindowId = "") -> EditorsAnswer:
    """List the files that are open in the editor, and which of them are not saved."""
    connection = await ide.route(None, window)
    return EditorsAnswer(**stamped(connection), result=await editors_within_reach(ide, connection))


async def editors_within_reach(ide: Ide, connection: IdeConnection) -> list[OpenEditor]:
    """The open files, without those outside the workspace."""
    known = await ide.ask(connection, connection.open_editors())
    return [msgspec.structs.replace(each, path=ide.shown(each.path)) for each in known if _is_reachable(ide, each.path)]


@partial_tool(alias="ide_show_diff", title="Show a diff", open_world=False)
async def show_diff(
    ide: Ide,
    path: FilePath,
    new_text: Annotated[str, Meta(max_length=MAX_NEW_TEXT, description="the whole proposed text of the file")],
    save: Annotated[bool, Meta(description="write what was accepted to the disk")] = False,
    window: WindowId = "",
) -> ReviewAnswer:
    """Show the person a proposed text beside the present one and wait: they accept, reject, or take a part of it.

    What they accept is put into the file. Without an editor the question goes to the agent's user.
    """
    found = ide.find_writable(path)
    connection = await ide.route(found, window)
    before = await ide.ask(connection, connection.read(found))
    judged = await reviewed(ide, connection, found, before.text or "", new_text)
    if judged.outcome == REJECT:
        return ReviewAnswer(**stamped(connection, before), path=ide.shown(found), outcome=judged.outcome, applied=False)
    change = rewritten(found, before, new_text if judged.text is None else judged.text)
    (buffer,) = await ide.change(connection, connection.apply_edit([change], save=save))
    return ReviewAnswer(**stamped(connection, buffer), path=ide.shown(found), outcome=judged.outcome, applied=True)


@partial_tool(alias="ide_windows", title="Editor windows", read_only=True, idempotent=True, open_world=False)
async def windows(ide: Ide) -> WindowsAnswer:
    """List the editor windows that are connected, and the language servers that answer where there is none."""
    await ide.hub.look_around()
    known = [each.window for each in (*ide.hub.connections, ide.hub.headless)]
    return WindowsAnswer(backend="hub", window="", result=known)
