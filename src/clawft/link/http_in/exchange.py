"""One request and its answer: what whoever serves it sees of them (see `link.http_request`), and the connection."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, Protocol

from clawft.link.http_in.answer import (
    BODYLESS,
    CONTINUE,
    FEW_HEADERS,
    LAST_CHUNK,
    Framing,
    frame,
    known_frame,
    refusal_answer,
)
from clawft.link.http_in.backlog import Backlog
from clawft.link.http_in.head import Head, Refusal
from clawft.link.http_request import Address

Message = MutableMapping[str, Any]
Serve = Callable[["HttpExchange"], Awaitable[None]]
"""Answers one request."""

PIECE_BYTES: Final = 64 * 1024
"""A longer body goes out in pieces of this size, each waiting until the client took the one before."""
_TAIL: Final = 4 * PIECE_BYTES  # of a body: more of it never waits in the transport
BROKEN: Final = Refusal(500, "the server failed to answer this request; its log says why")
STOPPED: Final = Refusal(503, "the server is stopping; the request may have taken effect")

log = logging.getLogger("clawft.http")


class ConnectionPeer(Protocol):
    """The parts of its connection that an exchange needs."""

    client: Address | None
    server: Address | None
    backlog: Backlog

    def write(self, data: bytes | memoryview) -> None: ...

    def read_more(self) -> None:
        """Go on reading the body, if reading was stopped."""


class HttpExchange:
    """Collects the body the connection reads, writes the answer the application sends."""

    __slots__ = (
        "_changed", "_delivered", "_framing", "_headers", "_left", "_pieces", "_status", "_tell",
        "began", "buffered", "ended", "expects", "gone", "head", "keep_alive", "listens", "peer", "received",
        "sending", "whole",
    )  # fmt: skip

    def __init__(self, peer: ConnectionPeer, head: Head, began: float, body: bytes | None = None) -> None:
        """`body`: where all of it is here already."""
        self.head = head
        self.began = began
        self.received = self.buffered = len(body) if body else 0
        self.sending = 0
        self.whole = body is not None
        self.expects = head.expects
        self.keep_alive = head.keep_alive
        self.gone = False
        self.ended = False
        self.listens = False
        self.peer = peer
        self._pieces: list[bytes] = [body] if body else []
        self._delivered = False
        self._changed: asyncio.Event | None = None
        self._status = 0
        self._headers: Iterable[tuple[bytes, bytes]] = ()
        self._framing: Framing | None = None
        self._left = 0
        self._tell: Callable[[], object] | None = None

    @property
    def client(self) -> Address | None:
        return self.peer.client

    # The connection's side

    @property
    def started(self) -> bool:
        return self._framing is not None

    def take(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.received += len(piece)
        self.buffered += len(piece)
        self.wake()

    def complete(self) -> None:
        self.whole = True
        self.expects = False
        self.wake()

    def leave(self) -> None:
        """The client has gone: `receive` says so, `send` raises."""
        self.gone = True
        self.wake()
        if self._tell is not None:
            tell, self._tell = self._tell, None
            tell()

    def refuse(self, refusal: Refusal) -> bool:
        """Answer in the application's place. False when its own answer is under way and can only be cut off."""
        fresh = not self.started
        if fresh and not self.gone:
            self.peer.write(refusal_answer(refusal))
        self.keep_alive = False
        self.leave()
        return fresh

    def wake(self) -> None:
        if self._changed is not None:
            self._changed.set()

    # The application's side

    async def receive(self) -> Message:
        while not self._has_news():
            self._ask_for_more()
            self._changed = self._changed or asyncio.Event()
            self._changed.clear()
            await self._changed.wait()
        if self._delivered or (self.gone and not self.whole):
            return {"type": "http.disconnect"}
        body = b"".join(self._pieces)
        self._pieces.clear()
        self.buffered = 0
        self._delivered = self.whole
        return {"type": "http.request", "body": body, "more_body": not self.whole}

    def _has_news(self) -> bool:
        if self.gone or self.ended:
            return True
        return not self._delivered and (self.whole or bool(self._pieces))

    def _ask_for_more(self) -> None:
        self.peer.read_more()
        if self.expects and not self.started:
            self.peer.write(CONTINUE)
        self.expects = False

    async def send(self, message: Message) -> None:
        if self.gone:
            raise ConnectionResetError("the client has disconnected")
        if message["type"] == "http.response.body":
            await self._send_body(message.get("body", b""), message.get("more_body", False))
        elif message["type"] == "http.response.start":
            self._start(message)
        else:
            raise ValueError(f"an HTTP answer has no message of type {message['type']!r}")

    def _start(self, message: Message) -> None:
        if self._status:
            raise RuntimeError("http.response.start was sent twice")
        self._status = message["status"]
        self._headers = message.get("headers", ())

    async def _send_body(self, body: bytes, more: bool) -> None:
        if not self._status or self.ended:
            raise RuntimeError("http.response.body before http.response.start, or after the end of the answer")
        framing = self._framing
        prefix = b""
        if framing is None:
            framing = self._frame(len(body), whole=not more)
            prefix = framing.head
        if self.head.method == "HEAD" or self._status in BODYLESS:
            body, suffix = b"", b""
        elif framing.chunked:
            prefix, suffix = _chunk(prefix, len(body), last=not more)
        else:
            suffix = b""
            self._count(len(body), framing, last=not more)
        self._framing = framing
        await self._write(prefix, body, suffix, last=not more)

    def _frame(self, size: int, *, whole: bool) -> Framing:
        # With a body still coming in, the rest of it would be read as the next request's bytes: better to close.
        keep_alive = self.keep_alive and self.whole
        modern = self.head.version == "1.1"
        headers = self._headers
        if whole and modern and isinstance(headers, tuple) and len(headers) <= FEW_HEADERS:
            framing = known_frame(self._status, headers, size, keep_alive)
        else:
            framing = frame(self._status, headers, body=size, whole=whole, modern=modern, keep_alive=keep_alive)
        self.keep_alive = framing.keep_alive
        self._left = framing.length
        return framing

    def _count(self, size: int, framing: Framing, *, last: bool) -> None:
        if framing.length < 0:
            return
        self._left -= size
        if self._left < 0 or (last and self._left):
            raise RuntimeError(f"the body is not the {framing.length} bytes that content-length promised")

    async def _write(self, prefix: bytes, body: bytes, suffix: bytes, *, last: bool) -> None:
        peer = self.peer
        if len(body) <= PIECE_BYTES:
            peer.write(b"".join((prefix, body, suffix)))
        else:
            await self._write_pieces(prefix, memoryview(body), suffix)
        if last:
            self.ended = True
            self.wake()
        elif peer.backlog.since:
            await peer.backlog.wait_for_room()

    async def _write_pieces(self, prefix: bytes, body: memoryview, suffix: bytes) -> None:
        peer = self.peer
        self.sending = len(body)  # all of it is kept until the last piece was taken
        peer.write(prefix)
        for at in range(0, len(body), PIECE_BYTES):
            piece = body[at : at + PIECE_BYTES]
            # The last of them may wait in the transport long after we have gone, and a part of it would keep it whole.
            peer.write(piece if at < len(body) - _TAIL else bytes(piece))
            if peer.backlog.since:
                await peer.backlog.wait_for_room()
        self.sending = 0
        peer.write(suffix)

    # Without ASGI's messages: a body that is here, an answer in one piece

    def take_body(self) -> bytes | None:
        if not self.whole or self._delivered:
            return None
        self._delivered = True
        self.buffered = 0
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def answer(self, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes) -> bool:
        if self.gone or self._status or len(body) > PIECE_BYTES or self.head.method == "HEAD" or status in BODYLESS:
            return False
        self._status = status
        self._headers = headers
        self._framing = framing = self._frame(len(body), whole=True)
        self.peer.write(framing.head + body)
        self.ended = True
        if self._changed is not None:
            self._changed.set()
        return True

    def on_disconnect(self, callback: Callable[[], object]) -> Callable[[], object]:
        self._tell = callback
        if self.gone:
            callback()
        return self._tell_nobody

    def listen(self) -> None:
        self.listens = True

    def _tell_nobody(self) -> None:
        self._tell = None

    # The end

    def crash(self, error: Exception) -> None:
        """The application raised. Said to the log in full, to the client without a word about the inside."""
        if self.gone and isinstance(error, OSError):
            return
        log.error("%s %s failed", self.head.method, self.head.path, exc_info=error)
        self.keep_alive = False

    def interrupt(self) -> None:
        """The application was ended before it had answered: our loop stops."""
        if not self.started:
            self.refuse(STOPPED)

    def settle(self) -> bool:
        """The application is done. False when its answer breaks off in the middle and the client must notice."""
        self._pieces.clear()  # what it did not want is not kept until somebody collects the garbage
        if self.ended or self.gone:
            return True
        if self.started:
            return False
        self.keep_alive = False
        self.peer.write(refusal_answer(BROKEN))
        return True


def _chunk(prefix: bytes, size: int, *, last: bool) -> tuple[bytes, bytes]:
    """The bytes before and after those of one chunk; an empty chunk would end the body, so it is left out."""
    end = LAST_CHUNK if last else b""
    if not size:
        return prefix, end
    return b"%b%x\r\n" % (prefix, size), b"\r\n" + end
