"""Guesses the meaning of a message that cannot be read: whoever waits for its answer must not wait for ever."""

import re

from clawft.wire.framing import HEAD_BYTES

_ID = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]*")\s*[,}]'
_METHOD = rb'("method")\s*:'
_OUTCOME = rb'("result"|"error")\s*:'


def likely_answer(line: bytes) -> bytes:
    """The id of a line that was meant as an answer and cannot be read; empty if it was meant as something else."""
    head = line[:HEAD_BYTES]
    if not _likely(_OUTCOME, head) and (is_likely_call(head) or len(line) > HEAD_BYTES):
        return b""
    return _likely(_ID, head)


def likely_request(line: bytes) -> bytes:
    """The id of a line that was meant as a request and cannot be read; else empty."""
    head = line[:HEAD_BYTES]
    return _likely(_ID, head) if is_likely_call(head) else b""


def is_likely_call(head: bytes) -> bool:
    return _likely(_METHOD, head) != b""


def _likely(member: bytes, head: bytes) -> bytes:
    """A member of the message itself, and not of something in it."""
    if head[:1] != b"{" or b'"jsonrpc"' not in head:
        return b""
    for found in re.finditer(member, head):
        before = head[: found.start()]
        if before.count(b"{") - before.count(b"}") == 1:
            return found[1]
    return b""
