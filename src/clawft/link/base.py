"""The promise of every link to a server: send requests and notifications, answer the server's requests, close."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from msgspec import Struct

from clawft.errors import LinkError, MessageTooLong
from clawft.link.deadline import Deadline
from clawft.link.faults import Faults
from clawft.wire.correlate import Waiter
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response

if TYPE_CHECKING:  # only a link of that kind starts one
    from clawft.link.process import Child

LinkKind = Literal["stdio", "http", "sse", "sdk"]


class OutgoingRequest(Struct, frozen=True, gc=False):
    """One request on its way out.

    `revision`, `name` and `mirrored` are what stateless HTTP says again in headers; handshake requests have none.
    """

    method: str
    params: bytes = b""
    revision: str = ""
    name: str = ""
    mirrored: tuple[tuple[str, str], ...] = ()


Incoming = Callable[[Request | Notification, int | None], None]
"""Called with what a server sends by itself, and the id of our request on whose stream it came, if known."""

Lost = Callable[[LinkError], None]
"""Called once when the link is lost without having been closed."""


class Credentials(Protocol):
    """The login to one server, as a link uses it."""

    def ready(self) -> str | None:
        """The Authorization header if it can be had at once (empty: none); None if it has to be waited for."""
        ...

    async def authorization(self) -> str: ...

    async def challenged(self, status: int, header: str, sent: str) -> bool:
        """The server needs a login, or a better one. True: send it again, with the header there is now."""
        ...


@runtime_checkable
class Posting(Protocol):
    """A link that takes requests without a task that waits for their answers."""

    def post(self, rest: bytes, waiter: Waiter[Response | Failure]) -> bytes:
        """Send a request, given as all that follows its id; returns the id. Raises LinkError if the link is gone."""
        ...

    def withdraw(self, id: bytes, details: bytes = b"") -> None:
        """Cancel a request: its answer is dropped, and the server is told."""
        ...


def details_of(ended: BaseException) -> bytes:
    """The JSON object with which a caller cancelled its request, from the exception that ended the task."""
    details = ended.args[0] if ended.args else b""
    return details if isinstance(details, bytes) else b""


def is_list(method: str) -> bool:
    """Whether the method asks for a list, of which the good entries are kept even if others are broken."""
    return method.endswith("/list")


def too_long(who: str, limit: int) -> MessageTooLong:
    """The error for a message that a server has sent."""
    return MessageTooLong(
        f"{who} sent a message longer than {limit} bytes", hint="max_message in the entry of this server raises that"
    )


class Link(Protocol):
    kind: LinkKind

    @property
    def child(self) -> Child | None:
        """The process at the other end, if we have started one."""
        ...

    @property
    def refused_notice(self) -> str:
        """The last notification that the server did not take, for its status."""
        ...

    @property
    def faults(self) -> Faults: ...

    async def open(self, incoming: Incoming, lost: Lost) -> None: ...

    def settled(self, revision: str) -> None:
        """The handshake is done: from now on this revision is spoken."""
        ...

    async def request(self, outgoing: OutgoingRequest, deadline: Deadline | None = None) -> Response | Failure:
        """If the wait is cancelled, or the deadline passes, the server is told in the way of its transport."""
        ...

    async def notify(self, method: str, params: bytes = b"") -> None: ...

    async def answer(self, message: bytes) -> None:
        """Answer a request of the server's."""
        ...

    async def close(self) -> None: ...
