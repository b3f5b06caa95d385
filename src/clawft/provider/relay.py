"""The bytes of a relayed call: only names, tokens and protocol keys change on the way; the rest stays as it came."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.model import Kind, Reply
from clawft.wire import meta as metas

_OURS = frozenset({metas.VERSION, metas.CAPABILITIES, metas.CLIENT, metas.LOG_LEVEL, metas.SERVER, metas.SUBSCRIPTION})
_ADDED = ("resultType", "ttlMs", "cacheScope")
_PROGRESS = b'"progressToken"'

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


def wants_progress(meta: bytes) -> bool:
    return _PROGRESS in meta


def outgoing_meta(meta: bytes, token: int | None) -> dict[str, Raw]:
    """The caller's `_meta` without the keys that belong to its hop; the progress token is ours."""
    members = {key: value for key, value in _object.decode(meta).items() if key not in _OURS} if meta else {}
    members.pop("progressToken", None)
    if token is not None:
        members["progressToken"] = Raw(b"%d" % token)
    return members


def call_params(name: bytes, arguments: bytes, meta: dict[str, Raw]) -> bytes:
    """`params` of a tools/call; `name` is the native one, encoded once per tool."""
    head = b'{"name":' + name + b',"arguments":' + arguments
    return head + b',"_meta":' + _encode(meta) + b"}" if meta else head + b"}"


class _Said(Struct, rename="camel"):
    is_error: Any = False
    result_type: Any = "complete"


_said = msgspec.json.Decoder(_Said)


def reply_of(result: bytes, *, stateless: bool) -> Reply:
    """A server's result as our reply; what only the stateless dialect adds is taken off again."""
    if not stateless:
        return Reply(result, is_error=b'"isError"' in result and _said.decode(result).is_error is True)
    said = _said.decode(result)
    kind = _KINDS.get(said.result_type, Kind.COMPLETE)
    return Reply(plain_result(result), is_error=said.is_error is True, kind=kind)


_KINDS: dict[Any, Kind] = {kind.value: kind for kind in Kind}


def plain_result(result: bytes) -> bytes:
    """Without `resultType`, caching hints and the server's own identity."""
    members = _object.decode(result)
    for key in _ADDED:
        members.pop(key, None)
    if "_meta" in members:
        meta = {key: value for key, value in _object.decode(members["_meta"]).items() if key not in _OURS}
        if meta:
            members["_meta"] = Raw(_encode(meta))
        else:
            del members["_meta"]
    return _encode(members)


class Progress(Struct, rename="camel"):
    progress_token: int
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


_progress = msgspec.json.Decoder(Progress)


def read_progress(params: bytes) -> Progress | None:
    """A progress notice that can be ours; anything else is not worth an error."""
    try:
        return _progress.decode(params)
    except msgspec.DecodeError:
        return None
