"""Server-sent events, both ways. Pure."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

from msgspec import Struct

from clawft.errors import MessageTooLong
from clawft.wire.framing import DEFAULT_LIMIT, HEAD_BYTES, one_line

KEEP_ALIVE = b": keep-alive\r\n\r\n"
END = b"\r\n\r\n"
"""Of an event."""

TOO_LONG = "(too long)"
"""The name of what stands where an event was that is skipped to its end."""

_HEAD = HEAD_BYTES + len("data: ")


class SseEvent(Struct, frozen=True):
    data: str
    event: str = "message"
    id: str | None = None
    retry: int | None = None


def frame(message: bytes, id: str = "") -> bytes:
    """One JSON message as one event."""
    return b"".join((begin(id), one_line(message), END))


def begin(id: str = "") -> bytes:
    """The bytes before the message, which has to be one line; `END` stands behind it."""
    mark = b"id: " + id.encode() + b"\r\n" if id else b""
    return mark + b"event: message\r\ndata: "


def priming(id: str) -> bytes:
    """An event without data: it only tells the reader where it stands, so that it can resume."""
    return b"id: " + id.encode() + b"\r\ndata: \r\n\r\n"


def retry(milliseconds: int) -> bytes:
    return b"retry: %d\r\n\r\n" % milliseconds


class EventReader:
    """Feed it chunks; it yields events. CR, LF and CRLF all end a line, also across chunks.

    `skips`: of an event, or a comment, above the limit only the beginning is given, as the data of a `TOO_LONG`.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT, *, skips: bool = False) -> None:
        self.limit = limit
        self._skips = skips
        self._skipping = False
        self._skipped: list[SseEvent] = []
        self._begun = False
        """Whether there is anything on the line that is not whole yet, of an event that is skipped."""
        self._held = bytearray()
        self._mark = BOM_UTF8
        """The mark that a stream may begin with; some programs write it before all they write."""
        self._after_cr = False
        self._fields: dict[str, str] = {}
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Raises MessageTooLong for an event, or a comment, above the limit, unless it skips them."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of a CRLF that was split
            self._after_cr = False
        if not chunk:
            return
        self._after_cr = chunk[-1:] == b"\r"
        lines = chunk.splitlines()
        tail = b"" if chunk[-1:] in b"\r\n" else lines.pop()
        for line in lines:
            yield from self._line(line)
        self._hold(tail)
        yield from self._take_skipped()

    @property
    def held(self) -> int:
        """Bytes of the event that is not whole yet."""
        return self._size + len(self._held)

    def clear(self) -> None:
        """Let go of the event that is not whole."""
        self._held, self._fields, self._data, self._size = bytearray(), {}, [], 0

    def _hold(self, part: bytes) -> None:
        if part and not self._skipping and self._fits(len(self._held) + len(part), part):
            self._held += part
        elif part:
            self._begun = True

    def _line(self, last: bytes) -> Iterator[SseEvent]:
        if self._skipping:
            self._skipping = last != b"" or self._begun  # a line with nothing on it ends what is skipped
            self._begun = False
        elif self._fits(len(self._held) + len(last), last):
            line = (b"".join((self._held, last)) if self._held else last).removeprefix(self._mark)
            self._held, self._mark = bytearray(), b""
            if not line:
                yield from self._dispatch()
            elif not line.startswith(b":"):
                self._field(line)
        yield from self._take_skipped()

    def _take_skipped(self) -> Iterator[SseEvent]:
        """Report at once that something is skipped: its end may never come."""
        skipped, self._skipped = self._skipped, []
        yield from skipped

    def _field(self, line: bytes) -> None:
        if not self._fits(self._size + len(line), line):
            return
        self._size += len(line)
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name in ("event", "id", "retry"):
            self._fields[name] = value

    def _dispatch(self) -> Iterator[SseEvent]:
        fields, data = self._fields, self._data
        self._fields, self._data, self._size = {}, [], 0
        if not fields and not data:
            return
        retry = fields.get("retry", "")
        yield SseEvent(
            data="\n".join(data),
            event=fields.get("event") or "message",
            id=fields.get("id"),
            retry=int(retry) if retry.isascii() and retry.isdigit() and len(retry) < 10 else None,
        )

    def _fits(self, size: int, part: bytes) -> bool:
        """If not, all of it is let go, but for the beginning of its data."""
        if size <= self.limit:
            return True
        if not self._skips:
            raise MessageTooLong(f"an event is longer than {self.limit} bytes")
        name, _, value = (bytes(self._held[:_HEAD]) + part[:_HEAD]).decode(errors="replace").partition(":")
        head = [*self._data, value.removeprefix(" ") if name == "data" else ""][0]
        self.clear()
        self._skipping = True
        self._skipped.append(SseEvent(head[:HEAD_BYTES], TOO_LONG))
        return False
