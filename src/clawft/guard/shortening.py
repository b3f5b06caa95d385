"""Shortens a structured result, cutting only the texts and lists that its schema marks for it. Pure.

A cut is told in the member `truncated` at the top, if there is one (true, or why), and in a text that was cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawft.provider.keeps import KEEPS

CUT_AT_END = "\n[the rest is left out]"
CUT_AT_START = "[the beginning is left out]\n"
FLAG = "truncated"
WHY = "too large for one result"
SLACK = 64
"""Bytes for the note about one cut."""

_encode = msgspec.json.encode


class CuttableValue(Struct, frozen=True):
    """A text or list inside of the result, with its holder and key."""

    holder: Any
    key: Any
    side: str

    @property
    def value(self) -> Any:
        return self.holder[self.key]


def shorten(raw: bytes, schema: bytes, limit: int) -> bytes | None:
    """The structure in at most so many bytes; None if the marked parts are not enough for that."""
    value = msgspec.json.decode(raw)
    top = msgspec.json.decode(schema)
    places = list(_places({"": value}, "", top, top))
    sizes = [len(_encode(place.value)) for place in places]
    room = limit - SLACK - (len(raw) - sum(sizes))
    for place, size, share in zip(places, sizes, _shares(sizes, room), strict=True):
        if size > share:
            place.holder[place.key] = _cut(place.value, share - SLACK, place.side)
    if FLAG in value:
        value[FLAG] = value[FLAG] or (WHY if isinstance(value[FLAG], str) else True)
    shorter = _encode(value)
    return shorter if len(shorter) <= limit else None


def _places(holder: Any, key: Any, schema: dict[str, Any], top: dict[str, Any]) -> Iterator[CuttableValue]:
    """The values that may be cut. Inside of one of them there are no others."""
    value = holder[key]
    for shape in _shapes(schema, top):
        if KEEPS in shape and isinstance(value, str | list):
            yield CuttableValue(holder, key, shape[KEEPS])
        elif isinstance(value, list) and "items" in shape:
            for at in range(len(cast("list[Any]", value))):
                yield from _places(value, at, shape["items"], top)
        elif isinstance(value, dict):
            known = shape.get("properties", {})
            for name in cast("dict[str, Any]", value):
                if name in known:
                    yield from _places(value, name, known[name], top)


def _shapes(schema: dict[str, Any], top: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a schema that apply, references followed. In our schemas no value can follow a cycle for ever."""
    if "$ref" in schema:
        yield from _shapes(top["$defs"][schema["$ref"].removeprefix("#/$defs/")], top)
    for option in schema.get("anyOf", ()):
        yield from _shapes(option, top)
    yield schema


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """The room each value gets: small ones what they need, the larger ones equal shares of the rest."""
    shares = [0] * len(sizes)
    for done, at in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[at] = min(sizes[at], max(0, room) // (len(sizes) - done))
        room -= shares[at]
    return shares


def _cut(value: str | list[Any], room: int, side: str) -> str | list[Any]:
    if isinstance(value, list):
        return value[: _fitting(value, room)]
    if side == "last":
        return CUT_AT_START + _piece(value[::-1], room)[::-1]
    return _piece(value, room) + CUT_AT_END


def _fitting(items: Sequence[Any], room: int) -> int:
    for at, item in enumerate(items):
        room -= len(_encode(item)) + 1
        if room < 0:
            return at
    return len(items)


def _piece(text: str, room: int) -> str:
    """The beginning of a text whose JSON takes at most so many bytes."""
    kept = text[: max(0, room)]
    while kept and (size := len(_encode(kept))) > room:
        kept = kept[: min(len(kept) - 1, len(kept) * max(0, room) // size)]
    return kept
