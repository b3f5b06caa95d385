"""Tasks on the wire: the flat shape of the extension, and what the experiment of 2025-11-25 made of it. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import ProtocolFailure
from clawft.wire import meta as metas

FINAL = frozenset({"completed", "failed", "cancelled"})
RELATED = metas.PREFIX + "related-task"
OLDER = {"ttlMs": "ttl", "pollIntervalMs": "pollInterval"}
"""Members that the experiment calls otherwise."""
_ONLY_NEW = frozenset({"resultType", "inputRequests", "result", "error", "_meta"})

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


class Seen(Struct, rename="camel"):
    """What we look at of a task; everything else passes as it came."""

    task_id: str
    status: str
    poll_interval_ms: float | None = None
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


def read(shape: bytes) -> Seen:
    try:
        return msgspec.json.decode(shape, type=Seen)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"a task that cannot be read: {wrong}") from None


def named(shape: bytes, id: str) -> dict[str, Raw]:
    """The members of a task under another id, without what belongs to the hop it came by."""
    members = _object.decode(shape)
    kept = {key: value for key, value in members.items() if key not in ("resultType", "_meta")}
    return {**kept, "taskId": Raw(_encode(id))}


def older(shape: bytes) -> dict[str, Raw]:
    """A task as the experiment of 2025-11-25 tells of it."""
    members = _object.decode(shape)
    return {OLDER.get(key, key): value for key, value in members.items() if key not in _ONLY_NEW}


class _Created(Struct):
    task: Seen | UnsetType = UNSET


def read_created(result: bytes) -> str | None:
    """The id of the task that a handshake server made of a call; None if it has simply answered."""
    try:
        task = msgspec.json.decode(result, type=_Created).task
    except msgspec.DecodeError:
        return None
    return None if task is UNSET else task.task_id


def related(result: bytes, id: str) -> bytes:
    """The result of a task, saying whose it is."""
    members: dict[str, Any] = dict(_object.decode(result))
    meta = members.get("_meta")
    known = _object.decode(meta) if isinstance(meta, Raw) and bytes(meta)[:1] == b"{" else {}
    return _encode({**members, "_meta": {**known, RELATED: {"taskId": id}}})
