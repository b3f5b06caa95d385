"""One HTTP request that was let in: its headers, its caller, and both directions of its connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from clawft.gateway.http.access import AccessRefusal
from clawft.link import asgi
from clawft.link.arrival import Arrival
from clawft.link.asgi import Header, Send
from clawft.link.households import household
from clawft.link.share.load import Load
from clawft.model import Caller
from clawft.wire.headers import Headers, Route


class HeaderLook(Struct, frozen=True):
    """What the headers of a request tell before anything else of it is looked at."""

    headers: Headers
    stateless: bool
    repeated: str
    """A header that routes and occurs twice."""
    route: Route | None
    """Where they lead, if they say so in the usual way."""
    out_of_place: AccessRefusal | None
    """Why this host or origin is refused."""
    unfit: AccessRefusal | None
    """Why a message cannot be posted with these."""


class Visit:
    __slots__ = ("_arrival", "caller", "headers", "look")

    def __init__(self, arrival: Arrival, look: HeaderLook, caller: Caller) -> None:
        self.look = look
        self.headers = look.headers
        self.caller = caller
        self._arrival = arrival

    @property
    def send(self) -> Send:
        return self._arrival.send

    @property
    def method(self) -> str:
        return self._arrival.head.method

    def whole_body(self, limit: int) -> bytes | None:
        """The body, if it is all there. Raises MessageTooLong above the limit."""
        body = self._arrival.take_body()
        return None if body is None else asgi.within(limit, body)

    def body(self, limit: int) -> Awaitable[bytes]:
        """The whole body. Raises MessageTooLong above the limit, LinkClosed if the caller leaves."""
        return asgi.read_body(self._arrival.receive, limit)

    def large_body(self, limit: int, load: Load) -> Awaitable[bytes]:
        """The whole body of a large request, counted as it comes. Raises Busy where there is no room for it."""
        return asgi.read_large(self._arrival.receive, limit, load)

    def announced(self) -> int:
        """How long the body will be; -1 where that is not said."""
        length = self.headers.get(b"content-length", b"")
        return int(length) if length.isdigit() else -1

    def place(self) -> str:
        """Where it comes from."""
        client = self._arrival.client
        return household(client[0]) if client else "here"

    def answer(self, status: int, body: bytes = b"", headers: tuple[Header, ...] = ()) -> Awaitable[None] | None:
        """One whole answer; None if it is on its way already."""
        if self._arrival.answer(status, headers, body):
            return None
        return asgi.answer(self.send, status, body, headers)

    def answer_at_once(self, status: int, body: bytes, headers: tuple[Header, ...]) -> bool:
        """False if that cannot be, because the caller has left for example."""
        return self._arrival.answer(status, headers, body)

    def has_left(self) -> bool:
        """Whether the caller has, as far as is known; `watch` finds out."""
        return self._arrival.gone

    def watch(self, gone: Callable[[], object]) -> Callable[[], object]:
        """Have `gone` called when the caller leaves; call what this returns when that is no longer of interest."""
        return self._arrival.tell_when_gone(gone)

    def listen(self) -> None:
        """Only news come from here on; see `Arrival`."""
        self._arrival.listen()
