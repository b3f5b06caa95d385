"""Bytes to messages and back.

A message is narrowed once, here, into one of four frozen shapes; after that nobody asks whether a field is set. Ids and
payloads stay the JSON bytes they came as: an id goes back exactly as it was spelled, a payload is never re-encoded.
"""

import re
from codecs import getincrementaldecoder
from io import BytesIO
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import (
    BadEnvelope,
    BadNotification,
    ClawftError,
    JsonRpcFailure,
    ParseError,
    ProtocolFailure,
    WireError,
)
from clawft.wire import parts
from clawft.wire.framing import HEAD_BYTES
from clawft.wire.inplace import LARGE, enclosed
from clawft.wire.strings import clipped_json, without_halves
from clawft.wire.visible import make_visible

NULL = b"null"
MAX_BATCH = 100
MAX_BATCH_BYTES = 1024 * 1024
"""Each member becomes an object of its own: many tiny ones would take fifty times their size."""
MAX_BESIDE_BYTES = 1024 * 1024
"""What may stand in a request beside its params; it is read for keys that occur twice."""


MAX_ERROR_BYTES = 64 * 1024
"""Of an error answer of a server; of a longer one the beginning of its message is kept, and its data are not."""
MAX_MESSAGE_BYTES = 16 * 1024


class Request(Struct, frozen=True, gc=False):
    id: bytes
    method: str
    params: bytes = b""


class Notification(Struct, frozen=True, gc=False):
    method: str
    params: bytes = b""


class Response(Struct, frozen=True, gc=False):
    id: bytes
    result: bytes


class JsonRpcError(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = UNSET


class _LongError(Struct):
    code: int
    message: Raw


class Failure(Struct, frozen=True, gc=False):
    """An error answer. `error` is the raw object, so that what we do not know passes through; `read` gives the view."""

    id: bytes
    error: bytes

    def read(self) -> JsonRpcFailure:
        try:
            if len(self.error) > MAX_ERROR_BYTES:
                long = _long_error.decode(self.error)
                return JsonRpcFailure(long.code, clipped_json(long.message, MAX_MESSAGE_BYTES))
            error = _error.decode(self.error)
        except msgspec.DecodeError as wrong:
            raise ProtocolFailure(f"the error of an answer is malformed: {wrong}") from None
        return JsonRpcFailure(error.code, error.message, None if error.data is UNSET else error.data)


Message = Request | Notification | Response | Failure


class _OnlyId(Struct):
    """What can still be read of a message whose other members have the wrong type."""

    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET


class _Envelope(Struct, gc=False):
    jsonrpc: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_LIKELY_ID = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]*")\s*[,}]'
_LIKELY_METHOD = rb'("method")\s*:'
_LIKELY_OUTCOME = rb'("result"|"error")\s*:'
_TOGETHER = rb"\s*\[\s*[\[{]"

_ANSWER_HEAD = rb'\{(?:"jsonrpc": ?"2\.0", ?|"id": ?[0-9]{1,18}, ?){0,2}"result": ?'
_ANSWER_TAIL = rb'(?:, ?"jsonrpc": ?"2\.0"|, ?"id": ?[0-9]{1,18}){0,2}\}'
"""What stands around the result of an answer, as nearly everybody writes it."""
_LONGEST_TAIL = 128

_PIECE = 64 * 1024
_utf8 = getincrementaldecoder("utf-8")
_envelope = msgspec.json.Decoder(_Envelope)
_only_id = msgspec.json.Decoder(_OnlyId)
_any = msgspec.json.Decoder(Raw)
_error = msgspec.json.Decoder(JsonRpcError)
_long_error = msgspec.json.Decoder(_LongError)
_batch = msgspec.json.Decoder(list[Raw])
encode = msgspec.json.encode
copied = b"".join
"""`copied((raw,))` is `bytes(raw)` in a third of the time, and every message has several. Of many it makes one, where
each `+` would make a copy of its own: a large message must not be there more often than it has to.
"""


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def decode(line: bytes) -> Message:
    """One message. Raises ParseError or BadEnvelope and nothing else."""
    if not line.isascii():
        _check_utf8(line)
    try:
        envelope = _envelope.decode(line)
    except msgspec.ValidationError as wrong:
        raise _misshapen(line, wrong) from None
    except msgspec.DecodeError as wrong:
        mended = without_halves(line)
        if mended is None:
            raise ParseError(str(wrong)) from None
        return decode(mended)
    except RecursionError:
        raise _too_deep() from None
    if len(line) > parts.LONG and parts.are_many(line):
        raise _too_many_parts(envelope)
    if envelope.method is not UNSET:
        return _read_call(line, envelope, envelope.method)
    return _read_answer(envelope)


def decode_large(room: BytesIO) -> Message:
    """The same for a long line that nobody else has: the result of a usual answer is left where it is."""
    line = room.getvalue()
    found = _find_result(line)
    if found is None:
        return decode(line)
    del line
    id, start, end = found
    return Response(id, enclosed(room, start, end))


def _find_result(line: bytes) -> tuple[bytes, int, int] | None:
    """The id of a usual answer, where its result begins, and where it ends. None: read it like any other."""
    head = re.match(_ANSWER_HEAD, line)
    if head is None or parts.are_many(line):
        return None
    if not line.isascii():
        _check_utf8(line)
    try:
        envelope = _envelope.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if envelope.id is UNSET or envelope.result is UNSET:
        return None
    end = head.end() + len(memoryview(envelope.result))
    if len(line) - end > _LONGEST_TAIL or re.compile(_ANSWER_TAIL).fullmatch(line, end) is None:
        return None  # or it is the second of two results
    return copied((envelope.id,)), head.end(), end


def _misshapen(line: bytes, wrong: msgspec.ValidationError) -> ParseError | BadEnvelope:
    """The decoder stops at the first wrong type; what follows may still be broken JSON, or have the id to answer to."""
    try:
        _any.decode(line)
    except msgspec.DecodeError as broken:
        return ParseError(str(broken))
    except RecursionError:
        return _too_deep()
    try:
        read = _only_id.decode(line)
    except msgspec.DecodeError:
        read = _OnlyId()
    id = NULL if read.id is UNSET or read.method is UNSET else bytes(read.id)
    return BadEnvelope(f"not a JSON-RPC message: {wrong}", id=id if is_id(id) else NULL)


def likely_answer(line: bytes) -> bytes:
    """The id of a line that was meant as an answer and cannot be read; empty if it was meant as something else."""
    head = line[:HEAD_BYTES]
    if not _likely(_LIKELY_OUTCOME, head) and (is_likely_call(head) or len(line) > HEAD_BYTES):
        return b""
    return _likely(_LIKELY_ID, head)


def likely_request(line: bytes) -> bytes:
    """The id of a line that was meant as a request and cannot be read; else empty."""
    head = line[:HEAD_BYTES]
    return _likely(_LIKELY_ID, head) if is_likely_call(head) else b""


def is_likely_call(head: bytes) -> bool:
    return _likely(_LIKELY_METHOD, head) != b""


def _likely(member: bytes, head: bytes) -> bytes:
    """A member of the message itself, and not of something in it."""
    if head[:1] != b"{" or b'"jsonrpc"' not in head:
        return b""
    for found in re.finditer(member, head):
        before = head[: found.start()]
        if before.count(b"{") - before.count(b"}") == 1:
            return found[1]
    return b""


def is_batch(line: bytes) -> bool:
    return line.lstrip()[:1] == b"["


def decode_batch(line: bytes) -> list[bytes]:
    """The members of a JSON array, still raw. Raises ParseError, or BadEnvelope if they are none or too many."""
    if len(line) > MAX_BATCH_BYTES:
        raise ParseError(f"a batch of more than {MAX_BATCH_BYTES} bytes", hint="send its messages one by one")
    try:
        members = _batch.decode(line)
    except msgspec.DecodeError as wrong:
        raise ParseError(str(wrong)) from None
    except RecursionError:
        raise _too_deep() from None
    if not 0 < len(members) <= MAX_BATCH:
        raise BadEnvelope(f"a batch has 1 to {MAX_BATCH} messages")
    return [bytes(member) for member in members]


def unpack(line: bytes) -> list[bytes]:
    """The messages that a server has sent together. Raises WireError if this is no batch of them, or without bounds."""
    members = decode_batch(line)
    if any(map(is_batch, members)):
        raise BadEnvelope("a batch within a batch")
    return members


def unpacked(line: bytes) -> list[bytes]:
    """The same; none if there is something wrong with it."""
    try:
        return unpack(line) if is_batch(line) else []
    except WireError:
        return []


def unread_answers(line: bytes) -> str:
    """Why messages that came together are not taken apart, where answers may be among them; else empty."""
    told = b'"jsonrpc"' in line and (b'"result"' in line or b'"error"' in line)
    if not told or not re.match(_TOGETHER, line):  # what a program writes by mistake may begin with a bracket, too
        return ""
    try:
        unpack(line)
    except WireError as wrong:
        return str(wrong)
    return ""


def _too_deep() -> ParseError:
    return ParseError("the JSON is nested too deeply", hint="about 900 levels are always read")


def _too_many_parts(envelope: _Envelope) -> BadEnvelope:
    """Only to a request there is an answer."""
    told = f"the message has more than {parts.MAX_PARTS} members and items"
    if envelope.id is UNSET and envelope.method is not UNSET:
        return BadNotification(told)
    id = NULL if envelope.id is UNSET or envelope.method is UNSET else copied((envelope.id,))
    return BadEnvelope(told, id=id if is_id(id) else NULL, hint="ask for less at a time")


def _check_utf8(line: bytes) -> None:
    """In pieces: as one text a long line could take four times its room."""
    decoder = _utf8()
    try:
        for start in range(0, len(line), _PIECE):
            decoder.decode(line[start : start + _PIECE], start + _PIECE >= len(line))
    except UnicodeDecodeError as wrong:
        raise ParseError(f"not UTF-8: {wrong.reason}") from None


def _read_call(line: bytes, envelope: _Envelope, method: str) -> Request | Notification:
    id = None if envelope.id is UNSET else copied((envelope.id,))
    params = b"" if envelope.params is UNSET else copied((envelope.params,))
    filled = 0 if id is None else _USUAL + len(id) + len(method) + len(params)  # see `_is_tight`
    if id is not None and len(line) == filled and id.isdigit() and params[:1] == b"{" and envelope.jsonrpc == "2.0":
        return Request(id, method, params)
    if id is not None and not id.isdigit() and not is_id(id):
        raise BadEnvelope("the id must be a string or an integer", id=NULL)
    if envelope.jsonrpc != "2.0":
        raise _bad_call('jsonrpc must be "2.0"', id)
    if envelope.result is not UNSET or envelope.error is not UNSET:
        raise _bad_call("a message with a method cannot also be an answer", id)
    if params == NULL and id is None:  # some write it where there are none, and would never hear that it is wrong
        params = b""
    if params and params[:1] != b"{":
        raise _bad_call("params must be an object", id)
    if not _is_tight(line, id, method, params):
        _refuse_duplicates(line, id, params)
    return Notification(method, params) if id is None else Request(id, method, params)


def _bad_call(what: str, id: bytes | None) -> BadEnvelope:
    return BadNotification(what) if id is None else BadEnvelope(what, id=id)


def _read_answer(envelope: _Envelope) -> Response | Failure:
    id = NULL if envelope.id is UNSET else copied((envelope.id,))
    if envelope.error is UNSET and envelope.result is not UNSET:
        return Response(id, copied((envelope.result,)))
    if envelope.result is not UNSET and envelope.error is not UNSET:
        # The id is one of ours: under it the error would pass for the answer to a request of the sender's own.
        raise BadEnvelope("an answer has either a result or an error; this has both", id=NULL)
    if envelope.error is UNSET:
        raise BadEnvelope("a message needs a method, a result or an error; this has none", id=id if is_id(id) else NULL)
    return Failure(id, copied((envelope.error,)))


def is_id(raw: bytes) -> bool:
    """A string or an integer; never null, never 1.5, never an object."""
    if raw[:1] == b'"':
        return True
    return raw.isdigit() or (raw[:1] == b"-" and raw[1:].isdigit())


_BARE = len('{"jsonrpc":"2.0","method":""}')
_ID = len(',"id":')
_PARAMS = len(',"params":')
_USUAL = _BARE + _ID + _PARAMS


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
    if len(line) == length:
        return True
    # `,"id":1` is as long as the blanks; so there must be one of them.
    return len(line) == length + 2 * members - 1 and line.find(b" ") == line.find(b":") + 1


def _refuse_duplicates(line: bytes, id: bytes | None, params: bytes) -> None:
    import json  # only messages in unusual spelling come here

    outermost: list[str] = []

    def note_keys(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = [key for key, _ in pairs]  # called for inner objects first, for the message itself last

    line = line.replace(params, b"0", 1) if params else line
    if len(line) > MAX_BESIDE_BYTES:
        raise _bad_call(f"more than {MAX_BESIDE_BYTES} bytes beside the params", id)
    try:
        json.loads(line, object_pairs_hook=note_keys, parse_int=str, parse_float=str)
    except RecursionError:
        raise _too_deep() from None
    if len(set(outermost)) != len(outermost):
        raise _bad_call("a key occurs twice in the message", id)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


_BEFORE_ID = b'{"jsonrpc":"2.0","id":'


def result(id: bytes, payload: bytes) -> bytes:
    size = len(payload)
    if size < LARGE:
        return copied((_BEFORE_ID, id, b',"result":', payload, b"}"))
    room = BytesIO(payload)
    del payload  # see `inplace`
    return enclosed(room, 0, size, copied((_BEFORE_ID, id, b',"result":')), b"}")


def failure(id: bytes | None, code: int, message: str, data: Any = None) -> bytes:
    """Whoever the words are from, nothing is hidden in them."""
    error = make_visible(encode(JsonRpcError(code, message, UNSET if data is None else data)))
    return b'{"jsonrpc":"2.0","id":' + (id or NULL) + b',"error":' + error + b"}"


def failure_of(id: bytes | None, error: ClawftError, code: int | None = None) -> bytes:
    """The error answer for one of our own errors."""
    return failure(id, error.code if code is None else code, str(error), error.data)


def id_of(answer: bytes) -> bytes:
    """Of an answer we made."""
    id = _only_id.decode(answer).id
    return NULL if id is UNSET else bytes(id)


def is_notification(message: bytes) -> bool:
    """Of a message we made: may it be left out for a reader that does not keep up?"""
    return message.startswith(b'{"jsonrpc":"2.0","method"')


def request(id: int, method: str, params: bytes = b"") -> bytes:
    return request_as(b"%d" % id, method, params)


def request_as(id: bytes, method: str, params: bytes = b"") -> bytes:
    if not params:
        return request_of(id, after_id(method))
    head = (_BEFORE_ID, id, b',"method":', encode(method), b',"params":')
    size = len(params)
    if size < LARGE:
        return copied((*head, params, b"}"))
    room = BytesIO(params)
    del params  # see `inplace`
    return enclosed(room, 0, size, copied(head), b"}")


def request_of(id: bytes, rest: bytes) -> bytes:
    """Of all that follows the id."""
    return _BEFORE_ID + id + rest


def after_id(method: str, params: bytes = b"") -> bytes:
    """A request as far as it does not depend on its id."""
    return b',"method":%b,"params":%b}' % (encode(method), params) if params else b',"method":%b}' % encode(method)


def notification(method: str, params: bytes = b"") -> bytes:
    head = b'{"jsonrpc":"2.0","method":' + encode(method)
    return copied((head, b',"params":', params, b"}")) if params else head + b"}"
