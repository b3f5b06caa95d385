"""One HTTP request that has come in, and the way back for its answer, whichever server took it. Knows nothing of MCP.

Our own server gives the whole body, a whole short answer and the news that the client has gone as plain calls. From
any other ASGI server the same things come message by message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from clawft.link.asgi import Header, Receive, Scope, Send, Watch

Address = tuple[str, int]


class RequestHead(Protocol):
    """The head of a request."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def headers(self) -> Sequence[Header]: ...


class Arrival(Protocol):
    @property
    def head(self) -> RequestHead: ...

    @property
    def client(self) -> Address | None:
        """Where it comes from, if that is known."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client is, as far as that is known without reading on."""
        ...

    @property
    def receive(self) -> Receive: ...

    @property
    def send(self) -> Send: ...

    def take_body(self) -> bytes | None:
        """The whole body, if it is here already. Then `receive` has none left."""
        ...

    def answer(self, status: int, headers: tuple[Header, ...], body: bytes) -> bool:
        """Give a short answer whole; False if it has to go through `send`."""
        ...

    def tell_when_gone(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Have it called when the client goes; what is returned takes that back."""
        ...

    def listen(self) -> None:
        """It waits for news, not for an answer, and can come again: it gives way when there are too many."""
        ...


class _Head(Struct, frozen=True):
    method: str
    path: str
    headers: Sequence[Header]


class FromAsgi:
    """A request that another server took."""

    __slots__ = ("_receive", "_send", "client", "head")

    gone = False

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"].removeprefix(scope.get("root_path", ""))
        self.head = _Head(scope["method"], path, scope["headers"])
        self.client: Address | None = scope.get("client")
        self._receive = receive
        self._send = send

    @property
    def receive(self) -> Receive:
        return self._receive

    @property
    def send(self) -> Send:
        return self._send

    def take_body(self) -> None:
        return None

    def answer(self, status: int, headers: tuple[Header, ...], body: bytes) -> bool:
        return False

    def tell_when_gone(self, callback: Callable[[], object]) -> Callable[[], object]:
        return Watch(self._receive, callback).stop

    def listen(self) -> None:
        """Whom it sends away is the business of that server."""
