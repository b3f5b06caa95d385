"""Gateways that serve one another: whatever one passes on says how many it has come through. Pure.

Each would else offer what the other offers of its own, under ever longer names, until there is no room for more.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from clawft.wire.meta import HOPS

MAX_HOPS = 4
"""Gateways between us and a server whose tools we offer; as many as may start one another, see `circle`."""

_object = msgspec.json.Decoder(dict[str, Raw])
_count = msgspec.json.Decoder(int)
_encode = msgspec.json.encode


def one_further(wire: bytes) -> bytes:
    """A definition that one more gateway has passed on; empty if that is one too many."""
    try:
        members = _object.decode(wire)
        meta = _object.decode(members.get("_meta", Raw(b"{}")))
    except msgspec.DecodeError:
        return wire  # whoever reads it says what is wrong
    hops = _hops(meta) + 1
    if hops > MAX_HOPS:
        return b""
    return _encode({**members, "_meta": {**meta, HOPS: hops}})


def _hops(meta: dict[str, Raw]) -> int:
    try:
        return max(_count.decode(meta.get(HOPS, Raw(b"0"))), 0)
    except msgspec.DecodeError:
        return 0
