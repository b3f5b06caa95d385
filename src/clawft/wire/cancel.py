"""`notifications/cancelled`: the one notice that both sides act on."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field


class _CancelledParams(Struct):
    id: Raw | UnsetType = field(default=UNSET, name="requestId")


def read_cancelled(params: bytes) -> bytes | None:
    """The raw id that a cancelled notification names; None if it names none."""
    try:
        id = msgspec.json.decode(params or b"{}", type=_CancelledParams).id
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if id is UNSET else bytes(id)
