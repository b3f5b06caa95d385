"""Rewrites the bytes of a relayed call: names, tokens and protocol keys change, the rest stays as it came."""

from __future__ import annotations

import os

import msgspec
from msgspec import Raw, Struct

from clawft.errors import ProtocolFailure
from clawft.model import Kind, Reply
from clawft.wire import blocks, narrow, parts
from clawft.wire import meta as metas
from clawft.wire.readable import why_unreadable
from clawft.wire.shapes import flaw
from clawft.wire.trace import PARENT, continued

_PROTOCOL = metas.PREFIX.rstrip("/").encode()
"""Without the slash, as JSON may escape it."""
_CACHE_HINTS = ("ttlMs", "cacheScope")
_PROGRESS = b'"progressToken"'

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


def wants_progress(meta: bytes) -> bool:
    return _PROGRESS in meta


def outgoing_meta(meta: bytes, token: int | None) -> dict[str, Raw]:
    """The caller's `_meta` without the keys between it and us, and with our progress token in place of its own."""
    members = {key: value for key, value in _object.decode(meta).items() if key not in metas.HOP} if meta else {}
    if members.pop("progressToken", None) is not None and token is not None:
        members["progressToken"] = Raw(b"%d" % token)
    return continued(members, _new_span) if PARENT in members else members


def _new_span() -> str:
    return os.urandom(8).hex()


def call_end(meta: bytes, token: int | None) -> bytes:
    """The request's bytes behind the arguments."""
    sent = outgoing_meta(meta, token)
    return b',"_meta":%b}}' % _encode(sent) if sent else b"}}"


def call_params(name: bytes, arguments: bytes, meta: dict[str, Raw], more: bytes = b"") -> bytes:
    """The `params` of a tools/call; `name` is the server's own, as JSON."""
    extra = b',"_meta":%b' % _encode(meta) if meta else b""
    rest = b",%b" % more[1:-1] if more else b""
    return b'{"name":%b,"arguments":%b%b%b}' % (name, arguments, extra, rest)


def further(more: bytes) -> dict[str, Raw]:
    """The members of a request that we do not know, for the server."""
    return _object.decode(more) if more else {}


class _Said(Struct, rename="camel"):
    """Raw members, so that no value of the wrong type is refused here."""

    is_error: Raw = Raw(b"false")
    result_type: Raw = Raw(b'"complete"')


_said = msgspec.json.Decoder(_Said)
_TRUE, _FALSE, _NULL, _COMPLETE = b"true", b"false", b"null", b'"complete"'
_LEFT_OUT = ("isError", "structuredContent")
"""Members that some servers send as `null` instead of leaving them out."""
_NOTHING = Raw(b"{}")


def reply_of(result: bytes, *, stateless: bool, older: bool = False) -> Reply:
    """The reply for a server's result, without what belongs to the stateless dialect alone.

    `older`: the agent accepts structured content only if it is an object.

    Raises ProtocolFailure for something that is no result, or of a kind we did not ask for.
    """
    if not stateless and blocks.is_one_text(result):
        return Reply(result, False)
    is_error = blocks.read_error(result, MAX_BLOCKS) if len(result) < parts.LONG or _has_few_blocks(result) else None
    if is_error is None:
        return _unusual(result, stateless=stateless, older=older)
    return Reply(_plain(result, older=older) if stateless else _without_hop(result), is_error)


def _unusual(result: bytes, *, stateless: bool, older: bool) -> Reply:
    if result[:1] != b"{":
        raise ProtocolFailure("the result is not an object")
    must_be_readable(result, "its result")
    read = _said.decode(result)
    kind = _kind_of(read.result_type) if stateless else Kind.COMPLETE
    if kind is Kind.COMPLETE:
        _must_tell(read.is_error)
        _must_be_whole(result)
        result = _readable(with_blocks(result), stateless=stateless, older=older)
    plain = _plain(result, older=older) if stateless else _without_hop(result)
    return Reply(plain, bytes(read.is_error) == _TRUE, kind)


def must_be_readable(answer: bytes, what: str) -> None:
    """Raises ProtocolFailure for JSON that clients cannot read: some would wait for their answer for ever."""
    why = why_unreadable(answer)
    if why:
        raise ProtocolFailure(f"{what} cannot be passed on: {why}")


def _must_tell(is_error: Raw) -> None:
    if bytes(is_error) not in (_TRUE, _FALSE, _NULL):
        raise ProtocolFailure("its isError is neither true nor false")


def _must_be_whole(result: bytes) -> None:
    """Raises ProtocolFailure for a result without content that is of another revision, a question or a task."""
    members = _object.decode(result)
    if "content" in members:
        return
    kind = bytes(members.get("resultType", _COMPLETE))
    if kind != _COMPLETE:
        named = kind[:50].decode(errors="replace")
        raise ProtocolFailure(f"a result of the kind {named}, which the revision it speaks does not have")
    if _is_object(members.get("task", Raw(_NULL))):
        raise ProtocolFailure("a task in place of a result, but no valid one")


def _readable(result: bytes, *, stateless: bool, older: bool) -> bytes:
    """The result without members that the agent could not read."""
    members = _object.decode(result)
    wrong = {key for key, value in members.items() if key in _LEFT_OUT and bytes(value) == _NULL}
    if stateless:
        wrong.discard("structuredContent")  # where it may be anything
    if not _is_object(members.get("_meta", _NOTHING)):
        wrong.add("_meta")
    kept = {key: value for key, value in members.items() if key not in wrong}
    if older and narrow.is_unknown_structure(kept.get("structuredContent")):
        kept = narrow.without_structure(kept)
    return result if kept == members else _encode(kept)


def _is_object(value: Raw) -> bool:
    return bytes(value)[:1] == b"{"


def _kind_of(told: Raw) -> Kind:
    kind = _KINDS.get(bytes(told))
    if kind is None:
        raise ProtocolFailure(f"a result of the unknown kind {bytes(told)[:50].decode(errors='replace')}")
    return kind


MAX_BLOCKS = 10_000
"""Content blocks in one result: each takes memory of its own wherever it is decoded."""

_NO_BLOCKS = Raw(b"[]")


def with_blocks(result: bytes) -> bytes:
    """The tool result with its list of content, which clients rely on: an empty one if the server left it out or wrote
    `null`, as servers in Go do.

    Raises ProtocolFailure if the content is no list, has other items than blocks, or too many.
    """
    members = _object.decode(result)
    if bytes(members.get("content", Raw(_NULL))) == _NULL:
        return _encode({**members, "content": _NO_BLOCKS})
    try:
        content, count = blocks.mended_blocks(members["content"], MAX_BLOCKS)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"its content is malformed: {flaw(wrong)}") from None
    if count > MAX_BLOCKS:
        raise ProtocolFailure(f"its content has {count} blocks; {MAX_BLOCKS} at most are read")
    return result if content is members["content"] else _encode({**members, "content": Raw(content)})


def _has_few_blocks(result: bytes) -> bool:
    """A cheap upper bound: each block begins with a brace."""
    return result.count(b"{") <= MAX_BLOCKS


_KINDS = {b'"%s"' % kind.value.encode(): kind for kind in Kind}


_MENDS = {"prompts/get": blocks.mended_prompt, "resources/read": blocks.mended_resource}


def answer_of(method: str, result: bytes, *, stateless: bool) -> bytes:
    """The answer to prompts/get or resources/read, for the agent. Raises ProtocolFailure if it is malformed."""
    must_be_readable(result, f"its answer to {method}")
    try:
        result = _MENDS[method](result)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"its answer to {method} is malformed: {flaw(wrong)}") from None
    return plain_result(result) if stateless else _without_hop(result)


def plain_result(result: bytes) -> bytes:
    """The result without `resultType` and the server's identity."""
    return _plain(result)


def without_hints(result: bytes) -> bytes:
    """The result without cache hints, for agents that know none."""
    if not any(b'"%s"' % hint.encode() in result for hint in _CACHE_HINTS):
        return result
    return _encode({key: value for key, value in _object.decode(result).items() if key not in _CACHE_HINTS})


def _plain(result: bytes, *, older: bool = False) -> bytes:
    members = _object.decode(result)
    members.pop("resultType", None)
    if older and narrow.is_unknown_structure(members.get("structuredContent")):
        members = narrow.without_structure(members)
    return _encode(_with_plain_meta(members))


def _without_hop(result: bytes) -> bytes:
    """The result without protocol keys in its `_meta`; in the handshake era it rarely has any."""
    if _PROTOCOL not in result:
        return result
    members = _object.decode(result)
    plain = _with_plain_meta(members)
    return result if plain == members else _encode(plain)


def _with_plain_meta(members: dict[str, Raw]) -> dict[str, Raw]:
    meta = _plain_meta(members.get("_meta"))
    if meta is not None:
        return {**members, "_meta": meta}
    return {key: value for key, value in members.items() if key != "_meta"}


def _plain_meta(meta: Raw | None) -> Raw | None:
    """The result's `_meta` without protocol keys; None if nothing is left or it is no object."""
    if meta is None or not _is_object(meta):
        return None
    known = _object.decode(meta)
    kept = {key: value for key, value in known.items() if key not in metas.HOP}
    if len(kept) == len(known):
        return meta
    return Raw(_encode(kept)) if kept else None


def told_of(params: bytes) -> dict[str, Raw]:
    """The members of a notification, without the protocol keys of its `_meta`."""
    return _with_plain_meta(_object.decode(params))
