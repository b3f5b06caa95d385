"""One HTTP request, whichever server received it, and the way to answer it. Knows nothing of MCP.

Our own server hands over a whole body, takes a short answer whole and tells of a disconnect by plain calls. With any
other ASGI server the same is done message by message.
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


class HttpRequest(Protocol):
    @property
    def head(self) -> RequestHead: ...

    @property
    def client(self) -> Address | None:
        """The address of the client, if it is known."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected, as far as that is known without reading on."""
        ...

    @property
    def receive(self) -> Receive: ...

    @property
    def send(self) -> Send: ...

    def take_body(self) -> bytes | None:
        """The whole body, if it has arrived; `receive` has none left then."""
        ...

    def answer(self, status: int, headers: tuple[Header, ...], body: bytes) -> bool:
        """Send a short answer in one piece; False if it has to go through `send`."""
        ...

    def on_disconnect(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call this when the client disconnects, until the function that is returned has been called."""
        ...

    def listen(self) -> None:
        """Mark the request as one that waits for notifications and can come again: it is closed first when there are
        too many connections.
        """
        ...


class _Head(Struct, frozen=True):
    method: str
    path: str
    headers: Sequence[Header]


class AsgiRequest:
    """A request that another ASGI server has received."""

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

    def on_disconnect(self, callback: Callable[[], object]) -> Callable[[], object]:
        return Watch(self._receive, callback).stop

    def listen(self) -> None:
        """Nothing to do: that server decides which connections are closed."""
