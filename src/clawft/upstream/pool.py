"""All servers: which are wanted, which run, and one operation that starts and stops what differs.

`set_servers` alone starts and stops servers; connecting, disconnecting, toggling and reloading all end there.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from clawft.errors import (
    METHOD_NOT_FOUND,
    ClawftError,
    InvalidConfig,
    JsonRpcFailure,
    NotConnected,
    ServerNotFound,
)
from clawft.link.base import Link
from clawft.model import Tool
from clawft.upstream.interest.interest import Interest
from clawft.upstream.news import News
from clawft.upstream.offer.cache import TTL_SECONDS, SchemaCache
from clawft.upstream.offer.lists import Parts
from clawft.upstream.offer.room import Room
from clawft.upstream.pending_servers import PendingServers
from clawft.upstream.plan import plan
from clawft.upstream.session.session import Session
from clawft.upstream.slots import MAX_CONNECTIONS, Slots
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.spec_rules import wrong_with
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # loaded with the first private session, and when somebody asks how servers are
    from clawft.upstream.private_sessions import PrivateSessions
    from clawft.upstream.status import ServerStatus

CONNECT_SECONDS = 30.0
"""How long a caller waits for a server it connects; the server is tried on without them."""
RENEW_SECONDS = 1.0
"""The least pause between two looks for lists that are no longer fresh."""

log = logging.getLogger("clawft.upstream")

Change = Callable[[Mapping[str, UpstreamSpec]], dict[str, UpstreamSpec]]


class SetServersResult(Struct, frozen=True):
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    errors: Mapping[str, str] = {}


class Pool:
    def __init__(
        self,
        cache_folder: Path,
        ways: Callable[[UpstreamSpec], list[Callable[[], Link]]],
        roots: list[Mapping[str, Any]],
        max_connections: int = MAX_CONNECTIONS,
        list_seconds: float = TTL_SECONDS,
    ) -> None:
        self._ways = ways
        self._slots = Slots(max_connections)
        self._room = Room()
        self._roots = roots
        self._cache = SchemaCache(cache_folder, list_seconds)
        self._running: dict[str, Upstream] = {}
        self._wanted: dict[str, UpstreamSpec] = {}
        self._interests: WeakValueDictionary[str, Interest] = WeakValueDictionary()
        """Of each server that was started, for as long as it runs, or somebody watches something there."""
        self._ending: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._renewed = time.monotonic()
        self.pending = PendingServers()
        self._private: PrivateSessions | None = None
        self.news = News()
        self.clearance: Callable[[UpstreamSpec], Awaitable[list[Callable[[], Link]]]] | None = None
        """Asked in place of `ways` before every start of a server; raises SpawnFailed if it may not be."""

    # ── the one operation ────────────────────────────────────────────────────────────────────────────────────────────

    async def set_servers(self, wanted: Mapping[str, UpstreamSpec], *, seconds: float = 0.0) -> SetServersResult:
        """Start, stop and restart only what differs. `seconds`: how long to wait for the first try of what starts."""
        return await self._change(lambda _: dict(wanted), seconds=seconds)

    async def _change(
        self, change: Change, *, again: frozenset[str] = frozenset(), seconds: float = 0.0
    ) -> SetServersResult:
        """One change at a time, each on the result of the one before."""
        async with self._turn:
            asked = change(self._wanted)
            wrong = {name: str(error) for name, spec in asked.items() if (error := _error_in(name, spec))}
            wanted = {name: spec for name, spec in asked.items() if name not in wrong}
            todo = plan({name: upstream.spec for name, upstream in self._running.items()}, wanted, again)
            self._wanted = wanted
            ending = {name: self._begin_stop(name) for name in (*todo.stop, *todo.restart)}
            self._start_all((*todo.start, *todo.restart), ending)
            if ending:
                await asyncio.wait(ending.values())
        begun = (*todo.start, *todo.restart)
        await self._tried(begun, seconds)
        errors = {name: why for name in begun if (why := self._absence(name, seconds))}
        return SetServersResult(todo.start, todo.stop, todo.restart, {**wrong, **errors})

    def _start_all(self, names: Iterable[str], ending: Mapping[str, asyncio.Task[None]]) -> None:
        """If there are more servers than slots, those whose lists are fresh stay closed until they are called.

        A server that is `ending` has its successor at once, for calls to wait for; it opens once the old one is gone.
        """
        crowded = sum(spec.enabled for spec in self._wanted.values()) > self._slots.limit
        for name in names:
            spec = self._wanted[name]
            upstream = self._running[name] = Upstream(spec, self, self._cache, interest=self._interests.get(name))
            self._interests[name] = upstream.interest
            self.news.added.tell(upstream)
            rests = crowded and self._cache.is_fresh(spec) and not upstream.interest.resources
            upstream.start(rest=rests, after=ending.get(name))
            self.pending.add(upstream)
        self._arrange()

    def _arrange(self) -> None:
        """Restore the order in which servers are wanted: it decides which one gets a name that two want."""
        places = {name: place for place, name in enumerate(self._wanted)}
        order = sorted(self._running, key=lambda name: places.get(name, len(places)))
        if order != list(self._running):
            self._running = {name: self._running[name] for name in order}
            self.news.arranged.tell(order)

    def _begin_stop(self, name: str) -> asyncio.Task[None]:
        """Stop it in a task that runs to its end, even if the caller does not wait."""
        upstream = self._running.pop(name)
        self.news.removed.tell(upstream)
        if self._private is not None:
            self._private.end_server(name)
        ending = asyncio.get_running_loop().create_task(upstream.stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        return ending

    async def _tried(self, names: Iterable[str], seconds: float, quiet: float = math.inf) -> None:
        """Wait until all were tried, or for `quiet` seconds without another one; never longer than `seconds`."""
        loop = asyncio.get_running_loop()
        begun = [self._running[name] for name in names if name in self._running] if seconds else []
        tries = {loop.create_task(upstream.tried.wait()) for upstream in begun if not upstream.tried.is_set()}
        ends = loop.time() + seconds
        while tries:
            patience = min(quiet, max(0.0, ends - loop.time()))
            done, tries = await asyncio.wait(tries, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                log.info("not all servers are ready after %.3g s", loop.time() - ends + seconds)
                break
        for left in tries:
            left.cancel()

    def _absence(self, name: str, waited: float) -> str:
        """Why it is not there; empty if it is, or if nobody waited and its first try goes on."""
        upstream = self._running.get(name)
        if upstream is None:
            return ""
        if waited and not upstream.tried.is_set():
            from clawft.upstream.reasons import not_ready  # most servers are there

            return not_ready(waited, upstream.condition.step)
        return upstream.error

    # ── for the user ────────────────────────────────────────────────────────────────────────────────────────────────

    async def connect(self, spec: UpstreamSpec, *, seconds: float = CONNECT_SECONDS) -> SetServersResult:
        """Add it, or change it; back when it was tried once."""
        return await self._change(lambda wanted: {**wanted, spec.name: spec}, seconds=seconds)

    async def disconnect(self, name: str) -> SetServersResult:
        self._known(name)
        return await self._change(lambda wanted: {key: spec for key, spec in wanted.items() if key != name})

    async def toggle(self, name: str, enabled: bool, *, seconds: float = CONNECT_SECONDS) -> SetServersResult:
        self._known(name)

        def change(wanted: Mapping[str, UpstreamSpec]) -> dict[str, UpstreamSpec]:
            spec = wanted.get(name)
            return {**wanted, name: msgspec.structs.replace(spec, enabled=enabled)} if spec else dict(wanted)

        return await self._change(change, seconds=seconds)

    async def reconnect(self, name: str, *, seconds: float = CONNECT_SECONDS) -> SetServersResult:
        """Stop and start it, whatever state it is in."""
        self._known(name)
        return await self._change(dict, again=frozenset({name}), seconds=seconds)

    async def close(self) -> None:
        self.pending.close()
        await asyncio.gather(self.set_servers({}), *([self._private.close()] if self._private is not None else []))
        await asyncio.gather(*self._ending)

    def _known(self, name: str) -> UpstreamSpec:
        try:
            return self._wanted[name]
        except KeyError:
            known = ", ".join(self._wanted) or "none"
            raise ServerNotFound(f"there is no server {name!r}", hint=f"known servers: {known}") from None

    # ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def get(self, name: str, *, seconds: float = CONNECT_SECONDS) -> Session:
        """The open session of a server; simultaneous first calls share one attempt."""
        return await self.find(name).connected(seconds)

    async def tools(self, name: str) -> Sequence[Tool]:
        """The server's tools: as remembered while that is fresh, else as it lists them now."""
        return await self.find(name).read_tools()

    def refresh_stale(self) -> None:
        """Begin to read lists again that are no longer fresh. Called whenever an agent reads a list."""
        now = time.monotonic()
        if now >= self._renewed + RENEW_SECONDS:
            self._renewed = now
            for upstream in self:
                upstream.refresh_stale()

    @property
    def private(self) -> PrivateSessions:
        """Sessions that single conversations or people have for themselves."""
        if self._private is None:
            from clawft.upstream.private_sessions import PrivateSessions  # most servers are shared by all callers

            self._private = PrivateSessions(lambda spec: Upstream(spec, self, self._cache, offers=False))
        return self._private

    def conversation_ended(self, session: str) -> None:
        if self._private is not None:
            self._private.end(session)

    def invalidate(self, name: str) -> None:
        self._cache.invalidate(name)

    def invalidate_all(self) -> None:
        self._cache.invalidate_all()

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def __iter__(self) -> Iterator[Upstream]:
        return iter(tuple(self._running.values()))

    def find(self, name: str) -> Upstream:
        """Raises ServerNotFound, or NotConnected for one that is switched off."""
        spec = self._known(name)
        if name not in self._running:
            raise NotConnected(f"{name} is disabled", hint=f"weft servers enable {spec.name}")
        return self._running[name]

    def status(self) -> list[ServerStatus]:
        """All servers, those switched off too."""
        return [self.server_status(name) for name in self._wanted]

    def server_status(self, name: str) -> ServerStatus:
        from clawft.upstream.status import status_of  # whoever only serves is not asked

        return status_of(self._known(name), self._running.get(name))

    async def settled(self, seconds: float, quiet: float = math.inf) -> None:
        """Wait until every server was tried once, within bounds: for programs that want the whole list at once.

        `quiet`: and no longer than so many seconds for the next one.
        """
        await self._tried(tuple(self._running), seconds, quiet)

    # ── as the surroundings of its servers ───────────────────────────────────────────────────────────────────────────

    @property
    def slots(self) -> Slots:
        return self._slots

    @property
    def room(self) -> Room:
        return self._room

    async def link_to(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        return self._ways(spec) if self.clearance is None else await self.clearance(spec)

    def roots_changed(self) -> None:
        """The agent's roots have changed: tell the servers that may have remembered them."""
        for upstream in self:
            upstream.notify_roots_changed()

    def roots(self) -> list[Mapping[str, Any]]:
        return self._roots

    async def answer_request(self, upstream: Upstream, request: Request, stream: int | None) -> Mapping[str, Any]:
        if self.news.answer_request is not None:
            return await self.news.answer_request(upstream, request, stream)
        if request.method == "roots/list":
            return {"roots": self._roots}
        raise JsonRpcFailure(METHOD_NOT_FOUND, f"{request.method} is not served here")

    def lists_changing(self, upstream: Upstream, reading: asyncio.Task[None]) -> None:
        self.pending.add_lists(upstream.spec.name, reading)

    def offer_changed(self, upstream: Upstream, parts: Parts) -> None:
        self.news.offer_changed.tell(upstream, parts)

    def state_changed(self, upstream: Upstream) -> None:
        self.news.state_changed.tell(upstream)

    def on_notification(self, upstream: Upstream, notification: Notification, stream: int | None) -> None:
        self.news.notification.tell(upstream, notification, stream)


def _error_in(name: str, spec: UpstreamSpec) -> ClawftError | None:
    """The mistake in a spec, found before anything is started."""
    if not _NAME.fullmatch(name) or "__" in name or name != spec.name:
        return InvalidConfig(f"{name!r} cannot be the name of a server", hint="letters, digits, `-`, `.`, single `_`")
    wrong = wrong_with(spec) if spec.enabled else ""
    return InvalidConfig(wrong, hint="correct its spec") if wrong else None


_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
