"""Server-sent events, both ways. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from clawft.errors import MessageTooLong
from clawft.wire.framing import DEFAULT_LIMIT, one_line

KEEP_ALIVE = b": keep-alive\r\n\r\n"

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(Struct, frozen=True):
    data: str
    event: str = "message"
    id: str | None = None
    retry: int | None = None


def frame(message: bytes, id: str = "") -> bytes:
    """One JSON message as one event."""
    mark = b"id: " + id.encode() + b"\r\n" if id else b""
    return b"".join((mark, b"event: message\r\ndata: ", one_line(message), b"\r\n\r\n"))


def priming(id: str) -> bytes:
    """An event without data: it only tells the reader where it stands, so that it can resume."""
    return b"id: " + id.encode() + b"\r\ndata: \r\n\r\n"


def retry(milliseconds: int) -> bytes:
    return b"retry: %d\r\n\r\n" % milliseconds


class EventReader:
    """Feed it chunks; it yields events. CR, LF and CRLF all end a line, also across chunks."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._held = bytearray()
        self._after_cr = False
        self._fields: dict[str, str] = {}
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Raises MessageTooLong for an event, or a comment, above the limit."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of a CRLF that was split
            self._after_cr = False
        if not chunk:
            return
        self._after_cr = chunk[-1:] == b"\r"
        *lines, tail = _LINE_END.split(chunk)
        for line in lines:
            yield from self._line(line)
        self._hold(tail)

    @property
    def held(self) -> int:
        """Bytes of the event that is not whole yet."""
        return self._size + len(self._held)

    def clear(self) -> None:
        """Let go of the event that is not whole."""
        self._held, self._fields, self._data, self._size = bytearray(), {}, [], 0

    def _hold(self, part: bytes) -> None:
        if part:
            self._check(len(self._held) + len(part))
            self._held += part

    def _line(self, last: bytes) -> Iterator[Event]:
        if self._held:
            self._hold(last)
            line, self._held = bytes(self._held), bytearray()
        else:
            self._check(len(last))
            line = last
        if not line:
            yield from self._dispatch()
        elif not line.startswith(b":"):
            self._field(line)

    def _field(self, line: bytes) -> None:
        self._size += len(line)
        self._check(self._size)
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name in ("event", "id", "retry"):
            self._fields[name] = value

    def _dispatch(self) -> Iterator[Event]:
        fields, data = self._fields, self._data
        self._fields, self._data, self._size = {}, [], 0
        if not fields and not data:
            return
        retry = fields.get("retry", "")
        yield Event(
            data="\n".join(data),
            event=fields.get("event") or "message",
            id=fields.get("id"),
            retry=int(retry) if retry.isascii() and retry.isdigit() and len(retry) < 10 else None,
        )

    def _check(self, size: int) -> None:
        if size > self.limit:
            raise MessageTooLong(f"an event is longer than {self.limit} bytes")
