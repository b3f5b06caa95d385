"""Bytes to one message.

A message is narrowed once, here, into one of four frozen shapes; after that nobody asks whether a field is set.
"""

import re
from codecs import getincrementaldecoder
from io import BytesIO

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import BadEnvelope, BadNotification, ParseError
from clawft.wire import parts
from clawft.wire.inplace import enclosed
from clawft.wire.jsonrpc.messages import NULL, Failure, Message, Notification, Request, Response, copied, is_id
from clawft.wire.strings import replace_lone_surrogates


class _OnlyId(Struct):
    """The part that can still be read of a message whose other members have the wrong type."""

    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET


class _Envelope(Struct, gc=False):
    jsonrpc: str | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_ANSWER_HEAD = rb'\{(?:"jsonrpc": ?"2\.0", ?|"id": ?[0-9]{1,18}, ?){0,2}"result": ?'
_ANSWER_TAIL = rb'(?:, ?"jsonrpc": ?"2\.0"|, ?"id": ?[0-9]{1,18}){0,2}\}'
"""The text around the result of an answer, as nearly everybody writes it."""
_LONGEST_TAIL = 128

_BARE = len('{"jsonrpc":"2.0","method":""}')
_ID = len(',"id":')
_PARAMS = len(',"params":')
_AROUND_USUAL = _BARE + _ID + _PARAMS
"""The text in a usual request beside its id, method and params."""

_PIECE = 64 * 1024
_utf8 = getincrementaldecoder("utf-8")
_envelope = msgspec.json.Decoder(_Envelope)
_only_id = msgspec.json.Decoder(_OnlyId)
_any = msgspec.json.Decoder(Raw)


def decode(line: bytes) -> Message:
    """One message. Raises ParseError or BadEnvelope and nothing else."""
    if not line.isascii():
        check_utf8(line)
    try:
        envelope = _envelope.decode(line)
    except msgspec.ValidationError as wrong:
        raise _misshapen(line, wrong) from None
    except msgspec.DecodeError as wrong:
        mended = replace_lone_surrogates(line)
        if mended is None:
            raise ParseError(str(wrong) if line.strip() else "there is no message: nothing was sent") from None
        return _with_its_own_id(decode(mended), line)
    except RecursionError:
        raise too_deep() from None
    if len(line) > parts.LONG and parts.are_many(line):
        raise _too_many_parts(envelope)
    if envelope.method is not UNSET:
        return _read_call(line, envelope, envelope.method)
    return _read_answer(envelope)


def _with_its_own_id(message: Message, line: bytes) -> Message:
    """A text may have a replacement for a lone surrogate. An id may not: it has to go back as it came."""
    if isinstance(message, Request) and message.id not in line:
        raise BadEnvelope("the id contains half a surrogate pair, which no response could repeat", id=NULL)
    return message


def decode_large(room: BytesIO) -> Message:
    """The message of a long line that nobody else has, as `decode` gives it: the result of a usual answer is left where
    it is.
    """
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
        check_utf8(line)
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


def check_utf8(line: bytes) -> None:
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
    filled = 0 if id is None else _AROUND_USUAL + len(id) + len(method) + len(params)  # see `_is_tight`
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
    from clawft.wire.jsonrpc.duplicates import why_refused  # few messages have room for one

    try:
        wrong = why_refused(line, params)
    except RecursionError:
        raise too_deep() from None
    if wrong:
        raise _bad_call(wrong, id)


def _read_answer(envelope: _Envelope) -> Response | Failure:
    id = NULL if envelope.id is UNSET else copied((envelope.id,))
    if envelope.error is UNSET and envelope.result is not UNSET:
        return Response(id, copied((envelope.result,)))
    if envelope.result is not UNSET and envelope.error is not UNSET:
        if copied((envelope.error,)) == NULL:  # some write it where there is none
            return Response(id, copied((envelope.result,)))
        if copied((envelope.result,)) == NULL:
            return Failure(id, copied((envelope.error,)))
        # The id is one of ours: under it the error would pass for the answer to a request of the sender's own.
        raise BadEnvelope("an answer has either a result or an error; this has both", id=NULL)
    if envelope.error is UNSET:
        raise BadEnvelope("a message needs a method, a result or an error; this has none", id=id if is_id(id) else NULL)
    return Failure(id, copied((envelope.error,)))


# ── refusing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _bad_call(what: str, id: bytes | None) -> BadEnvelope:
    return BadNotification(what) if id is None else BadEnvelope(what, id=id)


def _misshapen(line: bytes, wrong: msgspec.ValidationError) -> ParseError | BadEnvelope:
    """The decoder stops at the first wrong type; what follows may still be broken JSON, or have the id to answer to."""
    try:
        _any.decode(line)
    except msgspec.DecodeError as broken:
        return ParseError(str(broken))
    except RecursionError:
        return too_deep()
    try:
        read = _only_id.decode(line)
    except msgspec.DecodeError:
        read = _OnlyId()
    id = NULL if read.id is UNSET or read.method is UNSET else bytes(read.id)
    return BadEnvelope(f"not a JSON-RPC message: {wrong}", id=id if is_id(id) else NULL)


def too_deep() -> ParseError:
    return ParseError("the JSON is nested too deeply", hint="about 900 levels are always read")


def _too_many_parts(envelope: _Envelope) -> BadEnvelope:
    """Only to a request there is an answer."""
    problem = f"the message has more than {parts.MAX_PARTS} members and items"
    if envelope.id is UNSET and envelope.method is not UNSET:
        return BadNotification(problem)
    id = NULL if envelope.id is UNSET or envelope.method is UNSET else copied((envelope.id,))
    return BadEnvelope(problem, id=id if is_id(id) else NULL, hint="ask for less at a time")
