"""Relays a completion to a server unchanged, except for metadata of the hop and values that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.model import MAX_COMPLETIONS, Completing, ForeignCompletion
from clawft.provider.server import relay

MAX_VALUE_BYTES = 4 * 1024
"""Size of one completed value."""

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


def outgoing(asked: Completing, *, context: bool) -> dict[str, Any]:
    """The members of the request; `context` only for servers whose revision knows it."""
    members = _object.decode(asked.params)
    meta = relay.outgoing_meta(bytes(members.pop("_meta", b"")), None)
    if not context:
        members.pop("context", None)
    return {**members, "ref": dict(asked.ref), **({"_meta": meta} if meta else {})}


class _Values(Struct, frozen=True):
    values: list[Raw] | None = None


class _Completed(Struct, frozen=True):
    completion: _Values = _Values()


_completed = msgspec.json.Decoder(_Completed)


def incoming(result: bytes) -> ForeignCompletion:
    """The completion; values too long to be typed are left out, as a cut one would be wrong. Raises DecodeError."""
    told = _completed.decode(result).completion.values or []
    fitting = [raw for raw in told if len(bytes(raw)) <= MAX_VALUE_BYTES][:MAX_COMPLETIONS]
    values = [msgspec.json.decode(raw, type=str) for raw in fitting]
    members = relay.told_of(result)
    completed = {**_without_false_counts(members), "values": fitting}
    if len(fitting) < len(told):
        completed["hasMore"] = True
    return ForeignCompletion(values, _encode({**members, "completion": completed}))


def _without_false_counts(members: Mapping[str, Raw]) -> dict[str, Any]:
    """The completion without malformed counts: some servers write `null` for what they should leave out."""
    completion = _object.decode(members.get("completion", b"{}"))
    return {key: value for key, value in completion.items() if key not in _COUNTS or _is_one(key, value)}


_COUNTS = ("total", "hasMore")
_number = msgspec.json.Decoder(float)


def _is_one(key: str, value: Raw) -> bool:
    """Whether the count is well-formed. A whole number may be written as `10.0` or `1e1`."""
    if key == "hasMore":
        return bytes(value) in (b"true", b"false")
    try:
        total = float(_number.decode(value))
    except msgspec.DecodeError:
        return False
    return total >= 0 and total.is_integer()
