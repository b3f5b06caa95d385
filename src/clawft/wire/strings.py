"""Strings of JSON that may be very long: cut to what somebody may have to read, or taken apart piece by piece. Pure.

A text in Python may take four times the room it took on the wire, so no long one is made into a text as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")
PIECE = 64 * 1024
MAX_MENDED_BYTES = 512 * 1024
"""Of a message that is searched for lone surrogates."""
MAX_LONE_SURROGATES = 1_000
"""In one message: one or two are an accident."""

_CLEAN = rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}){1,1000}"
_LONE_SURROGATE = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
"""A surrogate as an escape; where `_CLEAN` does not match, it is a lone one."""
_REPLACEMENT = rb"\ufffd"
_BROKEN_ESCAPE = rb"\\u[0-9a-fA-F]{0,3}\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u?[0-9a-fA-F]{0,3})?\Z"
_BROKEN_CHARACTER = rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
_LONGEST = len(rb"\ud83d\ude00")
_ESCAPE = re.compile(rb"\\")
_string = msgspec.json.Decoder(str)


def clipped(text: str, most: int) -> str:
    """At most so many characters, and then how many are missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"


def clipped_json(value: Raw, most: int) -> str:
    """A JSON value as text, the first so many bytes of it: of a string what it says, of all else how it is spelled."""
    view = memoryview(value)
    head = bytes(view[: most + 2])
    is_string = head[:1] == b'"'
    if len(view) <= len(head):
        return _string.decode(head) if is_string else head.decode()
    piece = head[is_string : most + is_string]
    text = _string.decode(b'"' + _unbroken(piece) + b'"') if is_string else piece.decode(errors="ignore")
    return f"{text}… ({len(view) - most} more bytes)"


def replace_lone_surrogates(message: bytes) -> bytes | None:
    """JSON with U+FFFD in place of each lone surrogate; None if it has none, or more than anybody means.

    A program that cuts its text within an emoji writes them. They are valid JSON, but UTF-8 cannot encode them.
    """
    if len(message) > MAX_MENDED_BYTES or not (rb"\ud" in message or rb"\uD" in message):
        return None
    pieces: list[bytes] = []
    clean, surrogate = re.compile(_CLEAN), re.compile(_LONE_SURROGATE)
    begin = at = 0
    while at < len(message) and len(pieces) <= 2 * MAX_LONE_SURROGATES:
        if found := clean.match(message, at):
            at = found.end()
        elif found := surrogate.match(message, at):
            pieces += (message[begin:at], _REPLACEMENT)
            begin = at = found.end()
        else:
            break
    is_mended = 0 < len(pieces) <= 2 * MAX_LONE_SURROGATES
    return b"".join((*pieces, message[begin:])) if is_mended else None


def decode_mended(decoder: msgspec.json.Decoder[T], message: bytes) -> T:
    """Decode JSON that is no message of the protocol, lone surrogates replaced. Raises DecodeError."""
    try:
        return decoder.decode(message)
    except msgspec.DecodeError:
        mended = replace_lone_surrogates(message)
        if mended is None:
            raise
        return decoder.decode(mended)


def is_escaped(inside: memoryview) -> bool:
    return _ESCAPE.search(inside) is not None


def unescaped(inside: memoryview) -> bytes:
    """The text between the quotes of a JSON string, as UTF-8 without escapes. Raises DecodeError."""
    text = BytesIO()  # gives its bytes away without a copy
    for piece in _unescaped_pieces(inside):
        text.write(piece)
    return text.getvalue()


def _unescaped_pieces(inside: memoryview) -> Iterator[bytes]:
    at = 0
    while at < len(inside):
        piece = first_piece(inside[at:])
        at += len(piece)
        yield _string.decode(b'"' + piece + b'"').encode() if b"\\" in piece else piece


def first_piece(whole: memoryview, most: int | None = None) -> bytes:
    """The beginning of JSON, without half a character or half an escape at its end; all of it if it is not long."""
    most = PIECE if most is None else most
    return bytes(whole) if len(whole) <= most else _unbroken(bytes(whole[:most]))


def _unbroken(piece: bytes) -> bytes:
    """Only the end is looked at: a search for it from the beginning could take very long."""
    head, tail = piece[:-_LONGEST], piece[-_LONGEST:]
    tail = re.sub(_BROKEN_ESCAPE, b"", re.sub(_BROKEN_CHARACTER, b"", tail))
    piece = head + tail
    backslashes = len(piece) - len(piece.rstrip(b"\\"))
    return piece[:-1] if backslashes % 2 else piece
