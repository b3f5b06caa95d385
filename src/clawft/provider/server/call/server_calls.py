"""Takes in the tool calls for a server: plain ones are sent at once, others go by the slow path.

What a call needs beyond a place among the others is loaded with the first one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clawft.errors import LinkClosed, LinkError, ProcessExited, ProtocolFailure, SessionLost, WireError
from clawft.link.share.gate import sharer
from clawft.model import LOCAL, Call, Caller, Era, Reply, ReplyReceiver
from clawft.upstream.session.paging import MAX_ITEMS
from clawft.upstream.session.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream

if TYPE_CHECKING:  # loaded with the first call
    from clawft.link.base import Posting
    from clawft.provider.server.call.plain_call import CallEnd, PlainCall
    from clawft.provider.server.call.slow_path import SlowPath
    from clawft.provider.server.progress_following import ProgressFollowing
    from clawft.provider.server.question.handshake_questions import Roots
    from clawft.provider.server.question.parked_calls import Park
    from clawft.provider.server.question.server_questions import ServerQuestions

CONNECT_SECONDS = 30.0
LOST = (ProcessExited, LinkClosed, SessionLost)
"""The errors of a call that was lost with its connection; it may have run."""
BROKEN = (LinkError, WireError, ProtocolFailure)
"""Errors that are the server's fault. They are reported under its name, as the caller's request was in order."""

_HANDSHAKE = Era.HANDSHAKE  # a local name, as looking it up in its class takes longer than all the rest of a comparison

_encode = msgspec.json.encode


class CallTemplate(Struct, frozen=True, gc=False):
    """What all calls of one tool have in common."""

    seconds: float
    hard_seconds: float
    head: bytes
    """The bytes of the request between its id and its arguments."""


class SessionWay(Struct, frozen=True, gc=False):
    """What all plain calls in one session have in common."""

    upstream: Upstream
    session: Session
    link: Posting
    loop: asyncio.AbstractEventLoop
    following: ProgressFollowing
    begin: type[PlainCall]
    settle: Callable[[PlainCall, CallEnd], Awaitable[Reply]]
    """Goes on with a call that turned out to need more."""


class ServerCalls:
    """The calls of one server."""

    def __init__(
        self,
        upstream: Upstream,
        park: Park,
        roots: Roots,
        visited: Callable[[str], None],
        own: Callable[[str], Upstream] | None = None,
    ) -> None:
        """`own` gives the private upstream of a conversation or person, for a server that keeps its callers apart."""
        self._upstream = upstream
        self._park = park
        self._roots = roots
        self._visited = visited
        self._own = own if upstream.spec.isolation == "per-session" else None
        self._following: ProgressFollowing | None = None
        self._questions: ServerQuestions | None = None
        self._slow_path: SlowPath | None = None
        self._templates: dict[str, CallTemplate] = {}
        self._way: SessionWay | None = None
        self._was_called = False
        self.only_principal = ""
        """The principal of all calls so far, if it is only one: it gets log messages outside of calls."""

    # ── what the first call needs: no cached properties, which make all that is read for each call slower to find ─────

    @property
    def following(self) -> ProgressFollowing:
        if self._following is None:
            from clawft.provider.server.progress_following import ProgressFollowing

            self._following = ProgressFollowing()
        return self._following

    @property
    def questions(self) -> ServerQuestions:
        if self._questions is None:
            from clawft.provider.server.question.server_questions import ServerQuestions

            spec = self._upstream.spec
            self._questions = ServerQuestions(spec, self.following, self._park, self._roots, self._visited)
        return self._questions

    @property
    def slow_path(self) -> SlowPath:
        if self._slow_path is None:
            from clawft.provider.server.call.slow_path import SlowPath

            self._slow_path = SlowPath(self._upstream, self.of, self.following, self.questions)
        return self._slow_path

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, call: Call, receiver: ReplyReceiver) -> PlainCall | None:
        """Send the call without a task, if it needs nothing but its answer; else None."""
        upstream = self._upstream
        session = upstream.session
        if session is None or not _is_plain(call, session) or self._own is not None:
            return None
        way = self._way if self._way is not None and self._way.session is session else self._find_way(session)
        if way is None or not upstream.gate.try_enter():
            return None
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        begin = way.begin
        try:
            return begin(call, self._templates.get(call.tool.name) or self._learn(call.tool.name), way, receiver)
        except LinkError:  # the link was just lost: on the slow path the call finds the next one
            upstream.gate.leave()
            return None

    def _find_way(self, session: Session) -> SessionWay | None:
        if session.posting is None:
            return None
        from clawft.provider.server.call.plain_call import PlainCall  # once for each session

        loop = asyncio.get_running_loop()
        self._way = SessionWay(self._upstream, session, session.posting, loop, self.following, PlainCall, self._settle)
        return self._way

    async def _settle(self, plain: PlainCall, ended: CallEnd) -> Reply:
        return await self.slow_path.settle(plain, ended)

    async def run(self, call: Call) -> Reply:
        if call.caller.principal != self.only_principal:
            self._meet(call.caller.principal)
        seconds = (self._templates.get(call.tool.name) or self._learn(call.tool.name)).seconds
        upstream = self._upstream if self._own is None else self.of(call.caller)
        slow_path = self._slow_path or self.slow_path
        session = upstream.session or await slow_path.connected(call, seconds)
        if not upstream.gate.try_enter():
            seconds = await upstream.gate.enter_within(seconds, sharer(call.caller))
        try:
            return await slow_path.relay(call, upstream, session, seconds)
        except BROKEN as wrong:
            raise slow_path.told(wrong, upstream) from None
        finally:
            upstream.gate.leave()

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

    def of(self, caller: Caller) -> Upstream:
        """The upstream of this caller: the shared one, or its own where callers are kept apart."""
        who = _session_key(caller) if self._own is not None else ""
        return self._own(who) if self._own is not None and who else self._upstream


def _session_key(caller: Caller) -> str:
    """What a caller's own session is found by: its conversation, else its person.

    Empty outside a conversation for the user of this machine and their delegates, who use the shared session then.
    """
    at_home = caller.principal == LOCAL or caller.principal.startswith(f"{LOCAL}/")
    return caller.session or ("" if at_home else f"of {caller.principal}")


def _is_plain(call: Call, session: Session) -> bool:
    """Whether one request and one answer are enough: both sides speak the handshake era, and want progress at most."""
    talk = call.talk
    if call.more or talk.level or talk.carried or call.tool.task == "required":
        return False
    return call.caller.era is _HANDSHAKE and session.peer.era is _HANDSHAKE
