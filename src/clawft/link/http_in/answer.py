"""The bytes of an HTTP/1.1 answer: head, length or chunks. Pure."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from clawft.link.http_in.head import Refusal

BODYLESS: Final = frozenset((204, 304))
FEW_HEADERS: Final = 8
"""Answers with more headers are not worth remembering."""
OURS: Final = frozenset((b"connection", b"transfer-encoding", b"keep-alive", b"upgrade"))
"""Headers about the connection are the server's; what an application says about them is left out."""
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Framing(Struct, frozen=True):
    """How the body of one answer is told from what follows it."""

    head: bytes
    length: int
    """Bytes that must follow the head; -1 when chunks or the end of the connection tell."""
    chunked: bool
    keep_alive: bool


def frame(
    status: int, headers: Iterable[tuple[bytes, bytes]], *, body: int, whole: bool, modern: bool, keep_alive: bool
) -> Framing:
    """The head for an answer whose first `body` bytes are known; `whole` when these are all.

    Raises ValueError where the application's own words would break the framing.
    """
    lines = [_status_line(status)]
    length = -1
    for name, value in headers:
        low = name.lower()
        if low == b"content-length":
            length = _declared(value, status)
        elif low in OURS:
            keep_alive = keep_alive and not (low == b"connection" and value.lower() == b"close")
        else:
            lines.append(b"%b: %b\r\n" % (low, value))
    if length < 0 and whole:
        length = body
    chunked = length < 0 and modern and status not in BODYLESS
    keep_alive = keep_alive and (length >= 0 or chunked or status in BODYLESS)
    if chunked:
        lines.append(b"transfer-encoding: chunked\r\n")
    elif length >= 0 and status not in BODYLESS:
        lines.append(b"content-length: %d\r\n" % length)
    if not keep_alive:
        lines.append(b"connection: close\r\n")
    return Framing(_closed_head(lines), length, chunked, keep_alive)


@lru_cache(maxsize=512)
def known_frame(status: int, headers: tuple[tuple[bytes, bytes], ...], body: int, keep_alive: bool) -> Framing:
    """`frame` for whole answers over HTTP/1.1, remembered: most differ in their length only."""
    return frame(status, headers, body=body, whole=True, modern=True, keep_alive=keep_alive)


def _status_line(status: int) -> bytes:
    if not 200 <= status <= 599:
        raise ValueError(f"an application cannot answer with status {status}")
    return STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status


def _declared(value: bytes, status: int) -> int:
    if not value.isdigit():
        raise ValueError(f"content-length {value!r} is not a number")
    return 0 if status in BODYLESS else int(value)


def _closed_head(lines: list[bytes]) -> bytes:
    count = len(lines)
    head = b"".join(lines)
    if head.count(b"\n") != count or head.count(b"\r") != count or b"\0" in head:
        raise ValueError("a response header contains CR, LF or NUL")
    return head + b"\r\n"


def refusal_answer(refusal: Refusal) -> bytes:
    """A whole answer in plain text after which the connection ends."""
    body = refusal.text.encode() + b"\n"
    framing = frame(
        refusal.status,
        ((b"content-type", b"text/plain; charset=utf-8"),),
        body=len(body),
        whole=True,
        modern=True,
        keep_alive=False,
    )
    return framing.head + body
