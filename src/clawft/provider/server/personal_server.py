"""A server that is called in the name of people: each has a session, a token and lists of their own.

Nothing is shared. A person's offers, reads, watches and tasks belong to a provider that no one else reaches; here it is
only looked up, by the person's proof.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.auth.no_credentials import nobody_here
from clawft.errors import ClawftError, ExecutionFailed
from clawft.link.base import Credentials, Link
from clawft.model import Call, Caller, CallToolResult, Reply, Tool
from clawft.provider.base import Changes
from clawft.provider.server.question import handshake_questions
from clawft.provider.server.question.parked_calls import ParkedCalls
from clawft.provider.server.server_provider import ServerProvider
from clawft.upstream.links import links_to
from clawft.upstream.offer.cache import SchemaCache
from clawft.upstream.offer.lists import Parts
from clawft.upstream.offer.room import Room
from clawft.upstream.pool import Pool
from clawft.upstream.slots import Slots
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import ServerState
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # which own us
    from clawft.provider.server.server_providers import PersonalLogins

READY_SECONDS = 10.0
"""How long a person's first look waits for a server; what comes later is reported as a change."""
AGAIN_SECONDS = 5.0
"""Time between two attempts at a server that refused a person."""
IDLE_SECONDS = 1_800.0
MAX_OF_ONE = 16
"""Sessions of one person with one server, by different programs or with different rights."""


class _PersonalSession(Struct):
    """A person's session with the server."""

    principal: str
    provider: ServerProvider
    used: float
    tried: float

    @property
    def upstream(self) -> Upstream:
        return self.provider.upstream


class PersonalServer:
    def __init__(self, spec: UpstreamSpec, pool: Pool, people: PersonalLogins, parked_calls: ParkedCalls) -> None:
        self._spec = spec
        self._pool = pool
        self._people = people
        self._parked_calls = parked_calls
        self._sessions: dict[str, _PersonalSession] = {}
        self._changes: Changes | None = None
        self.server = spec.name
        self.namespace = f"mcp:{self.server}"

    # ── for nobody in particular ─────────────────────────────────────────────────────────────────────────────────────

    def list_tools(self) -> Sequence[Tool]:
        return ()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise self._nobody()

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    async def set_log_level(self, level: str) -> None:
        running = [personal for personal in self._sessions.values() if personal.upstream.session is not None]
        await asyncio.gather(*(personal.provider.set_log_level(level) for personal in running))

    # ── for one person ───────────────────────────────────────────────────────────────────────────────────────────────

    def of(self, caller: Caller) -> ServerProvider | None:
        personal = self._sessions.get(caller.proof) if caller.proof else None
        return personal.provider if personal is not None else None

    async def ready(self, caller: Caller) -> None:
        if not caller.proof:
            return
        upstream = self._session_of(caller).upstream
        try:
            async with asyncio.timeout(READY_SECONDS):
                await upstream.tried.wait()
        except TimeoutError:
            pass  # it keeps trying

    async def run(self, call: Call) -> Reply:
        if not call.caller.proof:
            raise self._nobody()
        return await self._session_of(call.caller).provider.run(call)

    def refusal(self, caller: Caller) -> ClawftError | None:
        if not caller.proof:
            return self._nobody()
        personal = self._sessions.get(caller.proof)
        if personal is None:
            return None
        if personal.upstream.error:
            return ExecutionFailed(f"{self.server}: {personal.upstream.error}")
        if personal.upstream.tried.is_set():
            return None
        return ExecutionFailed(
            f"{self.server} is not ready after {READY_SECONDS:g} s", hint="call it again in a moment"
        )

    def _nobody(self) -> ExecutionFailed:
        why = nobody_here(self.server, self._people.issuer)
        return ExecutionFailed(why.message, hint=why.hint)

    # ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────

    def _session_of(self, caller: Caller) -> _PersonalSession:
        """The session of this person: the existing one, retried if it was refused a while ago, or a new one."""
        now = time.monotonic()
        personal = self._sessions.get(caller.proof)
        if personal is None or self._pool.private.find(self.server, _key(caller.proof)) is not personal.upstream:
            personal = self._sessions[caller.proof] = self._open(caller, now)
        elif (
            personal.upstream.state in (ServerState.NEEDS_AUTH, ServerState.FAILED)
            and now - personal.tried > AGAIN_SECONDS
        ):
            personal.tried = now
            personal.upstream.tried.clear()
            personal.upstream.start()
        personal.used = now
        return personal

    def _open(self, caller: Caller, now: float) -> _PersonalSession:
        self._close_unused(caller, now)
        surroundings = _PersonalSurroundings(self._pool, self._people.login_of(self._spec, caller.proof))

        def make(spec: UpstreamSpec) -> Upstream:
            return Upstream(spec, surroundings, SchemaCache(None))

        upstream = self._pool.private.of(self._spec, _key(caller.proof), make)
        provider = surroundings.provider = ServerProvider(upstream, parked_calls=self._parked_calls, whose=caller.proof)
        if self._changes is not None:
            provider.watch(self._changes)
        return _PersonalSession(caller.principal, provider, now, now)

    def _close_unused(self, caller: Caller, now: float) -> None:
        """Close sessions that were idle for long, and the oldest of a person who has too many."""
        others = {proof: personal for proof, personal in self._sessions.items() if proof != caller.proof}
        gone = [proof for proof, personal in others.items() if now - personal.used > IDLE_SECONDS]
        own = [proof for proof, personal in others.items() if personal.principal == caller.principal]
        own.sort(key=lambda proof: others[proof].used)
        for proof in {*gone, *own[: max(len(own) + 1 - MAX_OF_ONE, 0)]}:
            if not others[proof].upstream.is_busy:
                del self._sessions[proof]
                self._pool.private.end_one(self.server, _key(proof))


def _key(proof: str) -> str:
    """The key of a person's session among those of conversations."""
    return f"person {proof}"


class _PersonalSurroundings:
    """The surroundings of one person's session, as `upstream.surroundings.Surroundings`."""

    provider: ServerProvider

    def __init__(self, pool: Pool, login: Credentials) -> None:
        self._pool = pool
        self._login = login

    @property
    def slots(self) -> Slots:
        return self._pool.slots

    @property
    def room(self) -> Room:
        return self._pool.room

    async def link_to(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        return links_to(spec, login_to=lambda _: self._login)

    def roots(self) -> list[Mapping[str, Any]]:
        """No folders: those of this machine are not this person's."""
        return []

    async def answer_request(self, upstream: Upstream, request: Request, stream: int | None) -> Mapping[str, Any]:
        return await handshake_questions.answer(upstream, request, stream, self.roots)

    def lists_changing(self, upstream: Upstream, reading: asyncio.Task[None]) -> None:
        """Nothing to wait for: changes are reported when they are there."""

    def offer_changed(self, upstream: Upstream, parts: Parts) -> None:
        self.provider.offer_changed(parts)

    def state_changed(self, upstream: Upstream) -> None:
        """Nothing to report: callers see the state."""

    def on_notification(self, upstream: Upstream, notification: Notification, stream: int | None) -> None:
        self.provider.on_notification(notification, upstream, stream)
