"""`IdeHub`: the connected editors, and which of them a call goes to; an error where that is ambiguous."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.model import Window
from clawft.errors import IdeError, IdeNotConnected

HEADLESS = "headless"
MAX_WINDOWS = 64


class Fit(Struct, frozen=True, order=True):
    """How well a window fits a call; the greatest is chosen. `depth` 0: not at all."""

    depth: int
    focused: bool


class IdeHub:
    """The connected windows, and the language servers behind `headless`, which are always available."""

    def __init__(self, workspace: Path, headless: Callable[[], IdeConnection]) -> None:
        """`headless` is called on first use."""
        self.workspace = Path(os.path.realpath(workspace))
        self._make_headless = headless
        self._headless: IdeConnection | None = None
        self._windows: dict[str, IdeConnection] = {}
        self._watchers: list[Callable[[str], None]] = []
        self.finder: Callable[[], Awaitable[None]] | None = None
        """Looks for editors that do not connect by themselves."""

    @property
    def headless(self) -> IdeConnection:
        if self._headless is None:
            self._headless = self._make_headless()
        return self._headless

    # ── who is here ──────────────────────────────────────────────────────────────────────────────────────────────────

    def connect(self, connection: IdeConnection) -> None:
        """Add a window; it replaces an earlier one with the same id."""
        id = connection.window.id
        if id not in self._windows and len(self._windows) >= MAX_WINDOWS:
            raise IdeNotConnected(f"{MAX_WINDOWS} windows are connected already", hint="close some of them")
        self._windows[id] = connection
        self.happened("windows")

    def disconnect(self, connection: IdeConnection) -> None:
        """Remove a window, unless another one has replaced it."""
        id = connection.window.id
        if self._windows.get(id) is connection:
            del self._windows[id]
            self.happened("windows")

    @property
    def connections(self) -> list[IdeConnection]:
        return list(self._windows.values())

    async def look_around(self) -> None:
        if self.finder is not None:
            await self.finder()

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Have the watcher called with the name of an event: windows, selection, editors, diagnostics."""
        self._watchers.append(watcher)

    def happened(self, what: str) -> None:
        for watcher in self._watchers:
            watcher(what)

    # ── which one ────────────────────────────────────────────────────────────────────────────────────────────────────

    def route(self, path: str | None = None, window: str = "", *, screen: bool = False) -> IdeConnection:
        """The named window; else the one whose folder is deepest above the path (or the workspace); else headless.

        `screen`: only a window will do.
        """
        if window:
            return self._named(window)
        there = [each for each in self.connections if each.window.ready] or self.connections
        fits = [(fit(each.window, path or str(self.workspace)), each) for each in there]
        best = max((found for found, _ in fits), default=Fit(0, focused=False))
        if best.depth > 0:
            return self._only([each for found, each in fits if found == best], path)
        if screen:
            raise self._nobody(path)
        return self.headless

    def roots(self) -> list[Path]:
        """Folders that paths may lead to: the workspace, then folders that a window has open beside it."""
        opened = [list(map(os.path.realpath, each.window.folders)) for each in self._windows.values()]
        beside = [Path(folder) for folders in opened if str(self.workspace) in folders for folder in folders]
        return list(dict.fromkeys([self.workspace, *beside]))

    def _named(self, window: str) -> IdeConnection:
        if window == HEADLESS:
            return self.headless
        found = self._windows.get(window)
        if found is None:
            raise IdeNotConnected(f"there is no window '{window}'", hint=self._names())
        return found

    def _only(self, equal: Sequence[IdeConnection], path: str | None) -> IdeConnection:
        if len(equal) == 1:
            return equal[0]
        raise IdeNotConnected(
            f"{len(equal)} windows have {_in_words(path)} open", hint=f"say which in `window`: {self._names()}"
        )

    def _nobody(self, path: str | None) -> IdeError:
        if not self._windows:
            return IdeNotConnected(
                "no editor is connected, and this needs one with a screen",
                hint="open the workspace in VS Code with the clawft extension, or in Neovim",
            )
        return IdeNotConnected(f"no window has {_in_words(path)} open", hint=self._names())

    def _names(self) -> str:
        known = [f"{each.window.id} ({', '.join(each.window.folders)})" for each in self._windows.values()]
        return f"windows: {'; '.join([*known, HEADLESS])}"

    # ── what is not on the disk ──────────────────────────────────────────────────────────────────────────────────────

    def unsaved(self, beneath: str = ".") -> list[str]:
        """Unsaved texts in this file or folder of the workspace."""
        return self._beneath(beneath, [path for each in self._all() for path in each.unsaved()])

    def lost_with_us(self) -> list[str]:
        """Unsaved texts of the workspace that only our own language servers have, which end when we do."""
        return [] if self._headless is None else self._beneath(".", self._headless.unsaved())

    def overtaken(self, beneath: str = ".") -> list[str]:
        """Unsaved texts whose file was written by others since."""
        return self._beneath(beneath, [path for each in self._all() for path in each.overtaken()])

    def _beneath(self, place: str, paths: Sequence[str]) -> list[str]:
        if not paths:
            return []
        folder = os.path.realpath(self.workspace / place)
        found = {path for path in paths if Path(path).is_relative_to(folder)}
        return sorted(os.path.relpath(path, self.workspace) for path in found)

    def _all(self) -> list[IdeConnection]:
        """All connections that may hold a text."""
        return [*self.connections, *filter(None, [self._headless])]

    def changed_on_disk(self, path: str | None = None) -> list[str]:
        """Report that a tool of ours wrote this file of the workspace, or any file if None.

        Returns the unsaved texts that are lost by that.
        """
        paths = None if path is None else [os.path.join(self.workspace, path)]
        return self._beneath(".", [lost for each in self._all() for lost in each.changed_on_disk(paths)])


def _in_words(path: str | None) -> str:
    return f"'{path}'" if path else "the workspace"


def fit(window: Window, path: str) -> Fit:
    """The depth of the window's deepest folder above the path."""
    above = [len(Path(real).parts) for real in map(os.path.realpath, window.folders) if Path(path).is_relative_to(real)]
    return Fit(max(above, default=0), window.focused)
