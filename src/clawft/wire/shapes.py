"""Mends members that the protocol knows: they are what it says, or they are not there. Pure.

A strict client refuses a whole list, of all servers, for one member of the wrong type in it, and cannot say whose fault
that is. So what need not be there and is wrong is left out. Members that nobody here knows pass: a newer client may
know them.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field


class Anything(Struct, gc=False):
    """Some object, whatever is in it."""


class Icon(Struct, gc=False, rename="camel"):
    src: str
    mime_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET


class ItemDescription(Struct, gc=False, rename="camel", kw_only=True):
    """The members that a tool, a prompt and a resource may all have."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")


MAX_FLAW_CHARS = 200


def members(value: object) -> Mapping[str, Any]:
    """The members of a JSON object; none of anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def flaw(wrong: Exception) -> str:
    """As whoever meets it is told: it may quote the other side, who may have much to say."""
    return str(wrong)[:MAX_FLAW_CHARS]


# ── mending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_object = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.encode

Mend = Callable[[Raw], Raw]
T = TypeVar("T", bound=Struct)


def read_mended(wire: bytes, kind: type[T]) -> tuple[bytes, T]:
    """JSON as it is if all of it is what `kind` says; else without what is not, and need not be. And our view of it.

    Raises DecodeError if something is wrong, or missing, that it is nothing without.
    """
    decode = _decoder(kind).decode
    try:
        return wire, decode(wire)
    except msgspec.DecodeError:
        wire = _without_wrong(wire, kind)
        return wire, decode(wire)


def mended(wire: bytes, kind: type[Struct]) -> bytes:
    """The bytes that `read_mended` gives, without our view of them."""
    return read_mended(wire, kind)[0]


def _without_wrong(wire: bytes, kind: type[Struct]) -> bytes:
    kept = _object.decode(wire)
    for name, (mend, is_needed) in _members(kind).items():
        if name in kept:
            try:
                kept[name] = mend(kept[name])
            except msgspec.DecodeError:
                if not is_needed:
                    del kept[name]
    return _encode(kept)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@cache
def _members(kind: type[Struct]) -> dict[str, tuple[Mend, bool]]:
    """How each member of it is mended, and whether it must be there; by its name."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.encode_name: (_mend_of(hints[each.name]), each.required) for each in msgspec.structs.fields(kind)}


def _mend_of(hint: Any) -> Mend:
    if get_origin(hint) in (Union, UnionType):
        rest = [each for each in get_args(hint) if each is not UnsetType]
        hint = rest[0] if len(rest) == 1 else hint
    if _is_struct(hint):
        return lambda value: Raw(mended(value, hint))
    if get_origin(hint) is list and _is_struct(get_args(hint)[0]):
        return lambda value: _mended_items(value, get_args(hint)[0])
    return lambda value: _checked(value, hint)


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def _checked(value: Raw, hint: Any) -> Raw:
    _decoder(hint).decode(value)
    return value


def _mended_items(value: Raw, kind: type[Struct]) -> Raw:
    """Without those that are none at all."""
    kept: list[Raw] = []
    for item in _items.decode(value):
        try:
            kept.append(Raw(mended(item, kind)))
        except msgspec.DecodeError:
            continue
    return Raw(_encode(kept))
