"""Pins: a fingerprint of everything the person was shown, independent of how it was spelled. Pure.

What a model sees of a tool is its whole definition but `_meta`, and the instructions of its server. Objects are
compared by their members whatever their order. A key that occurs twice counts with both its values: readers differ in
which of the two they take. A definition whose own members are called like those we add is no way around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, cast

UNSEEN = "_meta"
"""For programs, not for models; and it may change from day to day."""
INSTRUCTIONS = "server instructions"
TWICE = "keys that occur twice"
AS_IT_CAME = "the definition as it came"
PREFIX = "sha256:"
LONGEST_NUMBER = 300
PINS_KEPT = 4_096
STORIES_KEPT = 8
"""Instructions of servers."""
MAX_DEPTH = 64
MAX_KEPT_DEPTH = 2 * MAX_DEPTH
"""Of a text that was shown: a definition, and what we say around it."""

_OURS = frozenset({INSTRUCTIONS, AS_IT_CAME})

ShownText = Mapping[str, Any]


def shown_tool(wire: bytes, instructions: str) -> ShownText:
    """What the person approves: the members of a definition, and what its server tells every model."""
    seen = members(wire)
    return {**seen, INSTRUCTIONS: instructions} if instructions else seen


def members(wire: bytes) -> dict[str, Any]:
    """What is seen of a definition. What cannot be taken apart, or would pass for ours, is told as the bytes it is."""
    read = _read(wire)
    if read is None or not _OURS.isdisjoint(read):
        return {AS_IT_CAME: wire.decode("utf-8", "backslashreplace")}
    return {key: value for key, value in read.items() if key != UNSEEN}


def _read(wire: bytes) -> dict[str, Any] | None:
    import json  # only where something is pinned; the one reader here that tells of keys that occur twice

    try:
        told = json.loads(wire, object_pairs_hook=_members, parse_int=_whole, parse_float=_number)
        return cast("dict[str, Any]", told) if _depth(told) <= MAX_DEPTH else None
    except (ValueError, RecursionError):
        return None


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
    is_plain = len(members) == len(pairs) and TWICE not in members
    return members if is_plain else {**members, TWICE: [list(pair) for pair in pairs]}


def pin(shown: ShownText) -> str:
    import hashlib  # loads OpenSSL; only where something is pinned

    return PREFIX + hashlib.sha256(canonical(shown)).hexdigest()


def tool_pin(wire: bytes, instructions: str) -> str:
    """The pin of what is shown of a tool, worked out once: a server may have its every tool tell a long story."""
    import hashlib  # loaded by now

    key = hashlib.sha256(wire).digest() + _digest(instructions)
    known = _known.get(key)
    if known is None:
        if len(_known) >= PINS_KEPT:
            _known.clear()
        digest = hashlib.sha256()
        for piece in _canonical_tool(wire, instructions):
            digest.update(piece)
        known = _known[key] = PREFIX + digest.hexdigest()
    return known


_known: dict[bytes, str] = {}


@lru_cache(maxsize=STORIES_KEPT)
def _digest(instructions: str) -> bytes:
    import hashlib  # loaded by now

    return hashlib.sha256(instructions.encode(errors="surrogatepass")).digest()


def _canonical_tool(wire: bytes, instructions: str) -> Iterator[bytes]:
    """What `canonical` says of `shown_tool`, in pieces; the instructions, which all tools share, are spelled once."""
    seen = members(wire)
    for at, name in enumerate(sorted([*seen, INSTRUCTIONS] if instructions else seen)):
        yield f"{',' if at else '{'}{_spelled(name)}:".encode()
        yield _spelled_once(instructions) if name == INSTRUCTIONS else _spelled(seen[name]).encode()
    yield b"}" if seen or instructions else b"{}"


def _spelled(value: object) -> str:
    import json  # loaded by now

    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=STORIES_KEPT)
def _spelled_once(instructions: str) -> bytes:
    return _spelled(instructions).encode()


def offer_pin(wires: Iterable[bytes], instructions: str) -> str:
    """Of all that a server offers, as it came: whether it is still the same."""
    import hashlib  # loaded by now

    digest = hashlib.sha256(instructions.encode(errors="surrogatepass"))
    for wire in wires:
        digest.update(b"%d:" % len(wire))
        digest.update(wire)
    return PREFIX + digest.hexdigest()


def canonical(shown: ShownText) -> bytes:
    """One spelling for one meaning."""
    return _spelled(shown).encode()


def read_shown(text: bytes) -> ShownText:
    """What `canonical` wrote; also texts that are no proper Unicode come back as they were. Nothing, of all else."""
    import json  # loaded by now

    try:
        told = json.loads(text)
        return (
            cast("ShownText", told)
            if isinstance(told, dict) and _depth(cast("ShownText", told)) <= MAX_KEPT_DEPTH
            else {}
        )
    except (ValueError, RecursionError):
        return {}


def changed(before: ShownText, now: ShownText) -> list[str]:
    """The members that differ, by how they are spelled: to Python 1, 1.0 and true are one."""
    names = dict.fromkeys((*before, *now))
    return [name for name in names if _member(before, name) != _member(now, name)]


def _member(shown: ShownText, name: str) -> str | None:
    return _spelled(shown[name]) if name in shown else None
