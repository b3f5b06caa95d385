"""Bytes of one HTTP/1.1 connection into requests: the parser, and the bounds of a head and of a body.

The parser cannot be halted between two requests, so it is fed little at a time; what it finds goes into `found`.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from httptools.parser.errors import HttpParserCallbackError

from clawft.link.http_in.exchange import BROKEN, HttpExchange
from clawft.link.http_in.head import Head, KnownHeads, Limits, Refusal, read_head, too_long, too_much_head

SLICE_BYTES: Final = 4096
"""How much is parsed at once: bounds the requests that one read can bring."""
FRAMING_FACTOR: Final = 2
"""A chunked body may take this many times the body limit on the wire; the rest would be chunk extensions."""
MANY_PIECES: Final = 64
"""Pieces of a chunked body in one slice. More of them are so small that parsing them would take all our time."""
PREFACE: Final = Refusal(505, "HTTP/2 is not spoken here; use HTTP/1.1")

log = logging.getLogger("clawft.http")


class ParsingRefused(Exception):
    """Ends a parser callback; the reason is in `refusal`."""


class RequestReader:
    """`found`: requests in order. `reading`: the last of them while its body comes in. `refusal`: why reading ended.

    After a refusal, or after a request that ends the connection (`last`), no more bytes are to be fed.
    """

    def __init__(self, limits: Limits, known: KnownHeads, begin: Callable[[Head], HttpExchange]) -> None:
        self.found: deque[HttpExchange] = deque()
        self.reading: HttpExchange | None = None
        self.in_head = False
        self.refusal: Refusal | None = None
        self.last = False
        self._limits = limits
        self._known = known
        self._begin = begin
        self._parser = HttpRequestParser(self)
        self._resuming = False
        self._unparsed = False
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        self._head_wire_bytes = 0
        self._wire_bytes = 0
        self._barren_bytes = 0
        self._received = 0
        self._pieces_in_slice = 0

    def close(self) -> None:
        """Nothing more will be fed. It lets go of those it knows and who know it: then all are gone at once."""
        self.reading = None
        self.found.clear()
        self._parser = HttpRequestParser(None)
        self._begin = _nobody

    @property
    def in_tiny_pieces(self) -> bool:
        """Whether the last slice held a body in tiny pieces."""
        return self._pieces_in_slice > MANY_PIECES

    def whole(self, data: bytes) -> tuple[Head, bytes] | None:
        """The head and body that `data` is, if it is just one request, between two, whose head is known."""
        return self._known.whole(data) if self.reading is None and not self.in_head else None

    def feed(self, data: bytes | memoryview) -> int:
        """Read a slice of `data`; how many bytes were taken."""
        if self._unparsed:
            return self._take_body(data, 0)
        if self.reading is not None or self.in_head or not isinstance(data, bytes):
            return self._parse(data)
        known = self._known.find(data)
        if known is None:
            return self._parse_first(data)
        self._unparsed = True
        self._start(known[0])
        return self._take_body(data, known[1])

    def _take_body(self, data: bytes | memoryview, start: int) -> int:
        """The body behind a known head. Its length is all there is to know of it, so the parser never sees it."""
        exchange = self.reading
        if exchange is None:
            raise ParsingRefused
        end = start + exchange.head.length - exchange.received
        piece = bytes(data[start:end])
        if piece:
            exchange.take(piece)
        if exchange.received == exchange.head.length:
            self._unparsed = False
            self._finish(exchange)
        return start + len(piece)

    def _parse_first(self, data: bytes) -> int:
        """A head that we do not know; if it is a good one, we do from now on."""
        before = len(self.found)
        taken = self._parse(data)
        if len(self.found) > before:
            self._known.keep(data, self.found[before].head)
        return taken

    def _parse(self, data: bytes | memoryview) -> int:
        piece = data[: self._slice()]
        self._pieces_in_slice = 0
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade as stop:
            self._read_on()
            return int(stop.args[0])
        except HttpParserError as error:
            self._give_up(error)
        else:
            self._weigh(len(piece))
        return len(piece)

    def _slice(self) -> int:
        """Of a counted body as much as belongs to it; otherwise little, since each byte may start a request."""
        reading = self.reading
        return SLICE_BYTES if reading is None else max(SLICE_BYTES, reading.head.length - reading.received)

    def _read_on(self) -> None:
        """The parser took an Upgrade header for the end of HTTP. Let a new one read on, as if it had not been there."""
        length = self.reading.head.length if self.reading is not None else 0
        body = b"Transfer-Encoding: chunked" if length < 0 else b"Content-Length: %d" % length
        self._resuming = True
        self._parser = HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n\r\n" % body)

    def _give_up(self, error: HttpParserError) -> None:
        if self.refusal is None and not self.last:
            self.refusal = _reason(error)

    def _weigh(self, size: int) -> None:
        """Count what arrived and is not yet a whole head or a whole body."""
        if self.in_head:
            self._head_wire_bytes += size
            if self._head_wire_bytes > self._limits.head_bytes:
                self.refusal = too_much_head(self._limits)
        elif self.reading is not None:
            self._weigh_body(size, self.reading.received)

    def _weigh_body(self, size: int, received: int) -> None:
        """Chunk extensions and trailers are bytes too: few in a row, and not more of them than a body may have."""
        limits = self._limits
        self._wire_bytes += size
        self._barren_bytes = self._barren_bytes + size if received == self._received else 0
        self._received = received
        if self._barren_bytes > limits.head_bytes:
            self.refusal = too_much_head(limits)
        elif self._wire_bytes > FRAMING_FACTOR * limits.body_bytes + limits.head_bytes:
            self.refusal = too_long(limits)

    # The parser calls

    def on_message_begin(self) -> None:
        if self.last:
            raise ParsingRefused
        self._target = b""
        self._headers = []
        self._head_bytes = self._head_wire_bytes = 0
        self.in_head = True

    def on_url(self, part: bytes) -> None:
        self._target += part
        self._head_bytes += len(part)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self.in_head = False
        if self._resuming:
            self._resuming = False
            return
        parser, limits = self._parser, self._limits
        if self._head_bytes > limits.head_bytes or len(self._headers) > limits.headers:
            self._refuse(too_much_head(limits))
        head = read_head(parser.get_method(), parser.get_http_version(), self._target, tuple(self._headers), limits)
        if isinstance(head, Refusal):
            self._refuse(head)
        self._start(head)
        self._headers = []  # what comes from here on are trailers: weighed with the body, and dropped
        self._wire_bytes = self._barren_bytes = self._received = 0

    def _start(self, head: Head) -> None:
        self.reading = self._begin(head)
        self.found.append(self.reading)

    def on_body(self, piece: bytes) -> None:
        exchange = self.reading
        if exchange is None:
            raise ParsingRefused
        exchange.take(piece)
        self._pieces_in_slice += 1
        if exchange.received > self._limits.body_bytes:
            self._refuse(too_long(self._limits))

    def on_message_complete(self) -> None:
        exchange = self.reading
        if exchange is None or (exchange.head.upgrade and self._parser.should_upgrade()):
            return
        self._finish(exchange)

    def _finish(self, exchange: HttpExchange) -> None:
        self.reading = None
        self.last = not exchange.head.keep_alive
        exchange.complete()

    def _refuse(self, refusal: Refusal) -> NoReturn:
        self.refusal = refusal
        raise ParsingRefused


def _nobody(head: Head) -> NoReturn:
    raise ParsingRefused


def _reason(error: HttpParserError) -> Refusal:
    if isinstance(error, HttpParserCallbackError):
        log.error("reading a request failed", exc_info=error)
        return BROKEN
    return PREFACE if "PRI" in str(error) else Refusal(400, f"not a valid HTTP/1.1 request: {error}")
