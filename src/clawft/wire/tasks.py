"""Tasks on the wire: the flat shape of the extension, and what the experiment of 2025-11-25 made of it. Pure."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.errors import ProtocolFailure
from clawft.model import TaskStanding
from clawft.wire import meta as metas

ASKING = "input_required"
FINAL = frozenset({"completed", "failed", "cancelled"})
STATES = FINAL | {"working", ASKING}
RELATED = metas.PREFIX + "related-task"
OLDER = {"ttlMs": "ttl", "pollIntervalMs": "pollInterval"}
"""Members that the experiment calls otherwise."""
MAX_TOLD_BYTES = 64 * 1024
"""Of a task, apart from its result and its questions, which have bounds of their own."""
_ONLY_NEW = frozenset({"resultType", "inputRequests", "result", "error", "_meta"})

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


class TaskView(Struct, rename="camel"):
    """The members of a task that we look at; everything else passes as it came."""

    task_id: str
    status: str
    created_at: str | UnsetType = UNSET
    last_updated_at: str | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    input_requests: Raw | UnsetType = UNSET


def read(shape: bytes, id: str | None = None) -> TaskView:
    """Raises ProtocolFailure for what is no task, too much for one, or another than the one that was asked for."""
    try:
        seen = msgspec.json.decode(shape, type=TaskView)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"a task that cannot be read: {wrong}") from None
    if len(shape) - _size(seen.result) - _size(seen.input_requests) > MAX_TOLD_BYTES:
        raise ProtocolFailure(f"a task that is told in more than {MAX_TOLD_BYTES} bytes")
    if seen.status not in STATES:
        raise ProtocolFailure(f"a task in an unknown state: {seen.status[:50]}")
    if id is not None and seen.task_id != id:
        raise ProtocolFailure("asked for one task, it told of another")
    return seen


def _size(part: Raw | UnsetType) -> int:
    return 0 if part is UNSET else len(memoryview(part))


def named(shape: bytes, id: str) -> dict[str, Raw]:
    """The members of a task under another id, without what belongs to the hop it came by.

    Times that are no count of milliseconds could cost a strict client the task: to live without an end is what it does
    then, and to be asked for whenever one likes.
    """
    members = _object.decode(shape)
    kept = {key: value for key, value in members.items() if key not in ("resultType", "_meta")}
    if "ttlMs" in kept and not _is_count(kept["ttlMs"]):
        kept["ttlMs"] = Raw(b"null")
    if "pollIntervalMs" in kept and not _is_count(kept["pollIntervalMs"]):
        del kept["pollIntervalMs"]
    return {**kept, "taskId": Raw(_encode(id))}


def _is_count(told: Raw) -> bool:
    try:
        msgspec.json.decode(told, type=Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)])
    except msgspec.ValidationError:
        return False
    return True


def older(shape: bytes) -> dict[str, Raw]:
    """A task as the experiment of 2025-11-25 tells of it."""
    members = _object.decode(shape)
    return {OLDER.get(key, key): value for key, value in members.items() if key not in _ONLY_NEW}


class _UncheckedStanding(Struct, rename="camel"):
    """Whatever stands there, it is looked at and never refused."""

    status: Any = ""
    status_message: Any = ""
    ttl_ms: Any = UNSET
    ttl: Any = UNSET
    poll_interval_ms: Any = UNSET
    poll_interval: Any = UNSET


def standing(shape: bytes) -> TaskStanding:
    """How a task is getting on, told by a server of either kind. The shape was read before."""
    unchecked = msgspec.json.decode(shape, type=_UncheckedStanding)
    return TaskStanding(
        unchecked.status,
        unchecked.status_message if isinstance(unchecked.status_message, str) else "",
        milliseconds(unchecked.ttl if unchecked.ttl_ms is UNSET else unchecked.ttl_ms),
        milliseconds(unchecked.poll_interval if unchecked.poll_interval_ms is UNSET else unchecked.poll_interval_ms),
    )


def milliseconds(told: Any) -> int | None:
    """None for what is no time, or too long for every reader of JSON to know it."""
    return int(told) if type(told) in (int, float) and 0 <= told < 2**53 else None


class _Created(Struct):
    task: Raw | UnsetType = UNSET


def read_created(result: bytes) -> bytes | None:
    """The task that a handshake server made of a call; None if it has simply answered."""
    try:
        task = msgspec.json.decode(result, type=_Created).task
        if task is not UNSET:
            msgspec.json.decode(task, type=TaskView)
    except msgspec.DecodeError:
        return None
    return None if task is UNSET else bytes(task)


class _Related(Struct):
    task_id: str = field(default="", name="taskId")


class _Meta(Struct):
    task: _Related = field(default_factory=_Related, name=RELATED)


class _Result(Struct):
    meta: _Meta = field(default_factory=_Meta, name="_meta")


def is_of(result: bytes, id: str) -> bool:
    """Whether this is the result of the task with this id, as far as it says. One that says nothing is taken at its
    word.
    """
    try:
        named = msgspec.json.decode(result, type=_Result).meta.task.task_id
    except msgspec.DecodeError:
        return True
    return named in ("", id)


def unrelated(result: bytes) -> bytes:
    """The result of a task, for someone who does not know that there was one."""
    if RELATED.encode() not in result:
        return result
    members: dict[str, Any] = dict(_object.decode(result))
    meta = members.pop("_meta", Raw(b""))
    known = _object.decode(meta) if bytes(meta)[:1] == b"{" else {}
    known.pop(RELATED, None)
    return _encode({**members, "_meta": known} if known else members)


def related(result: bytes, id: str) -> bytes:
    """The result of a task, saying whose it is."""
    members: dict[str, Any] = dict(_object.decode(result))
    meta = members.get("_meta")
    known = _object.decode(meta) if isinstance(meta, Raw) and bytes(meta)[:1] == b"{" else {}
    return _encode({**members, "_meta": {**known, RELATED: {"taskId": id}}})
