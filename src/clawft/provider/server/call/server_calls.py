"""Takes in the tool calls for a server: plain ones are sent at once, others go by the slow path.

What a call needs beyond a place among the others is loaded with the first one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clawft.errors import LinkClosed, LinkError, ProcessExited, ProtocolFailure, SessionLost, WireError
from clawft.model import Call, Era, Reply, ReplyReceiver
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.session.paging import MAX_ITEMS
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream

if TYPE_CHECKING:  # loaded with the first call
    from clawft.link.base import Posting
    from clawft.provider.server.call.plain_call import CallEnd, PlainCall
    from clawft.provider.server.call.slow_path import SlowPath
    from clawft.provider.server.progress_following import ProgressFollowing

CONNECT_SECONDS = 30.0
LOST = (ProcessExited, LinkClosed, SessionLost)
"""The errors of a call that was lost with its connection; it may have run."""
BROKEN = (LinkError, WireError, ProtocolFailure)
"""Errors that are the server's fault. They are reported under its name, as the caller's request was in order."""

_HANDSHAKE = Era.HANDSHAKE  # a local name, as looking it up in its class takes longer than all the rest of a comparison

_encode = msgspec.json.encode


class CallTemplate(Struct, frozen=True, gc=False):
    """The common part of all calls of one tool."""

    seconds: float
    hard_seconds: float
    head: bytes
    """The bytes of the request between its id and its arguments."""


class PlainRoute(Struct, frozen=True, gc=False):
    """The common part of all plain calls in one session."""

    upstream: Upstream
    session: Session
    link: Posting
    loop: asyncio.AbstractEventLoop
    following: ProgressFollowing
    begin: type[PlainCall]
    settle: Callable[[PlainCall, CallEnd], Awaitable[Reply]]
    """Goes on with a call that turned out to need more."""


class ServerCalls:
    """The tool calls for one server."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._upstream = server.upstream
        self._keeps_callers_apart = server.keeps_callers_apart
        self._slow_path: SlowPath | None = None
        self._templates: dict[str, CallTemplate] = {}
        self._route: PlainRoute | None = None
        self._was_called = False
        self.only_principal = ""
        """The principal of all calls so far, if it is only one: it gets log messages outside of calls."""

    @property
    def slow_path(self) -> SlowPath:
        """Loaded with the first call. A cached property would make all that is read for each call slower to find."""
        if self._slow_path is None:
            from clawft.provider.server.call.slow_path import SlowPath

            self._slow_path = SlowPath(self._server)
        return self._slow_path

    # ── the fast path ────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, call: Call, receiver: ReplyReceiver) -> PlainCall | None:
        """Send the call without a task, if it needs nothing but its answer; else None."""
        upstream = self._upstream
        session = upstream.session
        if session is None or not _is_plain(call, session) or self._keeps_callers_apart:
            return None
        route = self._route if self._route is not None and self._route.session is session else self._find_route(session)
        if route is None or not upstream.gate.try_enter():
            return None
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        begin = route.begin
        try:
            return begin(call, self._templates.get(call.tool.name) or self._learn(call.tool.name), route, receiver)
        except LinkError:  # the link was just lost: on the slow path the call finds the next one
            upstream.gate.leave()
            return None

    def _find_route(self, session: Session) -> PlainRoute | None:
        if session.posting is None:
            return None
        from clawft.provider.server.call.plain_call import PlainCall  # once for each session

        loop = asyncio.get_running_loop()
        following = self._server.following
        self._route = PlainRoute(self._upstream, session, session.posting, loop, following, PlainCall, self._settle)
        return self._route

    async def _settle(self, plain: PlainCall, ended: CallEnd) -> Reply:
        return await self.slow_path.settle(plain, ended)

    # ── the slow path ────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, call: Call) -> Coroutine[Any, Any, Reply]:
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        template = self._templates.get(call.tool.name) or self._learn(call.tool.name)
        return (self._slow_path or self.slow_path).run(call, template.seconds)

    # ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _meet(self, principal: str) -> None:
        self.only_principal = "" if self._was_called else principal
        self._was_called = True

    def _learn(self, tool: str) -> CallTemplate:
        if len(self._templates) >= MAX_ITEMS:  # of a server that changes their names again and again
            self._templates.clear()
        seconds = self._upstream.spec.deadline_of(tool)
        head = b',"method":"tools/call","params":{"name":%b,"arguments":' % _encode(tool)
        template = CallTemplate(seconds, seconds * HARD_LIMIT_FACTOR, head)
        self._templates[tool] = template
        return template


def _is_plain(call: Call, session: Session) -> bool:
    """Whether one request and one answer are enough: both sides speak the handshake era, and want progress at most."""
    talk = call.talk
    if call.more or talk.level or talk.carried or call.tool.task == "required":
        return False
    return call.caller.era is _HANDSHAKE and session.peer.era is _HANDSHAKE
