"""`notifications/cancelled`: the one notification that either side may send and has to act on."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.wire.meta import HOP

MAX_BESIDE_BYTES = 4 * 1024
"""Of what a notification says beside the id; more is not passed on."""

_members = msgspec.json.Decoder(dict[str, Raw])


class _CancelledParams(Struct):
    id: Raw | UnsetType = field(default=UNSET, name="requestId")


def read_cancelled(params: bytes) -> bytes | None:
    """The raw id that a cancelled notification names; None if it names none."""
    try:
        id = msgspec.json.decode(params or b"{}", type=_CancelledParams).id
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if id is UNSET else bytes(id)


def cancel_details(params: bytes) -> bytes:
    """The other members as a JSON object: the reason, and those we do not know. Empty if that is too much."""
    if len(params) > MAX_BESIDE_BYTES:
        return b""
    try:
        members = {name: value for name, value in _members.decode(params).items() if name != "requestId"}
        meta = {name: value for name, value in _members.decode(members.pop("_meta", _NONE)).items() if name not in HOP}
    except (msgspec.DecodeError, RecursionError):
        return b""
    kept = {**members, "_meta": meta} if meta else members
    return msgspec.json.encode(kept) if kept else b""


_NONE = Raw(b"{}")
