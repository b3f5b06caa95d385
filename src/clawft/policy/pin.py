"""Pins: a fingerprint of everything the person was shown, independent of how it was spelled. Pure.

What a model sees of a tool is its whole definition but `_meta`, and the instructions of its server. Objects are
compared by their members whatever their order. A key that occurs twice counts with both its values: readers differ in
which of the two they take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, cast

UNSEEN = "_meta"
"""For programs, not for models; and it may change from day to day."""
INSTRUCTIONS = "server instructions"
TWICE = "keys that occur twice"
AS_IT_CAME = "the definition as it came"
PREFIX = "sha256:"
LONGEST_NUMBER = 300
MAX_DEPTH = 64

Shown = Mapping[str, Any]


def shown_tool(wire: bytes, instructions: str) -> Shown:
    """What the person approves: the members of a definition, and what its server tells every model."""
    seen = {key: value for key, value in _read(wire).items() if key != UNSEEN}
    return {**seen, INSTRUCTIONS: instructions} if instructions else seen


def _read(wire: bytes) -> dict[str, Any]:
    """What cannot be taken apart is pinned as the bytes it is."""
    import json  # only where something is pinned; the one reader here that tells of keys that occur twice

    try:
        told = json.loads(wire, object_pairs_hook=_members, parse_int=_whole, parse_float=_number)
        too_deep = _depth(told) > MAX_DEPTH
    except (ValueError, RecursionError):
        too_deep, told = True, {}
    if too_deep:
        return {AS_IT_CAME: wire.decode("utf-8", "backslashreplace")}
    return cast("dict[str, Any]", told)


def _depth(value: object) -> int:
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((each, depth + 1) for each in _inside(inner))
    return deepest


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= LONGEST_NUMBER else text


def _number(text: str) -> float | str:
    """One that is beyond all bounds stays a text, as JSON has no other word for it."""
    value = float(text)
    return value if isfinite(value) else text


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else {**members, TWICE: [list(pair) for pair in pairs]}


def pin(shown: Shown) -> str:
    import hashlib  # loads OpenSSL; only where something is pinned

    return PREFIX + hashlib.sha256(canonical(shown)).hexdigest()


def canonical(shown: Shown) -> bytes:
    """One spelling for one meaning."""
    import json  # loaded by now

    return json.dumps(shown, sort_keys=True, separators=(",", ":")).encode()


def read_shown(text: bytes) -> Shown:
    """What `canonical` wrote; also texts that are no proper Unicode come back as they were."""
    import json  # loaded by now

    return json.loads(text)


def changed(before: Shown, now: Shown) -> list[str]:
    """The members that differ."""
    names = dict.fromkeys((*before, *now))
    return [name for name in names if before.get(name, _ABSENT) != now.get(name, _ABSENT)]


_ABSENT = object()
