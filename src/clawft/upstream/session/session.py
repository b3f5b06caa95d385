"""A conversation with one server, in whichever era it speaks.

After `connect` both eras look alike: `request` gives the bare result, lists come whole, notices and questions of the
server go to the listener.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from clawft.errors import (
    INTERNAL_ERROR,
    UNSUPPORTED_REVISION,
    JsonRpcFailure,
    LinkError,
    LinkRefused,
    ProtocolFailure,
    SessionLost,
)
from clawft.link.base import Link, OutgoingRequest, Posting
from clawft.link.deadline import Deadline
from clawft.link.faults import Faults
from clawft.model import Era, Tool
from clawft.upstream.session.introduction import Introduction, about_us
from clawft.upstream.session.paging import FAILED_PAGE, TakePage, read_pages
from clawft.upstream.session.peer import Peer, UnfinishedResult, read_wanted
from clawft.wire.jsonrpc.messages import Failure, Notification, Request
from clawft.wire.methods import names_by_header
from clawft.wire.readable import why_unreadable
from clawft.wire.revisions import NEWEST_HANDSHAKE

if TYPE_CHECKING:  # loaded with the first server over stateless HTTP, and the first that asks
    from clawft.upstream.session.mirrored_arguments import Mirrors
    from clawft.upstream.session.questions import Questions

REQUEST_SECONDS = 30.0
MAX_ROUNDS = 16
"""How often a stateless server may ask questions before it must give its result."""

TOLD_UNHEARD = 5
"""Notifications of one session that cannot be passed on: so many are told one by one."""

BAD_REQUEST = 400
"""How a server of the handshake era refuses over HTTP what is sent outside of a session."""

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode
_object = msgspec.json.Decoder(dict[str, Raw])


class SessionListener(Protocol):
    """The owner of a session: the receiver of notifications, requests and the end of the link."""

    def on_notification(self, notification: Notification, stream: int | None) -> None: ...

    async def answer_request(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        """The result for a request of the server. Raises JsonRpcFailure to refuse it."""
        ...

    def on_lost(self, error: LinkError) -> None: ...


class Session:
    def __init__(
        self,
        link: Link,
        listener: SessionListener,
        capabilities: Mapping[str, Any] | None = None,
        name: str = "a server",
    ) -> None:
        self.link = link
        self._name = name
        self.posting = link if isinstance(link, Posting) else None
        """The link, if it takes requests that no task waits for."""
        self._listener = listener
        self._capabilities = dict(capabilities or {})
        self.introduction = Introduction(link, self._capabilities)
        self._questions: Questions | None = None
        self.peer = Peer(Era.HANDSHAKE, NEWEST_HANDSHAKE)
        self._was_pinged = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked = 0
        self._unheard = 0
        self.broken_streams = 0
        """Subscriptions that broke off soon."""

    async def connect(self, known: Era | None = None, pinned: Era | None = None) -> Peer:
        """Open the link and find the era; `known` is what this server spoke last time and is tried first.

        `pinned` is the only one that is tried at all.
        """
        await self.link.open(self._incoming, self._lost)
        self.peer = await self.introduction.meet(known, pinned)
        return self.peer

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def supports_tools(self) -> bool:
        return self.peer.supports("tools")

    def supports_resources(self) -> bool:
        return self.peer.supports("resources")

    def supports_prompts(self) -> bool:
        return self.peer.supports("prompts")

    async def request(
        self, method: str, members: Mapping[str, Any] | None = None, *, seconds: float = REQUEST_SECONDS
    ) -> bytes:
        """The bare result. Raises JsonRpcFailure for an error answer, RequestTimeout when none comes."""
        return await self._send(self.outgoing(method, members or {}), seconds)

    async def _send(self, outgoing: OutgoingRequest, seconds: float) -> bytes:
        answer = await self.link.request(outgoing, Deadline(outgoing.method, seconds))
        if isinstance(answer, Failure):
            raise answer.read()
        return answer.result

    async def send_raw(self, method: str, params: bytes = b"{}", *, seconds: float = REQUEST_SECONDS) -> bytes:
        """Any method with params as JSON; the bare result."""
        return await self.request(method, _object.decode(params), seconds=seconds)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, seconds: float = REQUEST_SECONDS
    ) -> bytes:
        """The whole result; questions of a stateless server are answered by the listener on the way."""
        members: dict[str, Any] = {"name": name, "arguments": Raw(_encode(arguments or {}))}
        return await self.complete("tools/call", members, await self.request("tools/call", members, seconds=seconds))

    async def complete(
        self, method: str, members: Mapping[str, Any], result: bytes, *, seconds: float = REQUEST_SECONDS
    ) -> bytes:
        """Ask again with answers for as long as this result, and the next, want to know something."""
        for _ in range(MAX_ROUNDS):
            wanted = read_wanted(result) if self.peer.era is Era.STATELESS else None
            if wanted is None:
                return result
            result = await self.request(method, {**members, **await self._answers_to(wanted)}, seconds=seconds)
        raise ProtocolFailure(f"{method}: the server still asks after {MAX_ROUNDS} rounds")

    async def _answers_to(self, wanted: UnfinishedResult) -> dict[str, Any]:
        answers = {
            key: await self._listener.answer_request(Request(b"0", asked.method, bytes(asked.params)), None)
            for key, asked in wanted.input_requests.items()
        }
        state = {} if wanted.request_state is UNSET else {"requestState": wanted.request_state}
        return {**state, "inputResponses": answers} if answers else state

    def outgoing(
        self, method: str, members: Mapping[str, Any], capabilities: Mapping[str, Any] | None = None
    ) -> OutgoingRequest:
        """`capabilities` are what the client of this very request can do; a handshake has settled that for all."""
        if self.peer.era is Era.STATELESS:
            return self._outgoing_stateless(method, members, self.peer.revision, capabilities)
        return OutgoingRequest(method, _encode(members) if members else b"")

    def _outgoing_stateless(
        self, method: str, members: Mapping[str, Any], version: str, capabilities: Mapping[str, Any] | None = None
    ) -> OutgoingRequest:
        about = about_us(version, self._capabilities if capabilities is None else capabilities)
        params = _encode({**members, "_meta": {**members.get("_meta", {}), **about}})
        name = members.get(names_by_header(method), "")
        if not isinstance(name, str):
            name = ""
        mirrored = self._mirrors.headers(name, members) if method == "tools/call" and self.mirrors_arguments else ()
        return OutgoingRequest(method, params, version, name, mirrored)

    async def list_tools(self) -> list[bytes]:
        """Every tool that can be had. Over stateless HTTP without those whose header annotations cannot be honoured."""
        tools: list[bytes] = []

        async def take(page: Sequence[Raw]) -> bool:
            tools.extend(map(bytes, page))
            return True

        try:
            await self.read_list("tools/list", "tools", take)
        except FAILED_PAGE:
            if not tools:
                raise
        return self._mirrors.learn(tools, bytes) if self.mirrors_arguments else tools

    def learn(self, tools: list[Tool]) -> list[Tool]:
        """The tools that can be called; over stateless HTTP their header annotations are known from now on."""
        return self._mirrors.learn(tools, lambda tool: tool.wire) if self.mirrors_arguments else tools

    @property
    def mirrors_arguments(self) -> bool:
        """In headers: then a tool has to be known before it is called."""
        return self.link.kind == "http" and self.peer.era is Era.STATELESS

    @cached_property
    def _mirrors(self) -> Mirrors:
        from clawft.upstream.session.mirrored_arguments import Mirrors  # pipes have no headers, most servers want none

        return Mirrors()

    async def read_list(self, method: str, member: str, take: TakePage, seconds: float = REQUEST_SECONDS) -> str:
        """Every item of a list, given to `take` page by page until it wants no more; why it was left before its end.

        `seconds` are for each page.
        """

        def ask(cursor: str | None) -> Awaitable[bytes]:
            return self.request(method, {} if cursor is None else {"cursor": cursor}, seconds=seconds)

        return await read_pages(method, member, ask, take)

    async def notify(self, method: str, params: bytes = b"") -> None:
        await self.link.notify(method, params)

    async def check(self, seconds: float) -> None:
        """Check that the server is alive and speaks the same era: `ping`, or `server/discover` where there is no ping.

        Raises SessionLost if it does not, and what it said if it refuses what it did not refuse before.
        """
        stateless = self.peer.era is Era.STATELESS
        try:
            await self.request("server/discover" if stateless else "ping", seconds=seconds)
            self._was_pinged = True
        except (JsonRpcFailure, LinkRefused) as refused:
            if await (self._is_stateless_no_more(refused) if stateless else self._is_stateless_now(refused)):
                raise SessionLost(f"the server does not speak the {self.peer.era.value} era any more") from None
            if stateless or self._was_pinged or isinstance(refused, LinkRefused):
                raise  # else an error is an answer, too: not every server knows `ping`

    async def _is_stateless_now(self, refused: JsonRpcFailure | LinkRefused) -> bool:
        """Over HTTP another version may take the place of a server, and refuse whatever is said as before."""
        if isinstance(refused, LinkRefused):
            return False
        if refused.error_code == UNSUPPORTED_REVISION:
            return True
        return self._was_pinged and await self.introduction.discover() is not None

    async def _is_stateless_no_more(self, refused: JsonRpcFailure | LinkRefused) -> bool:
        """Whether a method that every stateless server knows is refused for a reason other than a fault of
        the server.
        """
        if isinstance(refused, LinkRefused):
            return refused.http_status == BAD_REQUEST
        return refused.error_code != INTERNAL_ERROR

    @property
    def faults(self) -> Faults:
        """The faults of the server in this session."""
        refused = self._questions.refused if self._questions is not None else 0
        own = Faults(unreadable=self._unheard, refused=refused, asked=self._asked, broken=self.broken_streams)
        return self.link.faults.plus(own)

    def start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run this until it ends or the session does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end_tasks(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        if self._questions is not None:
            await self._questions.close()
        await self.link.close()

    # ── being asked ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _incoming(self, message: Request | Notification, stream: int | None) -> None:
        if isinstance(message, Request):
            self._take_request(message, stream)
            return
        if why := why_unreadable(message.params):
            self._pass_over(message.method, why)
        else:
            self._notice(message, stream)

    def _pass_over(self, method: str, why: str) -> None:
        self._unheard += 1
        if self._unheard <= TOLD_UNHEARD:
            log.warning("%s: %s is passed over: %s", self._name, method[:100], why)

    def _notice(self, message: Notification, stream: int | None) -> None:
        if message.method != "notifications/cancelled" or not self._withdraw(message):
            self._listener.on_notification(message, stream)

    def _withdraw(self, cancelled: Notification) -> bool:
        return self._questions is not None and self._questions.withdraw(cancelled)

    def _take_request(self, request: Request, stream: int | None) -> None:
        """Servers of the stateless era may send none, and their clients no answers: it is counted, and that is all."""
        if self.peer.era is not Era.STATELESS:
            self._open_questions().take(request, stream)
            return
        self._asked += 1
        if self._asked == 1:
            log.warning(
                "%s asks for %s, which servers of its era may not send; it is ignored", self._name, request.method[:100]
            )

    def _lost(self, error: LinkError) -> None:
        if not self.introduction.probing:
            self._listener.on_lost(error)

    def _open_questions(self) -> Questions:
        if self._questions is None:
            from clawft.upstream.session.questions import Questions  # most servers ask nothing

            self._questions = Questions(self.link, self._answer_to)
        return self._questions

    async def _answer_to(self, request: Request, stream: int | None) -> bytes:
        if request.method == "ping":
            return b"{}"
        return _encode(await self._listener.answer_request(request, stream))
