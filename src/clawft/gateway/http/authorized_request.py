"""One HTTP request whose caller is known: its headers, its caller, and both directions of its connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from clawft.gateway.http.access import AccessRefusal
from clawft.link import asgi
from clawft.link.asgi import Header, Send
from clawft.link.client_networks import network_of
from clawft.link.http_request import HttpRequest
from clawft.link.share.byte_limits import Reservation
from clawft.model import Caller
from clawft.wire.headers import Headers, Route


class HeaderChecks(Struct, frozen=True):
    """The checks that the headers alone decide. Remembered, as a client sends the same ones with every request."""

    headers: Headers
    stateless: bool
    repeated: str
    """The name of a routing header that occurs twice; empty if none does."""
    route: Route | None
    """The method and name that the routing headers give, if they are the usual ones."""
    place_refusal: AccessRefusal | None
    """Why this host or origin is refused."""
    post_refusal: AccessRefusal | None
    """Why a message cannot be posted with these."""


class AuthorizedRequest:
    __slots__ = ("_request", "caller", "checks", "headers")

    def __init__(self, request: HttpRequest, checks: HeaderChecks, caller: Caller) -> None:
        self.checks = checks
        self.headers = checks.headers
        self.caller = caller
        self._request = request

    @property
    def send(self) -> Send:
        return self._request.send

    @property
    def method(self) -> str:
        return self._request.head.method

    def whole_body(self, limit: int) -> bytes | None:
        """The body, if it is all there. Raises MessageTooLong above the limit."""
        body = self._request.take_body()
        return None if body is None else asgi.within(limit, body)

    def body(self, limit: int) -> Awaitable[bytes]:
        """The whole body. Raises MessageTooLong above the limit, LinkClosed if the caller leaves."""
        return asgi.read_body(self._request.receive, limit)

    def large_body(self, limit: int, load: Reservation) -> Awaitable[bytes]:
        """The whole body of a large request, counted as it comes. Raises Busy where there is no room for it."""
        return asgi.read_large(self._request.receive, limit, load)

    def announced_length(self) -> int:
        """The length of the body by its header; -1 if there is none."""
        length = self.headers.get(b"content-length", b"")
        return int(length) if length.isdigit() else -1

    def client_network(self) -> str:
        """The client's address, as far as it is counted."""
        client = self._request.client
        return network_of(client[0]) if client else "here"

    def answer(self, status: int, body: bytes = b"", headers: tuple[Header, ...] = ()) -> Awaitable[None] | None:
        """Send a whole answer; None if there is nothing to wait for."""
        if self._request.answer(status, headers, body):
            return None
        return asgi.answer(self.send, status, body, headers)

    def answer_at_once(self, status: int, body: bytes, headers: tuple[Header, ...]) -> bool:
        """Send a whole answer now. False if that is not possible, for example because the caller has disconnected."""
        return self._request.answer(status, headers, body)

    def is_disconnected(self) -> bool:
        """Whether the caller is known to have disconnected; `on_disconnect` finds out."""
        return self._request.gone

    def on_disconnect(self, gone: Callable[[], object]) -> Callable[[], object]:
        """Have `gone` called when the caller disconnects, until the function that is returned has been called."""
        return self._request.on_disconnect(gone)

    def listen(self) -> None:
        """From here on it only listens for notifications; see `HttpRequest.listen`."""
        self._request.listen()
