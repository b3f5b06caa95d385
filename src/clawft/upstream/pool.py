"""All servers: what is wanted, what runs, and one operation that makes the second the first.

`set_servers` alone starts and stops servers; connecting, disconnecting, toggling and reloading all end there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawft.errors import ServerNotFound
from clawft.link.base import Link
from clawft.upstream.cache import SchemaCache
from clawft.upstream.plan import plan
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import State
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc import Notification

log = logging.getLogger("clawft.upstream")


class SetServersResult(Struct, frozen=True):
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    errors: Mapping[str, str] = {}


class ServerStatus(Struct, frozen=True):
    """One server as `weft servers status` shows it."""

    name: str
    status: str
    transport: Literal["stdio", "http"]
    error: str = ""
    era: str = ""
    revision: str = ""
    server_info: Mapping[str, Any] = {}
    tools: tuple[str, ...] = ()
    restarts: int = 0
    pid: int | None = None
    trusted: bool = False
    seconds: float = 0.0
    stderr: str = ""


class News:
    """Who hears of changes. The pool calls; whoever wires the house fills it in."""

    def __init__(self) -> None:
        self.offer_changed: Callable[[Upstream], None] = lambda upstream: None
        self.state_changed: Callable[[Upstream], None] = lambda upstream: None
        self.added: Callable[[Upstream], None] = lambda upstream: None
        self.removed: Callable[[Upstream], None] = lambda upstream: None
        self.noticed: Callable[[Upstream, Notification, int | None], None] = lambda upstream, notice, stream: None


class Pool:
    def __init__(
        self,
        cache_folder: Path,
        ways: Callable[[UpstreamSpec], list[Callable[[], Link]]],
        roots: list[Mapping[str, Any]],
    ) -> None:
        self._ways = ways
        self._roots = roots
        self._cache = SchemaCache(cache_folder)
        self._running: dict[str, Upstream] = {}
        self._wanted: dict[str, UpstreamSpec] = {}
        self._turn = asyncio.Lock()
        self.news = News()

    # ── the one operation ────────────────────────────────────────────────────────────────────────────────────────────

    async def set_servers(self, wanted: Mapping[str, UpstreamSpec]) -> SetServersResult:
        """Start, stop and restart only what differs. One at a time, so that concurrent callers cannot cross."""
        async with self._turn:
            todo = plan({name: upstream.spec for name, upstream in self._running.items()}, wanted)
            await asyncio.gather(*(self._stop(name) for name in (*todo.stop, *todo.restart)))
            for name in (*todo.restart, *todo.start):
                self._start(wanted[name])
            self._wanted = dict(wanted)
            errors = {name: self._running[name].error for name in self._running if self._running[name].error}
            return SetServersResult(todo.start, todo.stop, todo.restart, errors)

    def _start(self, spec: UpstreamSpec) -> None:
        upstream = self._running[spec.name] = Upstream(spec, self, self._cache)
        self.news.added(upstream)
        upstream.start()

    async def _stop(self, name: str) -> None:
        upstream = self._running.pop(name)
        self.news.removed(upstream)
        await upstream.stop()

    # ── what people say ──────────────────────────────────────────────────────────────────────────────────────────────

    async def connect(self, spec: UpstreamSpec) -> SetServersResult:
        return await self.set_servers({**self._wanted, spec.name: spec})

    async def disconnect(self, name: str) -> SetServersResult:
        self.find(name)
        return await self.set_servers({key: spec for key, spec in self._wanted.items() if key != name})

    async def toggle(self, name: str, enabled: bool) -> SetServersResult:
        if name not in self._wanted:
            raise ServerNotFound(f"there is no server {name!r}")
        spec = msgspec.structs.replace(self._wanted[name], enabled=enabled)
        return await self.set_servers({**self._wanted, name: spec})

    async def reconnect(self, name: str) -> SetServersResult:
        spec = self.find(name).spec
        await self.disconnect(name)
        return await self.connect(spec)

    async def close(self) -> None:
        await self.set_servers({})

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def __iter__(self):
        return iter(tuple(self._running.values()))

    def find(self, name: str) -> Upstream:
        try:
            return self._running[name]
        except KeyError:
            known = ", ".join(self._running) or "none"
            raise ServerNotFound(f"there is no server {name!r}", hint=f"there are: {known}") from None

    def status(self) -> list[ServerStatus]:
        """All servers, those switched off too."""
        off = [ServerStatus(n, State.DISABLED.value, s.transport) for n, s in self._wanted.items() if not s.enabled]
        return [self.server_status(name) for name in self._running] + off

    def server_status(self, name: str) -> ServerStatus:
        upstream = self.find(name)
        spec, session = upstream.spec, upstream.session
        child = getattr(session.link, "child", None) if session is not None else None
        return ServerStatus(
            name=name,
            status=upstream.state.value,
            transport=spec.transport,
            error=upstream.error,
            era=session.peer.era.value if session else "",
            revision=session.peer.revision if session else "",
            server_info=session.peer.server_info if session else {},
            tools=tuple(tool.name for tool in upstream.tools),
            restarts=upstream.backoff.total,
            pid=child.pid if child is not None else None,
            trusted=spec.trust == "trusted",
            seconds=round(time.monotonic() - upstream.since, 1),
            stderr=child.stderr.text() if child is not None else "",
        )

    async def settled(self, seconds: float) -> None:
        """Wait until every server was tried once, within bounds: for programs that want the whole list at once."""
        tries = [upstream.tried.wait() for upstream in self._running.values()]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*tries)
        except TimeoutError:
            log.info("not all servers are ready after %g s", seconds)

    # ── as the surroundings of its servers ───────────────────────────────────────────────────────────────────────────

    def link_to(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        return self._ways(spec)

    def roots(self) -> list[Mapping[str, Any]]:
        return self._roots

    def offer_changed(self, upstream: Upstream) -> None:
        self.news.offer_changed(upstream)

    def state_changed(self, upstream: Upstream) -> None:
        self.news.state_changed(upstream)

    def noticed(self, upstream: Upstream, notification: Notification, stream: int | None) -> None:
        self.news.noticed(upstream, notification, stream)
