"""Is an entry of a list JSON that every client can parse? One that is not would cost clients the whole list. Pure.

Parsers have limits that the protocol does not know: how deep the nesting is, and how large a number.
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

_LARGE = rb"[0-9](?:[eE]\+?[0-9]{3}|[0-9]{199})"
"""How a number may begin that is beyond what floating point can hold."""
_FEWEST_DIGITS = 4
_NO_DIGITS = bytes(set(range(256)) - set(b"0123456789"))

_TEXT = rb'(?s)"(?:[^"\\]++|\\.)*+"'
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))


def check_readable(wire: bytes) -> None:
    """Raises DecodeError, saying what most clients could not read. `wire` is JSON."""
    if is_deeper(wire, MAX_LEVELS):
        raise msgspec.DecodeError(f"it is nested too deeply for most clients, which read {MAX_LEVELS} levels")
    if _may_have_large(wire) and any(math.isinf(number) for number in _numbers(msgspec.json.decode(wire))):
        raise msgspec.DecodeError("a number in it is too large for most clients")


def is_deeper(wire: bytes, levels: int) -> bool:
    """Is it nested deeper? Counting its brackets first answers that for nearly all."""
    return wire.count(b"{") + wire.count(b"[") > levels and _depth(wire) > levels


def _depth(wire: bytes) -> int:
    brackets = re.sub(_TEXT, b"", wire).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


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
