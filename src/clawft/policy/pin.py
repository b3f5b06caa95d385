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
"""The member that no pin covers: it is for programs, not for models, and may change at any time."""
INSTRUCTIONS = "server instructions"
DUPLICATE_KEYS = "keys that occur twice"
RAW_DEFINITION = "the definition as it came"
PREFIX = "sha256:"
LONGEST_NUMBER = 300
PINS_KEPT = 4_096
INSTRUCTIONS_KEPT = 8
"""How many servers' instructions are kept in digested form."""
MAX_DEPTH = 64
MAX_KEPT_DEPTH = 2 * MAX_DEPTH
"""For a text that was shown: a definition, and the members we add around it."""

_OWN_MEMBERS = frozenset({INSTRUCTIONS, RAW_DEFINITION})

ShownText = Mapping[str, Any]


def shown_tool(wire: bytes, instructions: str) -> ShownText:
    """The text that the person approves: the members of a definition, and its server's instructions to every model."""
    seen = members(wire)
    return {**seen, INSTRUCTIONS: instructions} if instructions else seen


def members(wire: bytes) -> dict[str, Any]:
    """The members of a definition. One that cannot be parsed, or has members named like ours, is kept as raw text."""
    read = _read(wire)
    if read is None or not _OWN_MEMBERS.isdisjoint(read):
        return {RAW_DEFINITION: wire.decode("utf-8", "backslashreplace")}
    return {key: value for key, value in read.items() if key != UNSEEN}


def _read(wire: bytes) -> dict[str, Any] | None:
    import json  # only where something is pinned; the one reader here that tells of keys that occur twice

    try:
        decoded = json.loads(wire, object_pairs_hook=_members, parse_int=_whole, parse_float=_number)
        return cast("dict[str, Any]", decoded) if _depth(decoded) <= MAX_DEPTH else None
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
    """An infinite number stays text, as JSON has no spelling for it."""
    value = float(text)
    return value if isfinite(value) else text


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    is_plain = len(members) == len(pairs) and DUPLICATE_KEYS not in members
    return members if is_plain else {**members, DUPLICATE_KEYS: [list(pair) for pair in pairs]}


def pin(shown: ShownText) -> str:
    import hashlib  # loads OpenSSL; only where something is pinned

    return PREFIX + hashlib.sha256(canonical(shown)).hexdigest()


def tool_pin(wire: bytes, instructions: str) -> str:
    """The pin of what is shown of a tool, cached: the instructions in it may be long, and every tool has them."""
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


@lru_cache(maxsize=INSTRUCTIONS_KEPT)
def _digest(instructions: str) -> bytes:
    import hashlib  # loaded by now

    return hashlib.sha256(instructions.encode(errors="surrogatepass")).digest()


def _canonical_tool(wire: bytes, instructions: str) -> Iterator[bytes]:
    """`canonical(shown_tool(…))` in pieces; the instructions, which all tools share, are encoded once."""
    seen = members(wire)
    for at, name in enumerate(sorted([*seen, INSTRUCTIONS] if instructions else seen)):
        yield f"{',' if at else '{'}{_canonical_json(name)}:".encode()
        yield _canonical_instructions(instructions) if name == INSTRUCTIONS else _canonical_json(seen[name]).encode()
    yield b"}" if seen or instructions else b"{}"


def _canonical_json(value: object) -> str:
    import json  # loaded by now

    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=INSTRUCTIONS_KEPT)
def _canonical_instructions(instructions: str) -> bytes:
    return _canonical_json(instructions).encode()


def offer_pin(wires: Iterable[bytes], instructions: str) -> str:
    """The pin of everything a server offers, to tell whether it is still the same."""
    import hashlib  # loaded by now

    digest = hashlib.sha256(instructions.encode(errors="surrogatepass"))
    for wire in wires:
        digest.update(b"%d:" % len(wire))
        digest.update(wire)
    return PREFIX + digest.hexdigest()


def canonical(shown: ShownText) -> bytes:
    """The canonical JSON of what was shown: equal meaning, equal bytes."""
    return _canonical_json(shown).encode()


def read_shown(text: bytes) -> ShownText:
    """Reads what `canonical` wrote, lone surrogates included; empty for anything else."""
    import json  # loaded by now

    try:
        decoded = json.loads(text)
        return (
            cast("ShownText", decoded)
            if isinstance(decoded, dict) and _depth(cast("ShownText", decoded)) <= MAX_KEPT_DEPTH
            else {}
        )
    except (ValueError, RecursionError):
        return {}


def changed(before: ShownText, now: ShownText) -> list[str]:
    """The members that differ as JSON: to Python 1, 1.0 and true are equal."""
    names = dict.fromkeys((*before, *now))
    return [name for name in names if _member(before, name) != _member(now, name)]


def _member(shown: ShownText, name: str) -> str | None:
    return _canonical_json(shown[name]) if name in shown else None
