"""Checks that every client can parse what a server said. Pure.

One entry of a list that is not would cost clients the whole list; of a result that is not they would never hear, as
some of them drop the whole line and wait on. Parsers have limits that the protocol does not know: how deep the nesting
is, and how large a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, cast

import msgspec

MAX_LEVELS = 100
"""With the list around it: the reader of clients in Rust ends at 128, that of the official SDK for Python at 200."""
MAX_ANSWER_LEVELS = 199
"""Of a result, or of the params of a notification: with the message around it that is the official SDK's 200."""
MAX_DIGITS = 4_300
"""Of a number before its point, as Python reads no more."""
HARMLESS = 2 * MAX_ANSWER_LEVELS - 2
"""So few bytes cannot be nested too deeply."""

_LARGE = rb"[0-9](?:[eE]\+?[0-9]{3}|[0-9]{199})"
"""How a number may begin that is beyond what floating point can hold."""
_FEWEST_DIGITS = 4
_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))

_TEXT = rb'(?s)"(?:[^"\\]++|\\.)*+"'
_BRACKETS = bytes.maketrans(b"[]", b"{}")
_OTHERS = bytes(set(range(256)) - set(b'{}[]"'))
_STEPS = {ord("{"): 1, ord("}"): -1}
_PIECE = 128
"""Brackets that are counted together, where that tells enough."""

_LONG_RUN = MAX_DIGITS // 2
"""Of digits: one of twice that has a whole one of these in it, wherever we begin to look."""
_TOO_LONG = rb"(?<![0-9.eE+])(?<![eE]-)[0-9]{%d}" % (MAX_DIGITS + 1)


def check_readable(wire: bytes) -> None:
    """Raises DecodeError, saying what most clients could not read. `wire` is JSON, to stand in a list."""
    if is_deeper(wire, MAX_LEVELS):
        raise msgspec.DecodeError(f"it is nested too deeply for most clients, which read {MAX_LEVELS} levels")
    if _may_have_large(wire) and any(math.isinf(number) for number in _numbers(msgspec.json.decode(wire))):
        raise msgspec.DecodeError("a number in it is too large for most clients")


def why_unreadable(wire: bytes, around: int = 0) -> str:
    """Why many clients could not read an answer that is this JSON, or has it so many levels deep; empty if they can."""
    if len(wire) <= HARMLESS:
        return ""
    if is_deeper(wire, MAX_ANSWER_LEVELS - around):
        return f"it is nested more than {MAX_ANSWER_LEVELS} levels deep, which many clients cannot read"
    if _has_long_number(wire):
        return f"it has a number of more than {MAX_DIGITS} digits, which many clients cannot read"
    return ""


def is_deeper(wire: bytes, levels: int) -> bool:
    """Whether it is nested deeper."""
    brackets = _brackets(wire)
    depth = 0
    for at in range(0, len(brackets), _PIECE):
        piece = brackets[at : at + _PIECE]
        opened = piece.count(b"{")
        if depth + opened > levels and depth + max(accumulate(map(_STEPS.__getitem__, piece))) > levels:
            return True
        depth += 2 * opened - len(piece)
    return False


def _brackets(wire: bytes) -> bytes:
    """All that are in no text, those of lists like those of objects."""
    if b"\\" in wire:
        wire = wire.replace(b"\\\\", b"").replace(b'\\"', b"")
    left = wire.translate(_BRACKETS, _OTHERS).replace(b'""', b"")  # what few texts have in them is left of those alone
    return re.sub(rb'"[^"]*"', b"", left) if b'"' in left else left


def _has_long_number(wire: bytes) -> bool:
    """Whether it has a number of more digits than Python reads. A look here and there mostly tells that it has none."""
    runs = range(0, len(wire) - _LONG_RUN, _LONG_RUN)
    return any(wire[at : at + _LONG_RUN].isdigit() for at in runs) and _finds_long_number(wire)


def _finds_long_number(wire: bytes) -> bool:
    return re.search(_TOO_LONG, re.sub(_TEXT, b"", wire)) is not None


def _may_have_large(wire: bytes) -> bool:
    """A quick look: most have few digits."""
    return len(wire.translate(None, _NO_DIGITS)) >= _FEWEST_DIGITS and re.search(_LARGE, wire) is not None


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _numbers(each)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _numbers(each)
    elif isinstance(value, int | float):
        yield _as_float(value)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
