"""A conversation with one server, in whichever era it speaks. Found by probing, remembered by whoever asks.

After `connect` both eras look alike: `request` gives the bare result, lists come whole, notices and questions of the
server go to the listener.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import msgspec
from msgspec import UNSET, Raw

from clawft._version import __version__
from clawft.errors import (
    INTERNAL_ERROR,
    UNSUPPORTED_REVISION,
    JsonRpcFailure,
    LinkError,
    LinkRefused,
    ProcessExited,
    ProtocolFailure,
    RequestTimeout,
    SessionLost,
)
from clawft.link.base import Link, OutgoingRequest, Posting
from clawft.link.faults import Faults
from clawft.link.patience import Patience
from clawft.model import Era, Tool
from clawft.upstream.session.paging import TakePage, read_pages
from clawft.upstream.session.peer import (
    Peer,
    UnfinishedResult,
    read_discover,
    read_initialize,
    read_wanted,
    supported_by,
)
from clawft.upstream.session.questions import Questions
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from clawft.wire.methods import names_by_header
from clawft.wire.revisions import HANDSHAKE, NEWEST_HANDSHAKE, STATELESS

if TYPE_CHECKING:  # loaded with the first server over stateless HTTP
    from clawft.upstream.session.mirrored_arguments import Mirrors

CONNECT_SECONDS = 30.0
PROBE_SECONDS = 10.0
REQUEST_SECONDS = 30.0
MAX_ROUNDS = 16
"""How often a stateless server may come back with questions before it must give its result."""

NO_SUCH_FORM = (400, 404, 405, 406, 415, 422, 500, 501)
"""HTTP statuses by which a server shows that it does not speak a dialect; others say nothing about that."""

BAD_REQUEST = 400
"""How a server of the handshake era refuses over HTTP what is sent outside of a session."""

log = logging.getLogger("clawft.upstream")

CLIENT_INFO = {"name": "clawft", "version": __version__}

_encode = msgspec.json.encode
_object = msgspec.json.Decoder(dict[str, Raw])


class SessionListener(Protocol):
    """Whoever lives with the session: told of notices, asked the server's questions, told when it is lost."""

    def noticed(self, notification: Notification, stream: int | None) -> None: ...

    async def asked(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        """The result for a request of the server's; raises JsonRpcFailure to refuse it."""
        ...

    def lost(self, error: LinkError) -> None: ...


class Session:
    def __init__(self, link: Link, listener: SessionListener, capabilities: Mapping[str, Any] | None = None) -> None:
        self.link = link
        self.posting = link if isinstance(link, Posting) else None
        """The link, if it takes requests that no task waits for."""
        self._listener = listener
        self._capabilities = dict(capabilities or {})
        self._questions = Questions(link, self._answer_to)
        self.peer = Peer(Era.HANDSHAKE, NEWEST_HANDSHAKE)
        self._was_pinged = False
        self._asked = 0
        self.broken_streams = 0
        """Subscriptions that did not hold."""
        self._probing = False
        self.ended_at_probe = False
        """The program ended when it was asked for its era: it may be one that wants to hear `initialize` first."""
        self._doubt = ""
        """Why an answer was no proof of a stateless peer."""

    # ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def connect(self, known: Era | None = None, pinned: Era | None = None) -> Peer:
        """Open the link and find the era; `known` is what this server spoke last time and is tried first.

        `pinned` is the only one that is tried at all.
        """
        await self.link.open(self._incoming, self._lost)
        if pinned is Era.STATELESS:
            self.peer = await self._discover() or _speaks_none(self._doubt)
        elif self.link.kind == "sse" or pinned is Era.HANDSHAKE:  # SSE is older than the stateless era
            self.peer = await self._initialize()
        elif known is Era.HANDSHAKE:
            self.peer = await self._initialize_as_before()
        else:
            self.peer = await self._probe(known) or await self._initialize_or_discover()
        return self.peer

    async def _probe(self, known: Era | None) -> Peer | None:
        """The first question to a server of which nothing is known, or that it was stateless."""
        self._probing = True
        try:
            return await self._discover()
        except ProcessExited:
            self.ended_at_probe = known is None
            raise
        finally:
            self._probing = False

    def _lost(self, error: LinkError) -> None:
        """Who probes hears of it as the answer, and may begin again."""
        if not self._probing:
            self._listener.lost(error)

    async def _discover(self, version: str = STATELESS[-1], *, again: bool = False) -> Peer | None:
        """The stateless peer, or None if there is no proof of one. A refused version is tried once more, if mutual."""
        probe = self._outgoing_stateless("server/discover", {}, version)
        try:
            answer = await self.link.request(probe, Patience("server/discover", PROBE_SECONDS))
        except (RequestTimeout, ProtocolFailure):
            return None
        except LinkRefused as refused:
            if refused.http_status not in NO_SUCH_FORM:
                raise
            return None
        if isinstance(answer, Response):
            return self._proven(answer.result)
        mutual = supported_by(answer)
        return await self._discover(mutual, again=True) if mutual and not again else None

    def _proven(self, discovered: bytes) -> Peer | None:
        try:
            return read_discover(discovered)
        except ProtocolFailure as unproven:
            self._doubt = unproven.message
            return None

    async def _initialize_as_before(self) -> Peer:
        """This server spoke the handshake dialect last time; if it does no more, we look again from the beginning."""
        try:
            return await self._initialize()
        except (JsonRpcFailure, LinkRefused, ProtocolFailure):
            peer = await self._discover()
            if peer is None:
                raise
            return peer

    async def _initialize_or_discover(self) -> Peer:
        """The handshake; a server that has locked itself to the stateless era says so, and is asked again there."""
        try:
            return await self._initialize()
        except JsonRpcFailure as refused:
            peer = await self._discover() if refused.error_code == UNSUPPORTED_REVISION else None
            if peer is None:
                raise self._with_doubt(refused) from None
            return peer

    def _with_doubt(self, refused: JsonRpcFailure) -> JsonRpcFailure:
        """Who is of the stateless era, and does not show it well, refuses the handshake for a reason that is none."""
        said = f"{refused.message}; {self._doubt}" if self._doubt else refused.message
        return JsonRpcFailure(refused.error_code, said, refused.error_data)

    async def _initialize(self) -> Peer:
        params = _encode(
            {"protocolVersion": NEWEST_HANDSHAKE, "capabilities": self._capabilities, "clientInfo": CLIENT_INFO}
        )
        answer = await self.link.request(OutgoingRequest("initialize", params), Patience("initialize", CONNECT_SECONDS))
        if isinstance(answer, Failure):
            raise answer.read()
        peer = read_initialize(answer.result)
        if peer.revision not in HANDSHAKE:
            raise ProtocolFailure(
                f"the server speaks {peer.revision or 'no revision it names'}, we speak {', '.join(HANDSHAKE)}",
                hint="a newer clawft, or another version of the server, may know a common one",
            )
        self.link.settled(peer.revision)
        await self.link.notify("notifications/initialized")
        return peer

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
        answer = await self.link.request(outgoing, Patience(outgoing.method, seconds))
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
            key: await self._listener.asked(Request(b"0", asked.method, bytes(asked.params)), None)
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
        meta: dict[str, Any] = dict(members.get("_meta", {}))
        meta[metas.VERSION] = version
        meta[metas.CAPABILITIES] = self._capabilities if capabilities is None else capabilities
        meta[metas.CLIENT] = CLIENT_INFO
        name = members.get(names_by_header(method), "")
        if not isinstance(name, str):
            name = ""
        mirrored = self._mirrors.headers(name, members) if method == "tools/call" and self.mirrors_arguments else ()
        return OutgoingRequest(method, _encode({**members, "_meta": meta}), version, name, mirrored)

    async def list_tools(self) -> list[bytes]:
        """Every tool. Over stateless HTTP without those whose header annotations cannot be honoured."""
        tools: list[bytes] = []

        async def take(page: Sequence[Raw]) -> bool:
            tools.extend(map(bytes, page))
            return True

        await self.read_list("tools/list", "tools", take)
        return self._mirrors.learn(tools, bytes) if self.mirrors_arguments else tools

    def learn(self, tools: list[Tool]) -> list[Tool]:
        """The same of tools that were read."""
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
        """Is it alive, and does it speak as it did? `ping`, or `server/discover` where there is no ping.

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
        return refused.error_code == UNSUPPORTED_REVISION or (self._was_pinged and await self._discover() is not None)

    async def _is_stateless_no_more(self, refused: JsonRpcFailure | LinkRefused) -> bool:
        """What every stateless server knows is refused for a reason other than that something is broken there."""
        if isinstance(refused, LinkRefused):
            return refused.http_status == BAD_REQUEST
        return refused.error_code != INTERNAL_ERROR

    @property
    def faults(self) -> Faults:
        """What the server did wrong in this session."""
        own = Faults(refused=self._questions.refused, asked=self._asked, broken=self.broken_streams)
        return self.link.faults.plus(own)

    async def close(self) -> None:
        await self._questions.close()
        await self.link.close()

    # ── being asked ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _incoming(self, message: Request | Notification, stream: int | None) -> None:
        if isinstance(message, Request):
            self._take_request(message, stream)
            return
        try:
            self._notice(message, stream)
        except RecursionError:  # a link reads a little deeper than whoever reads on in the message
            log.warning("%s is nested too deeply to be heard", message.method[:100])

    def _notice(self, message: Notification, stream: int | None) -> None:
        if message.method != "notifications/cancelled" or not self._questions.withdraw(message):
            self._listener.noticed(message, stream)

    def _take_request(self, request: Request, stream: int | None) -> None:
        """Servers of the stateless era may send none, and their clients no answers: it is counted, and that is all."""
        if self.peer.era is not Era.STATELESS:
            self._questions.take(request, stream)
            return
        self._asked += 1
        if self._asked == 1:
            log.warning("a server asks for %s, which none of its era may: it gets no answer", request.method[:100])

    async def _answer_to(self, request: Request, stream: int | None) -> bytes:
        if request.method == "ping":
            return b"{}"
        return _encode(await self._listener.asked(request, stream))


def _speaks_none(doubt: str) -> NoReturn:
    raise ProtocolFailure(
        doubt or f"the server does not speak {STATELESS[-1]}", hint='its era is pinned; leave out era = "stateless"'
    )
