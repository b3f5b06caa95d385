"""An editor in another process, as messages: one operation, one answer.

`RemoteIde` turns operations into messages and answers into our types; a subclass only transports them.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from clawft.builtin.ide.family import OPERATION_SECONDS
from clawft.builtin.ide.model import (
    Action,
    Buffer,
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
from clawft.errors import IdeError, IdeFailed, IdeFileNotFound, IdeNotConnected, PermissionDenied

FIRST_SECONDS = 15.0
"""Time for the first operation of a window, which may still start its own language servers."""
MAX_STATES = 1_000

log = logging.getLogger("clawft.ide")

T = TypeVar("T")


class RemoteIde(ABC):
    """An `IdeConnection` by messages."""

    backend = "remote"

    def __init__(self, window: Window) -> None:
        self._window = window
        self._warm = False
        self._states: dict[str, Buffer] = {}
        self._beside: set[asyncio.Task[None]] = set()
        """Messages sent in the background, whose answers are not awaited."""

    @property
    def window(self) -> Window:
        return self._window

    def seconds(self) -> float:
        return OPERATION_SECONDS if self._warm else FIRST_SECONDS

    def state(self, path: str) -> Buffer | None:
        return self._states.get(path)

    @abstractmethod
    async def call(self, method: str, params: dict[str, Any], *, patient: bool = False) -> Any:
        """The bare answer. `patient`: a person decides, so there is no deadline."""

    async def _ask(self, method: str, kind: type[T] | Any, /, *, patient: bool = False, **params: Any) -> T:
        answer = await self.call(method, msgspec.to_builtins(params), patient=patient)
        self._warm = True
        try:
            return msgspec.convert(answer, kind, strict=False)
        except msgspec.ValidationError as wrong:
            raise IdeFailed(f"{self.backend} answered {method} in a form we do not know: {wrong}") from None

    def _noted(self, *buffers: Buffer) -> None:
        for buffer in buffers:
            self._states[buffer.path] = Buffer(buffer.path, buffer.version, buffer.dirty)
        while len(self._states) > MAX_STATES:
            del self._states[next(iter(self._states))]

    # ── operations ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def open_file(self, path: str, position: Position | None = None) -> Buffer:
        return await self._buffer("open_file", path=path, position=position)

    async def read(self, path: str) -> Buffer:
        return await self._buffer("read", path=path)

    async def save(self, path: str) -> Buffer:
        return await self._buffer("save", path=path)

    async def discard(self, path: str) -> Buffer:
        raise IdeFailed("what is not saved there is the person's", hint="ask them to take the text of the disk")

    async def _buffer(self, method: str, **params: Any) -> Buffer:
        buffer = await self._ask(method, Buffer, **params)
        self._noted(buffer)
        return buffer

    async def apply_edit(self, changes: Sequence[FileEdit], *, save: bool = False) -> list[Buffer]:
        buffers = await self._ask("apply_edit", list[Buffer], changes=list(changes), save=save)
        self._noted(*buffers)
        return buffers

    async def get_diagnostics(self, path: str | None, wait_ms: int = 0) -> Problems:
        problems = await self._ask("diagnostics", Problems, path=path, wait_ms=wait_ms)
        if path is not None and problems.version is not None:
            self._noted(Buffer(path, problems.version, problems.dirty))
        return problems

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]:
        return await self._ask("symbols", list[SymbolInfo], query=query, limit=limit)

    async def hover(self, path: str, position: Position) -> HoverInfo | None:
        return await self._ask("hover", HoverInfo | None, path=path, position=position)

    async def definition(self, path: str, position: Position) -> list[Location]:
        return await self._ask("definition", list[Location], path=path, position=position)

    async def references(self, path: str, position: Position) -> list[Location]:
        return sorted(await self._ask("references", list[Location], path=path, position=position))

    async def document_symbols(self, path: str) -> list[SymbolInfo]:
        return await self._ask("document_symbols", list[SymbolInfo], path=path)

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        return await self._ask("rename", list[FileEdit], path=path, position=position, new_name=new_name)

    async def code_actions(self, path: str, place: Range) -> list[Action]:
        return await self._ask("code_actions", list[Action], path=path, range=place)

    async def format(self, path: str) -> list[TextEdit]:
        return await self._ask("format", list[TextEdit], path=path)

    async def selection(self) -> Selection:
        return await self._ask("selection", Selection)

    async def open_editors(self) -> list[OpenEditor]:
        editors = await self._ask("open_editors", list[OpenEditor])
        dirty = {each.path for each in editors if each.dirty}
        for path, buffer in list(self._states.items()):
            self._noted(Buffer(path, buffer.version, path in dirty))
        return editors

    async def show_diff(self, path: str, new_text: str) -> Review:
        return await self._ask("show_diff", Review, patient=True, path=path, new_text=new_text)

    def changed_on_disk(self, paths: Sequence[str] | None) -> list[str]:
        """Report in the background; before they answer, editors look at the disk themselves."""
        self._in_passing(self._announce(paths))
        return []

    def _in_passing(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _announce(self, paths: Sequence[str] | None) -> None:
        try:
            async with asyncio.timeout(OPERATION_SECONDS):
                await self.call("files_changed", {"paths": None if paths is None else list(paths)})
        except (IdeError, TimeoutError) as failed:
            log.debug("%s was not told of changed files: %s", self._window.id, failed)

    def unsaved(self) -> list[str]:
        return [path for path, buffer in self._states.items() if buffer.dirty]

    def overtaken(self) -> list[str]:
        return []  # the window itself tells its person


def failure(code: str, message: str, path: str = "") -> IdeError | PermissionDenied:
    """The error for an editor's error code."""
    match code:
        case "not_found":
            return IdeFileNotFound(path or message)
        case "outside_workspace":
            return PermissionDenied("ide", message)
        case "not_ready":
            hint = "look at the window: it may be busy, or have no language server for this"
            return IdeNotConnected(f"not_ready: {message}", hint=hint)
        case "untrusted":
            return IdeFailed(message, kind=code, hint="trust the workspace in the editor first")
        case "rejected":
            return IdeFailed(message, kind=code, hint="ask the person what they want instead")
        case "stale":
            return IdeFailed(message, kind=code, hint="read the file again")
        case _:
            return IdeFailed(message, kind=code)
