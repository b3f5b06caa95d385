"""Bytes to messages and back.

A message is narrowed once, here, into one of four frozen shapes; after that nobody asks whether a field is set. Ids and
payloads stay the JSON bytes they came as: an id goes back exactly as it was spelled, a payload is never re-encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import BadEnvelope, ClawftError, JsonRpcFailure, ParseError, ProtocolFailure

NULL = b"null"


class Request(Struct, frozen=True):
    id: bytes
    method: str
    params: bytes = b""


class Notification(Struct, frozen=True):
    method: str
    params: bytes = b""


class Response(Struct, frozen=True):
    id: bytes
    result: bytes


class JsonRpcError(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = UNSET


class Failure(Struct, frozen=True):
    """An error answer. `error` is the raw object, so that what we do not know passes through; `read` gives the view."""

    id: bytes
    error: bytes

    def read(self) -> JsonRpcFailure:
        try:
            error = _error.decode(self.error)
        except msgspec.DecodeError as wrong:
            raise ProtocolFailure(f"the error of an answer is malformed: {wrong}") from None
        return JsonRpcFailure(error.code, error.message, None if error.data is UNSET else error.data)


Message = Request | Notification | Response | Failure


class _Envelope(Struct):
    jsonrpc: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_error = msgspec.json.Decoder(JsonRpcError)
_batch = msgspec.json.Decoder(list[Raw])
encode = msgspec.json.encode


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def decode(line: bytes) -> Message:
    """One message. Raises ParseError or BadEnvelope and nothing else."""
    if not line.isascii():
        _check_utf8(line)
    try:
        envelope = _envelope.decode(line)
    except msgspec.ValidationError as wrong:
        raise BadEnvelope(f"not a JSON-RPC message: {wrong}") from None
    except msgspec.DecodeError as wrong:
        raise ParseError(str(wrong)) from None
    except RecursionError:
        raise ParseError("the JSON is nested too deeply", hint="at most about 900 levels are read") from None
    if envelope.method is not UNSET:
        return _read_call(line, envelope, envelope.method)
    return _read_answer(envelope)


def is_batch(line: bytes) -> bool:
    return line.lstrip()[:1] == b"["


def decode_batch(line: bytes) -> list[bytes]:
    """The members of a JSON array, still raw. Raises ParseError."""
    try:
        return [bytes(member) for member in _batch.decode(line)]
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise ParseError(str(wrong)) from None


def _check_utf8(line: bytes) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        raise ParseError(f"not UTF-8: {wrong.reason} at byte {wrong.start}") from None


def _read_call(line: bytes, envelope: _Envelope, method: str) -> Request | Notification:
    id = None if envelope.id is UNSET else bytes(envelope.id)
    params = b"" if envelope.params is UNSET else bytes(envelope.params)
    if id is not None and not is_id(id):
        raise BadEnvelope("the id must be a string or an integer", id=NULL)
    if envelope.jsonrpc != "2.0":
        raise BadEnvelope('jsonrpc must be "2.0"', id=id)
    if envelope.result is not UNSET or envelope.error is not UNSET:
        raise BadEnvelope("a message with a method cannot also be an answer", id=id)
    if params and params[:1] != b"{":
        raise BadEnvelope("params must be an object", id=id)
    if not _is_tight(line, id, method, params):
        _refuse_duplicates(line, id, params)
    return Notification(method, params) if id is None else Request(id, method, params)


def _read_answer(envelope: _Envelope) -> Response | Failure:
    id = NULL if envelope.id is UNSET else bytes(envelope.id)
    if (envelope.result is UNSET) == (envelope.error is UNSET):
        both = "both" if envelope.result is not UNSET else "neither of"
        raise BadEnvelope(f"a message needs a method, or exactly one of result and error; this has {both}", id=id)
    if envelope.error is not UNSET:
        return Failure(id, bytes(envelope.error))
    return Response(id, bytes(envelope.result))  # pyright: ignore[reportArgumentType]  # one of the two is set, checked above


def is_id(raw: bytes) -> bool:
    """A string or an integer; never null, never 1.5, never an object."""
    if raw[:1] == b'"':
        return True
    return raw.isdigit() or (raw[:1] == b"-" and raw[1:].isdigit())


_BARE = len('{"jsonrpc":"2.0","method":""}')
_ID = len(',"id":')
_PARAMS = len(',"params":')


def _is_tight(line: bytes, id: bytes | None, method: str, params: bytes) -> bool:
    """True if the parts we read fill the line, in compact spelling or with Python's blanks: no room for a second key.

    This is how duplicate keys are ruled out for nearly every message without looking at it twice.
    """
    members = 2
    length = _BARE + len(method)
    if id is not None:
        members += 1
        length += _ID + len(id)
    if params:
        members += 1
        length += _PARAMS + len(params)
    return len(line) in (length, length + 2 * members - 1)


def _refuse_duplicates(line: bytes, id: bytes | None, params: bytes) -> None:
    import json  # only messages in unusual spelling come here

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise BadEnvelope("a key occurs twice in the message", id=id)
        return members

    json.loads(line.replace(params, b"0", 1) if params else line, object_pairs_hook=unique)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def result(id: bytes, payload: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id + b',"result":' + payload + b"}"


def failure(id: bytes | None, code: int, message: str, data: Mapping[str, Any] | None = None) -> bytes:
    error = encode(JsonRpcError(code, message, UNSET if data is None else data))
    return b'{"jsonrpc":"2.0","id":' + (id or NULL) + b',"error":' + error + b"}"


def failure_of(id: bytes | None, error: ClawftError, code: int | None = None) -> bytes:
    """The error answer for one of our own errors."""
    return failure(id, error.code if code is None else code, str(error), error.data)


def request(id: int, method: str, params: bytes = b"") -> bytes:
    tail = b',"params":' + params if params else b""
    return b'{"jsonrpc":"2.0","id":%d,"method":' % id + encode(method) + tail + b"}"


def notification(method: str, params: bytes = b"") -> bytes:
    tail = b',"params":' + params if params else b""
    return b'{"jsonrpc":"2.0","method":' + encode(method) + tail + b"}"
