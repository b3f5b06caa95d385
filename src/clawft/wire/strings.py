"""Strings of JSON that may be very long: cut to what somebody may have to read, or taken apart piece by piece. Pure.

A text in Python may take four times the room it took on the wire, so no long one is made into a text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw

PIECE = 64 * 1024

_BROKEN_END = re.compile(rb"\\u[0-9a-fA-F]{0,3}\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u?[0-9a-fA-F]{0,3})?\Z")
_ESCAPE = re.compile(rb"\\")
_BACKSLASHES = re.compile(rb"\\+\Z")
_string = msgspec.json.Decoder(str)


def clipped(text: str, most: int) -> str:
    """At most so many characters, and then how many are missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"


def clipped_json(value: Raw, most: int) -> str:
    """A JSON value as text, the first so many bytes of it: of a string what it says, of all else how it is spelled."""
    whole = memoryview(value)
    head = bytes(whole[: most + 2])
    is_string = head[:1] == b'"'
    if len(whole) <= len(head):
        return _string.decode(head) if is_string else head.decode()
    piece = head[is_string : most + is_string].decode(errors="ignore").encode()
    text = _string.decode(b'"' + _unbroken(piece) + b'"') if is_string else piece.decode()
    return f"{text}… ({len(whole) - most} more bytes)"


def is_escaped(inside: memoryview) -> bool:
    return _ESCAPE.search(inside) is not None


def unescaped(inside: memoryview) -> bytes:
    """What stands between the quotes of a JSON string, as UTF-8 without escapes. Raises DecodeError."""
    return b"".join(_said(inside))


def _said(inside: memoryview) -> Iterator[bytes]:
    at = 0
    while at < len(inside):
        piece = bytes(inside[at : at + PIECE])
        if at + PIECE < len(inside):
            piece = _unbroken(piece.decode(errors="ignore").encode())
        at += len(piece)
        yield _string.decode(b'"' + piece + b'"').encode() if b"\\" in piece else piece


def _unbroken(piece: bytes) -> bytes:
    """Without half an escape at its end."""
    piece = _BROKEN_END.sub(b"", piece)
    last = _BACKSLASHES.search(piece)
    return piece[:-1] if last is not None and len(last.group()) % 2 else piece
