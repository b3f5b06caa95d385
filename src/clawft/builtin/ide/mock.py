"""An editor for tests: texts in memory, prepared answers, and a record of all calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clawft.builtin.ide.model import (
    Action,
    Buffer,
    Diagnostic,
    FileEdit,
    HoverInfo,
    Location,
    OpenEditor,
    Position,
    Problems,
    Range,
    Review,
    Selection,
    SymbolInfo,
    TextEdit,
    Window,
)
from clawft.builtin.ide.text import apply
from clawft.errors import IdeError


class MockIde:
    """Set the answers it is to give; `calls` records what it was asked. `fails` is raised by every operation."""

    backend = "mock"

    def __init__(self, folder: Path, *, id: str = "mock", focused: bool = False) -> None:
        self._window = Window(id, "mock", [str(folder)], focused=focused)
        self.calls: list[tuple[Any, ...]] = []
        self.texts: dict[str, Buffer] = {}
        self.diagnostics: list[Diagnostic] = []
        self.symbols: list[SymbolInfo] = []
        self.info: HoverInfo | None = None
        self.locations: list[Location] = []
        self.changes: list[FileEdit] = []
        self.actions: list[Action] = []
        self.selected = Selection()
        self.review = Review("accept")
        self.fails: IdeError | None = None
        self.hangs = False

    @property
    def window(self) -> Window:
        return self._window

    def seconds(self) -> float:
        return 0.05 if self.hangs else 5.0

    def state(self, path: str) -> Buffer | None:
        return self.texts.get(path)

    async def open_file(self, path: str, position: Position | None = None) -> Buffer:
        await self._note("open_file", path, position)
        return self._buffer(path)

    async def read(self, path: str) -> Buffer:
        await self._note("read", path)
        return self._buffer(path)

    async def apply_edit(self, changes: Sequence[FileEdit], *, save: bool = False) -> list[Buffer]:
        await self._note("apply_edit", list(changes), save)
        for change in changes:
            before = self._buffer(change.path)
            text = apply(before.text or "", change.edits)
            self.texts[change.path] = Buffer(change.path, before.version + 1, not save, text)
        return [self.texts[change.path] for change in changes]

    async def get_diagnostics(self, path: str | None, wait_ms: int = 0) -> Problems:
        await self._note("get_diagnostics", path)
        return Problems([each for each in self.diagnostics if path in (None, each.file_path)], fresh=True)

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]:
        await self._note("search_symbols", query, limit)
        return [each for each in self.symbols if query in each.name][:limit]

    async def hover(self, path: str, position: Position) -> HoverInfo | None:
        await self._note("hover", path, position)
        return self.info

    async def definition(self, path: str, position: Position) -> list[Location]:
        await self._note("definition", path, position)
        return self.locations

    async def references(self, path: str, position: Position) -> list[Location]:
        await self._note("references", path, position)
        return self.locations

    async def document_symbols(self, path: str) -> list[SymbolInfo]:
        await self._note("document_symbols", path)
        return [each for each in self.symbols if each.file_path == path]

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        await self._note("rename", path, position, new_name)
        return self.changes

    async def code_actions(self, path: str, place: Range) -> list[Action]:
        await self._note("code_actions", path, place)
        return self.actions

    async def format(self, path: str) -> list[TextEdit]:
        await self._note("format", path)
        return []

    async def save(self, path: str) -> Buffer:
        await self._note("save", path)
        before = self._buffer(path)
        self.texts[path] = Buffer(path, before.version, dirty=False, text=before.text)
        return self.texts[path]

    async def discard(self, path: str) -> Buffer:
        await self._note("discard", path)
        self.texts.pop(path, None)
        return self._buffer(path)

    async def selection(self) -> Selection:
        await self._note("selection")
        return self.selected

    async def open_editors(self) -> list[OpenEditor]:
        await self._note("open_editors")
        return [OpenEditor(each.path, dirty=each.dirty) for each in self.texts.values()]

    async def show_diff(self, path: str, new_text: str) -> Review:
        await self._note("show_diff", path, new_text)
        return self.review

    def changed_on_disk(self, paths: Sequence[str] | None) -> list[str]:
        self.calls.append(("changed_on_disk", paths))
        return []

    def unsaved(self) -> list[str]:
        return [path for path, buffer in self.texts.items() if buffer.dirty]

    def overtaken(self) -> list[str]:
        return []

    async def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        if self.fails is not None:
            raise self.fails

    def _buffer(self, path: str) -> Buffer:
        if path not in self.texts:
            self.texts[path] = Buffer(path, 1, text=Path(path).read_text())
        return self.texts[path]
