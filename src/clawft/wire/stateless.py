"""The dialect of 2026-07-28: every request says who calls, every result says what it is."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    BadParams,
    ClawftError,
    JsonRpcFailure,
    UnsupportedRevision,
)
from clawft.model import Capabilities, Kind
from clawft.wire import meta as metas
from clawft.wire.codes import passed_on
from clawft.wire.headers import VERSION, Headers, check_mirrors
from clawft.wire.inplace import enclosed
from clawft.wire.jsonrpc.messages import Request, copied
from clawft.wire.meta import Meta
from clawft.wire.revisions import HANDSHAKE, REVISIONS, STATELESS

MAX_KNOWN_META = 2_048
"""Longer ones, in bytes, are not remembered."""
MAX_KNOWN = 256
"""How many are remembered, and how many of what they say."""
MAX_TOLD = 100
"""Characters of an unknown revision that are told."""
LIST_TTL_MS = 5_000
READ_TTL_MS = 0


class CallerClaims(Struct, frozen=True):
    """The claims of a request about its caller."""

    revision: str
    capabilities: Capabilities
    client: str
    log_level: str | UnsetType


ProgressToken = Raw | UnsetType
"""Of one request, and nothing about its caller."""
Claims = tuple[CallerClaims, ProgressToken]


def read_caller(request: Request, headers: Headers | None = None) -> Claims:
    """Check `_meta`, then the headers (HTTP only), then the revision. The first check that fails is raised."""
    params = metas.read_params(request.params)
    version = _version_of(params.meta, b"" if headers is None else headers.get(VERSION, b""))
    if headers is not None:
        check_mirrors(request.method, version, params, headers)
    return _told_by(params.meta, version)


def read_usual_caller(meta: bytes) -> Claims | None:
    """The claims of a usual tools/call about its caller, by its `_meta` alone; None if `read_caller` has to check it.

    A client says the same of itself with every request, but for its progress token, so the result is remembered.
    """
    return _known.get(meta) or _learn(meta)


_known: dict[bytes, Claims] = {}
"""By `_meta`, without a progress token: with one, no two are the same."""


def _learn(meta: bytes) -> Claims | None:
    if len(meta) > MAX_KNOWN_META:
        return None
    try:
        read = metas.read_meta(meta)
        claims = _told_by(read, _version_of(read))
    except ClawftError:
        return None
    if read.progress_token is UNSET:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        _known[meta] = claims
    return claims


def _version_of(meta: Meta, header: bytes = b"") -> str:
    if meta.version is UNSET or meta.capabilities is UNSET:
        missing = metas.VERSION if meta.version is UNSET else metas.CAPABILITIES
        raise BadParams(f"_meta lacks {missing}", hint=_why_it_should(header.decode("latin-1")))
    return meta.version


def _why_it_should(header: str) -> str:
    """Whoever has a session and garbles its header comes here too, and lacks nothing but a right one."""
    if not header or header in REVISIONS:
        return "every request of 2026-07-28 carries it"
    reason = f"the header MCP-Protocol-Version says {header[:MAX_TOLD]!r}, which is no revision with sessions"
    return f"{reason}: {', '.join(HANDSHAKE)}"


def _told_by(meta: Meta, version: str) -> Claims:
    client = b"" if meta.client is UNSET else copied((meta.client,))
    offered = b"{}" if meta.capabilities is UNSET else copied((meta.capabilities,))
    read = _claims if len(offered) + len(client) <= MAX_KNOWN_META else _claims.__wrapped__
    token = meta.progress_token if meta.progress_token is UNSET else meta.progress_token.copy()  # all by itself
    return read(version, offered, client, meta.log_level), token


@lru_cache(maxsize=MAX_KNOWN)
def _claims(version: str, capabilities: bytes, client: bytes, log_level: str | UnsetType) -> CallerClaims:
    if version not in STATELESS:
        raise unsupported(version)
    if log_level is not UNSET:
        metas.check_level(log_level)
    name = metas.read_client(client) if client else ""
    return CallerClaims(version, metas.read_capabilities(capabilities), name, log_level)


def unsupported(requested: str) -> UnsupportedRevision:
    known = requested in REVISIONS
    return UnsupportedRevision(
        f"protocol revision {requested[:MAX_TOLD]!r} is {'spoken after initialize only' if known else 'not served'}",
        data={"supported": list(STATELESS), "requested": requested[:MAX_TOLD]},
    )


def finish_result(payload: bytes, server: bytes, kind: Kind = Kind.COMPLETE, cache: bytes = b"") -> bytes:
    """Add what every result of this era carries: its type, who made it and, for lists, how long it keeps.

    `server` is our `serverInfo` as JSON. What a result says of its own type counts for nothing here.
    """
    if _is_ours(payload, cache):
        return _merge(payload, server, kind, cache)
    head, tail = _around(server, kind, cache)
    if len(payload) > _LONG and payload[1:2] == b'"':
        return b"".join((head, memoryview(payload)[1:-1], tail))
    inner = payload[1:-1]
    if not inner or inner.isspace():
        return head.rstrip(b",") + tail
    return head + inner + tail


def finish_large(room: BytesIO, server: bytes, kind: Kind = Kind.COMPLETE, cache: bytes = b"") -> bytes:
    """The result of `finish_result` for a long result that nobody else has, made where that is (see `inplace`)."""
    payload = room.getvalue()
    if payload[1:2] != b'"' or _is_ours(payload, cache):
        return finish_result(payload, server, kind, cache)
    end = len(payload) - 1
    del payload
    return enclosed(room, 1, end, *_around(server, kind, cache))


def _is_ours(payload: bytes, cache: bytes) -> bool:
    """Whether the result may have members that we have to write ourselves."""
    if b'"_meta"' in payload or b'"resultType"' in payload or _SPELLED in payload:
        return True
    return bool(cache) and _may_say_how_long(payload)


@lru_cache(maxsize=16)
def _around(server: bytes, kind: Kind, cache: bytes) -> tuple[bytes, bytes]:
    """The bytes before and after the members of a result."""
    head = b'{"resultType":"%s",' % kind.value.encode() + cache
    return head, b',"_meta":{"%s":' % metas.SERVER.encode() + server + b"}}"


_LONG = 16 * 1024
"""From here on a second copy costs more than a view."""
_object = msgspec.json.Decoder(dict[str, Raw])
_SPELLED = b"\\u00"
"""An escape that a member's name may be spelled with."""


def _merge(payload: bytes, server: bytes, kind: Kind, cache: bytes) -> bytes:
    """The slow way, for results with members that are ours to write (or the word somewhere inside)."""
    members = _object.decode(payload)
    meta = _members_of(members.get("_meta", _EMPTY))
    members["_meta"] = Raw(msgspec.json.encode({**meta, metas.SERVER: Raw(server)}))
    members["resultType"] = Raw(b'"%s"' % kind.value.encode())  # ours to say: a tool that says it may want to ask as us
    if cache:
        members.update(_object.decode(b"{" + cache.rstrip(b",") + b"}"))
    return msgspec.json.encode(members)


_EMPTY = Raw(b"{}")


def _members_of(meta: Raw) -> dict[str, Raw]:
    """A `_meta` that is no object says nothing."""
    try:
        return _object.decode(meta)
    except msgspec.ValidationError:
        return {}


def cache_hint(ttl_ms: int, scope: str) -> bytes:
    return b'"ttlMs":%d,"cacheScope":"%s",' % (ttl_ms, scope.encode())


def missing_hint(result: bytes) -> bytes:
    """The missing members of a read result that say how long it keeps, and for whom; nothing if it has both. One of the
    two is as good as none: clients of this era need both, and a wrong one may cost them the result.
    """
    if _may_say_how_long(result) or _SPELLED in result:
        try:
            msgspec.json.decode(result, type=_Keeps)
        except msgspec.ValidationError:
            pass
        else:
            return b""
    return cache_hint(READ_TTL_MS, "private")


def _may_say_how_long(result: bytes) -> bool:
    return b'"ttlMs"' in result or b'"cacheScope"' in result


class _Keeps(Struct, rename="camel"):
    ttl_ms: Annotated[int, msgspec.Meta(ge=0)]
    cache_scope: Literal["public", "private"]


def error_code(error: ClawftError) -> int:
    """Codes of this era: a missing resource is told like any other wrong word."""
    if not isinstance(error, JsonRpcFailure):
        return error.code
    return INVALID_PARAMS if error.error_code == RESOURCE_NOT_FOUND else passed_on(error.error_code)
