"""Newline framing: chunks in, whole lines out. Pure, and the same for any split of the stream."""

from __future__ import annotations

from io import BytesIO

from msgspec import Struct

DEFAULT_LIMIT = 16 * 1024 * 1024
"""The longest message read, in bytes. Longer ones are skipped to their end and reported, the link lives on."""


def join_lines(messages: list[bytes]) -> bytes:
    """Each message on a line of its own."""
    joined = b"\n".join(messages)
    if joined.count(b"\n") >= len(messages) or b"\r" in joined:
        joined = b"\n".join([one_line(message) for message in messages])
    return joined + b"\n"


def end_lines(messages: list[bytes]) -> list[bytes]:
    """Each message on a line of its own, as pieces, without a copy of the messages."""
    return [piece for message in messages for piece in (one_line(message), b"\n")]


def one_line(message: bytes) -> bytes:
    """The message without a line end inside. JSON strings cannot hold one raw, so a blank says the same."""
    if b"\n" in message or b"\r" in message:
        return message.replace(b"\n", b" ").replace(b"\r", b" ")
    return message


HEAD_BYTES = 256
"""Of a line that is skipped: enough to tell whose it is."""


class TooLong(Struct, frozen=True):
    """Stands where a line was that is skipped to its end: it is longer than the limit."""

    head: bytes = b""
    given_up: bool = False
    """Whether it was given up because it did not end while others waited, however long it is."""


class LineFramer:
    """Feed it what was read; it gives lines without their ending, and TooLong once for each oversized one."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._begun = BytesIO()  # gives its bytes away without a copy
        self.held = 0
        """Bytes of the line that is not whole yet."""
        self._skipping = False
        self.blank = 0
        """Lines with nothing on them that were passed over; whoever minds sets it back."""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        if b"\n" not in data:
            return self._hold(data)
        *lines, tail = data.split(b"\n")
        found = self._finish(lines[0])
        for line in lines[1:]:
            if line[-1:] == b"}" and len(line) <= self.limit:  # as nearly every line: nothing to be seen to
                found.append(line)
            else:
                found += self._whole(line)
        return found + self._hold(tail) if tail else found

    def end(self) -> list[bytes | TooLong]:
        """The stream is over: what is held counts as a last line."""
        return self._finish(b"")

    def give_up(self) -> list[bytes | TooLong]:
        """Skip the line that is not whole yet."""
        return self._skip(b"", given_up=True)

    def _skip(self, last: bytes, *, given_up: bool = False) -> list[bytes | TooLong]:
        with self._begun.getbuffer() as begun:
            head = self._head(bytes(begun[:HEAD_BYTES]) + last[:HEAD_BYTES])
        self._begun = BytesIO()
        self.held = 0
        self._skipping = True
        return [TooLong(head, given_up)]

    def _head(self, line: bytes) -> bytes:
        """The beginning of a skipped line, the same however the stream was split: as much as the limit lets us know."""
        return line[: min(HEAD_BYTES, self.limit)]

    def _hold(self, part: bytes) -> list[bytes | TooLong]:
        if self._skipping:
            return []
        self.held += len(part)
        if self.held <= self.limit + 1:  # one more, as the last byte may be the CR of a line that just fits
            self._begun.write(part)
            return []
        return self._skip(part)

    def _finish(self, last: bytes) -> list[bytes | TooLong]:
        skipped, self._skipping = self._skipping, False
        if self.held:
            self._begun.write(last)
            last, self._begun = self._begun.getvalue(), BytesIO()
            self.held = 0
        return [] if skipped else self._whole(last)

    def _whole(self, line: bytes) -> list[bytes | TooLong]:
        if line[-1:] == b"\r":
            line = line[:-1]
        if len(line) > self.limit:
            return [TooLong(self._head(line))]
        if line and not line.isspace():
            return [line]
        self.blank += 1
        return []
