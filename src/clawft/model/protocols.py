"""Tells whether an object implements a protocol. Like `isinstance`, but remembered for each class. Pure.

`isinstance` with a protocol looks up all its members each time, which takes longer than many a call.
"""

from __future__ import annotations

from functools import cache
from typing import TypeGuard, TypeVar

T = TypeVar("T")

_kept: dict[tuple[type, type], bool] = {}


def is_of(thing: object, protocol: type[T]) -> TypeGuard[T]:
    """Whether it has all members of this protocol. Found out once for each class."""
    key = (type(thing), protocol)
    kept = _kept.get(key)
    if kept is None:
        kept = _kept[key] = all(hasattr(thing, name) for name in members(protocol))
    return kept


@cache
def members(protocol: type) -> tuple[str, ...]:
    """Methods and properties, its own and those of the protocols it extends: what no body is written for is none."""
    extended = (base for base in protocol.__mro__ if getattr(base, "_is_protocol", False))
    return tuple(dict.fromkeys(name for base in extended for name in vars(base) if not name.startswith("_")))
