"""One server and its life: started, listed, watched, restarted with growing patience, given up honestly."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Raw

from clawft.errors import (
    METHOD_NOT_FOUND,
    ClawftError,
    JsonRpcFailure,
    LinkError,
    LinkRefused,
    NeedsAuth,
    NotConnected,
    SpawnFailed,
)
from clawft.link.base import Link
from clawft.model import Era, Tool
from clawft.upstream import offered
from clawft.upstream.backoff import Backoff
from clawft.upstream.cache import Remembered, SchemaCache, fingerprint
from clawft.upstream.gate import Gate
from clawft.upstream.session import Session
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import Event, State, move
from clawft.wire.jsonrpc import Notification, Request

HEALTH_SECONDS = 30.0
HEALTH_PATIENCE = 5.0
MAX_MISSES = 3
STEADY_SECONDS = 60.0
DEBOUNCE_SECONDS = 0.05

log = logging.getLogger("clawft.upstream")

LIST_CHANGED = {
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
}


class Surroundings(Protocol):
    """What a server needs from the house: links to it, answers to its questions, an ear for its news."""

    def link_to(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        """Ways to reach it, best first; later ones are tried when a server refuses the earlier."""
        ...

    def roots(self) -> list[Mapping[str, Any]]: ...

    def offer_changed(self, upstream: Upstream) -> None: ...

    def state_changed(self, upstream: Upstream) -> None: ...

    def noticed(self, upstream: Upstream, notification: Notification, stream: int | None) -> None: ...


class Upstream:
    """A server as the rest of the house sees it: a state, a list, and a session while it is connected."""

    def __init__(self, spec: UpstreamSpec, surroundings: Surroundings, cache: SchemaCache) -> None:
        self.spec = spec
        self._surroundings = surroundings
        self._cache = cache
        self._life: asyncio.Task[None] | None = None
        self._loss: asyncio.Future[LinkError] | None = None
        self._changed = asyncio.Event()
        self.tried = asyncio.Event()
        """Set when the first try to connect has ended, well or not."""
        self._refresh: asyncio.TimerHandle | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self.state = State.DISABLED
        self.error = ""
        self.backoff = Backoff()
        self.gate = Gate(spec.name)
        self.session: Session | None = None
        self.since = time.monotonic()
        self.used = self.since
        self.misses = 0
        self.answers: Remembered | None = cache.get(spec)
        self.tools: tuple[Tool, ...] = self._read_tools()

    # ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        if self._life is None or self._life.done():
            self.backoff.forgive()
            self._move(Event.ENABLE)
            self._life = asyncio.get_running_loop().create_task(self._live(), name=f"upstream {self.spec.name}")

    async def stop(self) -> None:
        """Ends whatever runs; may be called twice."""
        life, self._life = self._life, None
        if life is not None:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)
        await self._close_session()
        if self.state is not State.DISABLED:
            self._move(Event.DISABLE)

    async def connected(self, seconds: float) -> Session:
        """The live session, waiting for it if it is on its way. Raises NotConnected, saying why."""
        if self.session is not None and self.state in (State.CONNECTED, State.DEGRADED):
            return self.session
        try:
            async with asyncio.timeout(seconds):
                while self.state is State.PENDING:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise self._not_connected(f"not ready after {seconds:g} s") from None
        if self.session is None:
            raise self._not_connected(self.error or self.state.value)
        return self.session

    def _not_connected(self, why: str) -> NotConnected:
        return NotConnected(f"{self.spec.name} is not connected: {why}", hint=f"weft servers status {self.spec.name}")

    # ── the life ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _live(self) -> None:
        while True:
            try:
                await self._connect()
                error = await self._until_lost()
            except (ClawftError, OSError) as failed:
                error = failed
            await self._close_session()
            self.error = str(error)
            self.tried.set()
            if isinstance(error, NeedsAuth):
                self._move(Event.CHALLENGED)
                return
            if self.state is not State.PENDING:
                self._move(Event.LOST)
            wait = None if isinstance(error, SpawnFailed) else self.backoff.next_wait(time.monotonic())
            if wait is None:
                log.error("%s: given up: %s", self.spec.name, error)
                self._move(Event.GAVE_UP)
                return
            log.warning("%s: %s; next try in %.1f s", self.spec.name, error, wait)
            self._tell_state()
            await asyncio.sleep(wait)

    async def _connect(self) -> None:
        self._loss = asyncio.get_running_loop().create_future()
        session = self.session = await self._open()
        await self._ask(session)
        self.error = ""
        self._move(Event.OPENED)
        self.tried.set()

    async def _open(self) -> Session:
        """The first link that leads to a server. One that is refused leaves its place to an older form."""
        ways = self._surroundings.link_to(self.spec)
        for number, way in enumerate(ways, 1):
            session = Session(way(), self, {"roots": {}})
            try:
                await session.connect(self._known_era())
            except LinkRefused:
                await session.close()
                if number == len(ways):
                    raise
            except BaseException:
                await session.close()
                raise
            else:
                return session
        raise NotConnected(f"{self.spec.name}: there is no way to reach it")

    def _known_era(self) -> Era | None:
        return Era(self.answers.era) if self.answers is not None else None

    async def _until_lost(self) -> ClawftError:
        """Healthy until the link says otherwise, or three checks in a row go unanswered."""
        self.misses = 0
        loss = self._loss
        if loss is None:
            return NotConnected(f"{self.spec.name} was never connected")
        while True:
            await asyncio.wait({loss}, timeout=HEALTH_SECONDS)
            if loss.done():
                return loss.result()
            if not await self._is_well():
                return NotConnected(f"{MAX_MISSES} health checks in a row went unanswered")

    async def _is_well(self) -> bool:
        session = self.session
        try:
            if session is not None:
                await session.check(HEALTH_PATIENCE)
        except LinkError as missed:
            self.misses += 1
            self.error = str(missed)
            self._move(Event.MISSED)
            return self.misses < MAX_MISSES
        if self.misses:
            self._move(Event.RECOVERED)
        self.misses = 0
        return True

    async def _close_session(self) -> None:
        session, self.session = self.session, None
        if self._refresh is not None:
            self._refresh.cancel()
        if self._refreshing is not None:
            self._refreshing.cancel()
        if session is not None:
            await session.close()

    # ── what it offers ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, session: Session) -> None:
        """Everything anew, swapped in one step; the house hears of it only if it differs."""
        answers = await offered.ask(session, fingerprint(self.spec), time.time())
        before = self.answers
        self.answers = answers
        self._cache.put(self.spec, answers)
        if before is None or _differs(before, answers):
            self.tools = self._read_tools()
            self._surroundings.offer_changed(self)

    def _read_tools(self) -> tuple[Tool, ...]:
        return offered.read_tools(self.answers.tools, self.spec.name) if self.answers is not None else ()

    def _list_again(self) -> None:
        self._refresh = None
        self._refreshing = asyncio.get_running_loop().create_task(self._ask_again())

    async def _ask_again(self) -> None:
        if self.session is None:
            return
        try:
            await self._ask(self.session)
        except ClawftError as failed:
            log.warning("%s: its lists could not be read again: %s", self.spec.name, failed)

    # ── as the listener of its session ───────────────────────────────────────────────────────────────────────────────

    def noticed(self, notification: Notification, stream: int | None) -> None:
        if notification.method in LIST_CHANGED:
            self._cache.invalidate(self.spec.name)
            if self._refresh is None:  # a flood of them is one piece of news
                self._refresh = asyncio.get_running_loop().call_later(DEBOUNCE_SECONDS, self._list_again)
            return
        self._surroundings.noticed(self, notification, stream)

    async def asked(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        if request.method == "roots/list":
            return {"roots": self._surroundings.roots()}
        raise JsonRpcFailure(METHOD_NOT_FOUND, f"{request.method} is not served here")

    def lost(self, error: LinkError) -> None:
        if self._loss is not None and not self._loss.done():
            self._loss.set_result(error)

    # ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _move(self, event: Event) -> None:
        self.state = move(self.state, event)
        self.since = time.monotonic()
        self._tell_state()

    def _tell_state(self) -> None:
        self._changed.set()
        self._surroundings.state_changed(self)


def _differs(before: Remembered, after: Remembered) -> bool:
    return any(
        _joined(getattr(before, part)) != _joined(getattr(after, part))
        for part in ("tools", "prompts", "resources", "templates")
    )


def _joined(items: list[Raw]) -> bytes:
    return b"\n".join(bytes(item) for item in items)
