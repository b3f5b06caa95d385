"""Watches files of the workspace by polling their stamps in a thread, as long as there are any.

Only files beneath the workspace are looked at, so that changes and existence of others stay hidden.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from clawft.builtin.confine import confined
from clawft.errors import Busy, ToolError

MAX_WATCHES = 2_000
MAX_WATCHES_OF_ONE = 500
LOOK_SECONDS = 1.0

Release = Callable[[], None]
Stamp = tuple[int, int, int]


class WatchedFiles:
    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._ears: dict[str, dict[object, Callable[[], None]]] = {}
        """Path → the functions to call."""
        self._stamps: dict[str, Stamp | None] = {}
        self._of_each: Counter[str] = Counter()
        self._looking: asyncio.Task[None] | None = None

    async def add(self, path: str, whose: str, changed: Callable[[], None]) -> Release:
        """Have `changed` called when the file is written, comes or goes, until the function returned here is called.

        Raises Busy if too many are watched.
        """
        if self._of_each[whose] >= MAX_WATCHES_OF_ONE or self._of_each.total() >= MAX_WATCHES:
            raise Busy("busy: too many files of the workspace are watched already", hint="watch fewer")
        self._of_each[whose] += 1
        try:
            stamp = await asyncio.to_thread(self._stamp, path)
        except BaseException:
            self._of_each[whose] -= 1
            raise
        self._stamps.setdefault(path, stamp)
        key = object()
        self._ears.setdefault(path, {})[key] = changed
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return lambda: self._remove(path, whose, key)

    def _remove(self, path: str, whose: str, key: object) -> None:
        ears = self._ears.get(path, {})
        if ears.pop(key, None) is None:
            return  # called again
        self._of_each[whose] -= 1
        if not self._of_each[whose]:
            del self._of_each[whose]
        if not ears:
            del self._ears[path], self._stamps[path]
        if not self._ears and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = await asyncio.to_thread(self._stamps_of, list(self._ears))
            for path, stamp in now.items():
                if path in self._ears and stamp != self._stamps[path]:
                    self._stamps[path] = stamp
                    for changed in list(self._ears[path].values()):
                        changed()

    def _stamps_of(self, paths: Iterable[str]) -> Mapping[str, Stamp | None]:
        return {path: self._stamp(path) for path in paths}

    def _stamp(self, path: str) -> Stamp | None:
        """The time, size and identity of the file; None if it is outside or missing."""
        try:
            with confined(self._workspace, path, "watch") as found:
                status = found.stat()
        except ToolError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
