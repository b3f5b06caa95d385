"""How many parts a message has: each member and each item costs many times its bytes once it is read. Pure."""

from __future__ import annotations

from collections.abc import Iterator

MAX_PARTS = 250_000
"""Members and items of one message, at any depth. A text is one, however many commas are in it."""
LONG = 2 * 1024 * 1024
"""Bytes below which nobody counts: all the parts that fit in there are no harm."""

_PIECE = 1024 * 1024
"""Bytes that are looked at in one go, so that counting takes no room itself."""
_MARKS = b",[{"
"""A part begins a list or an object, or follows a comma, or is the only one in what begins before it."""


def are_many(message: bytes, beyond: int = LONG) -> bool:
    """Whether it is longer than that, and has more of them than anybody should read. `message` is JSON."""
    if len(message) <= beyond:
        return False
    return _more(_pieces(message)) and _more(_without_texts(message))


def _more(pieces: Iterator[bytes]) -> bool:
    count = 0
    for piece in pieces:
        count += len(piece) - len(piece.translate(None, _MARKS))
        if count > MAX_PARTS:
            return True
    return False


def _pieces(message: bytes) -> Iterator[bytes]:
    return (message[at : at + _PIECE] for at in range(0, len(message), _PIECE))


def _without_texts(message: bytes) -> Iterator[bytes]:
    """Each piece without what stands between quotes."""
    inside = 0
    kept = b""
    for piece in _pieces(message):
        joined = kept + piece
        kept = b"\\" if (len(joined) - len(joined.rstrip(b"\\"))) % 2 else b""  # the rest of this escape comes next
        plain = joined[: len(joined) - len(kept)].replace(b"\\\\", b"").replace(b'\\"', b"")
        texts = plain.split(b'"')
        yield b"".join(texts[inside::2])
        inside ^= (len(texts) - 1) & 1
