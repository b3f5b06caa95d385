"""Several messages in one JSON array."""

import re

import msgspec
from msgspec import Raw

from clawft.errors import BadEnvelope, ParseError, WireError
from clawft.wire.jsonrpc.reading import too_deep

MAX_BATCH = 100
MAX_BATCH_BYTES = 1024 * 1024
"""Each member becomes an object of its own: many tiny ones would take fifty times their size."""

_TOGETHER = rb"\s*\[\s*[\[{]"
_batch = msgspec.json.Decoder(list[Raw])


def unknown_here() -> BadEnvelope:
    """The refusal of a batch, in words that are true whatever the revision is, or if none is agreed on yet."""
    return BadEnvelope("batches are part of 2025-03-26 only", hint="send each message by itself")


def is_batch(line: bytes) -> bool:
    return line.lstrip()[:1] == b"["


def decode_batch(line: bytes) -> list[bytes]:
    """The members of a JSON array, still raw. Raises ParseError, or BadEnvelope if they are none or too many."""
    if len(line) > MAX_BATCH_BYTES:
        raise ParseError(f"a batch of more than {MAX_BATCH_BYTES} bytes", hint="send its messages one by one")
    try:
        members = _batch.decode(line)
    except msgspec.DecodeError as wrong:
        raise ParseError(str(wrong)) from None
    except RecursionError:
        raise too_deep() from None
    if not 0 < len(members) <= MAX_BATCH:
        raise BadEnvelope(f"a batch has 1 to {MAX_BATCH} messages")
    return [bytes(member) for member in members]


def unpack(line: bytes) -> list[bytes]:
    """The messages that a server has sent together. Raises WireError if this is no batch of them, or without bounds."""
    members = decode_batch(line)
    if any(map(is_batch, members)):
        raise BadEnvelope("a batch within a batch")
    return members


def unpacked(line: bytes) -> list[bytes]:
    """The messages that a server has sent together; none if there is something wrong with them."""
    try:
        return unpack(line) if is_batch(line) else []
    except WireError:
        return []


def unread_answers(line: bytes) -> str:
    """Why messages that came together are not taken apart, where answers may be among them; else empty."""
    is_answer = b'"jsonrpc"' in line and (b'"result"' in line or b'"error"' in line)
    if not is_answer or not re.match(_TOGETHER, line):  # what a program writes by mistake may begin with a bracket, too
        return ""
    try:
        unpack(line)
    except WireError as wrong:
        return str(wrong)
    return ""
