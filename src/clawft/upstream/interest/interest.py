"""The wishes of callers to hear from one server: which resources and tasks, and how much of its log.

Kept across sessions: a server that comes back is told again. Whoever watches is counted, so that the server hears of
the first and of the last of them only.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Raw, Struct

from clawft.errors import Busy, ClawftError
from clawft.wire.meta import RANK

MAX_WATCHED = 10_000
"""Different resources and tasks of one server; more is a mistake, or an attack."""
MAX_NAME_BYTES = 16 * 1024
"""Of a resource or a task that a server says has changed."""
TELL_SECONDS = 5.0
"""For a server to take note of what we want to hear; a call goes on after that all the same."""

Ear = Callable[[bytes], None]
"""Told of a change, in the server's own words: the params of its notice."""
Release = Callable[[], None]


class _Named(Struct, rename="camel"):
    uri: Raw = Raw(b'""')
    task_id: Raw = Raw(b'""')


class WatchedNames:
    """Things by their name, each with everyone who wants to hear of it."""

    def __init__(self, stir: Callable[[], None]) -> None:
        self._stir = stir
        self._ears: dict[str, dict[object, Ear]] = {}

    def __len__(self) -> int:
        return len(self._ears)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._ears)

    def add(self, name: str, ear: Ear) -> Release:
        key = object()
        if name not in self._ears:
            self._ears[name] = {}
            self._stir()
        self._ears[name][key] = ear

        def release() -> None:
            ears = self._ears.get(name, {})
            if ears.pop(key, None) is not None and not ears:
                del self._ears[name]
                self._stir()

        return release

    def tell(self, name: str, params: bytes) -> None:
        for ear in tuple(self._ears.get(name, {}).values()):
            ear(params)


class Interest:
    """`version` grows with every change; whoever tells the server says how far it has come."""

    def __init__(self) -> None:
        self.resources = WatchedNames(self._stir)
        self.tasks = WatchedNames(self._stir)
        self.refused: dict[str, ClawftError] = {}
        """Resources the server will not tell of, and why."""
        self.version = 0
        self._told_version = 0
        self._held = False
        self._in_vain = 0.0
        """Seconds that somebody has waited, and it took no note: until it does, nobody waits with no more patience."""
        self._level = ""
        self._floor = ""
        self._when_updated: list[Callable[[str], None]] = []
        self._changed = asyncio.Event()
        self._progress = asyncio.Event()
        self._acknowledged: asyncio.Future[bytes] | None = None

    def _stir(self) -> None:
        self.version += 1
        self._changed.set()

    def watch(self, watched: WatchedNames, name: str, ear: Ear) -> Release:
        """Raises Busy if too many different things are watched."""
        if len(watched) >= MAX_WATCHED:
            raise Busy(f"{MAX_WATCHED} resources or tasks of one server are watched already", hint="watch fewer")
        return watched.add(name, ear)

    # ── how loud ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def level(self) -> str:
        """The lowest level anyone wants; empty if nobody has asked for log messages."""
        return min((level for level in (self._level, self._floor) if level), key=RANK.__getitem__, default="")

    def hear(self, level: str) -> None:
        """Set the level that all conversations together want."""
        self._set(level, self._floor)

    def hear_at_least(self, level: str) -> bool:
        """Raise the level for a single call. The server stays that loud; each caller hears only the level
        it asked for.
        """
        if self.level and RANK[self.level] <= RANK[level]:
            return False
        self._set(self._level, level)
        return True

    def _set(self, level: str, floor: str) -> None:
        before = self.level
        self._level, self._floor = level, floor
        if self.level != before:
            self._stir()

    # ── what the server says ─────────────────────────────────────────────────────────────────────────────────────────

    def heard(self, method: str, params: bytes) -> bool:
        """Pass on a notice of the server. False if it is about something else."""
        match method:
            case "notifications/resources/updated":
                self.updated(params)
            case "notifications/tasks" | "notifications/tasks/status":
                self.task_changed(params)
            case "notifications/subscriptions/acknowledged":
                self.acknowledged(params)
            case _:
                return False
        return True

    def pass_on(self) -> Interest:
        """To the next one who speaks with this server: who watches something goes on watching, and nobody else."""
        self._when_updated.clear()
        return self

    def when_updated(self, heard: Callable[[str], None]) -> None:
        """Have it told of every resource that changes, watched or not."""
        self._when_updated.append(heard)

    def updated(self, params: bytes) -> None:
        """A resource, or a part of one, has changed: whoever watches it, or what it is a part of, is told."""
        changed = _name(_read(params).uri)
        for heard in self._when_updated:
            heard(changed)
        for uri in self._watched_by(changed):
            self.resources.tell(uri, params)

    def _watched_by(self, uri: str) -> Iterator[str]:
        for watched in self.resources.names:
            if uri == watched or uri.startswith(watched.rstrip("/") + "/"):
                yield watched

    def task_changed(self, params: bytes) -> None:
        self.tasks.tell(_name(_read(params).task_id), params)

    def missed(self) -> None:
        """Changes may have gone by unheard: everything that is watched counts as changed."""
        for uri in self.resources.names:
            self.updated(msgspec.json.encode({"uri": uri}))

    # ── telling the server ───────────────────────────────────────────────────────────────────────────────────────────

    def begin(self) -> None:
        """Note that there is a session, and someone who tells the server."""
        self._held, self._in_vain = True, 0.0

    def end(self) -> None:
        self._held = False
        self._progress.set()

    def mark_told(self, version: int, heard: bool = True) -> None:
        """The server was told this version of what is wanted. `heard`: as far as one can see it has taken note."""
        self._told_version = version
        self._in_vain = 0.0 if heard else math.inf
        self._progress.set()

    async def change_after(self, version: int) -> None:
        while self.version == version:
            self._changed.clear()
            await self._changed.wait()

    async def settled(self, seconds: float) -> bool:
        """Until the server knows what is wanted now; at most so long, and not at all while it is away, or has been
        waited for so long in vain.

        False if it should know, and has taken no note.
        """
        wanted = self.version
        try:
            async with asyncio.timeout(seconds):
                while self._held and self._told_version < wanted and self._in_vain < seconds:
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            self._in_vain = max(self._in_vain, seconds)
        return not self._held or self._in_vain < seconds

    # ── acknowledgements of a subscription ───────────────────────────────────────────────────────────────────────────

    def expect(self) -> asyncio.Future[bytes]:
        self._acknowledged = asyncio.get_running_loop().create_future()
        return self._acknowledged

    def acknowledged(self, params: bytes) -> None:
        if self._acknowledged is not None and not self._acknowledged.done():
            self._acknowledged.set_result(params)


def _read(params: bytes) -> _Named:
    """The names in the params; params that cannot be read name nothing."""
    try:
        return msgspec.json.decode(params, type=_Named)
    except msgspec.DecodeError:
        return _Named()


def _name(told: Raw) -> str:
    """Empty if it is no name, or none that anybody could watch."""
    try:
        return msgspec.json.decode(told, type=str) if len(memoryview(told)) <= MAX_NAME_BYTES else ""
    except msgspec.DecodeError:
        return ""
