"""Messages to bytes."""

from io import BytesIO
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from clawft.errors import ClawftError
from clawft.wire.inplace import INPLACE_BYTES, enclosed
from clawft.wire.jsonrpc.messages import NULL, JsonRpcError, copied
from clawft.wire.visible import make_visible


class _Answer(Struct):
    id: Raw


_BEFORE_ID = b'{"jsonrpc":"2.0","id":'
_answer = msgspec.json.Decoder(_Answer)
_encode = msgspec.json.encode


def result(id: bytes, payload: bytes) -> bytes:
    size = len(payload)
    if size < INPLACE_BYTES:
        return copied((_BEFORE_ID, id, b',"result":', payload, b"}"))
    room = BytesIO(payload)
    del payload  # see `inplace`
    return enclosed(room, 0, size, copied((_BEFORE_ID, id, b',"result":')), b"}")


def failure(id: bytes | None, code: int, message: str, data: Any = None) -> bytes:
    """Whoever the words are from, nothing is hidden in them."""
    error = make_visible(_encode(JsonRpcError(code, message, UNSET if data is None else data)))
    return b'{"jsonrpc":"2.0","id":' + (id or NULL) + b',"error":' + error + b"}"


def failure_of(id: bytes | None, error: ClawftError, code: int | None = None) -> bytes:
    """The error answer for one of our own errors."""
    return failure(id, error.code if code is None else code, str(error), error.data)


def cancelled(id: bytes, details: bytes = b"") -> bytes:
    """Nobody wants the answer to our request any more. `details`: further members, as an object."""
    return notification(
        "notifications/cancelled", b'{"requestId":%b%b}' % (id, b"," + details[1:-1] if details else b"")
    )


def id_of(answer: bytes) -> bytes:
    """Of an answer we made."""
    return bytes(_answer.decode(answer).id)


def is_notification(message: bytes) -> bool:
    """Whether a message of ours may be left out for a reader that does not keep up."""
    return message.startswith(b'{"jsonrpc":"2.0","method"')


def request(id: int, method: str, params: bytes = b"") -> bytes:
    return request_as(b"%d" % id, method, params)


def request_as(id: bytes, method: str, params: bytes = b"") -> bytes:
    if not params:
        return request_of(id, after_id(method))
    head = (_BEFORE_ID, id, b',"method":', _encode(method), b',"params":')
    size = len(params)
    if size < INPLACE_BYTES:
        return copied((*head, params, b"}"))
    room = BytesIO(params)
    del params  # see `inplace`
    return enclosed(room, 0, size, copied(head), b"}")


def request_of(id: bytes, rest: bytes) -> bytes:
    """Of all that follows the id."""
    return _BEFORE_ID + id + rest


def after_id(method: str, params: bytes = b"") -> bytes:
    """A request as far as it does not depend on its id."""
    return b',"method":%b,"params":%b}' % (_encode(method), params) if params else b',"method":%b}' % _encode(method)


def notification(method: str, params: bytes = b"") -> bytes:
    head = b'{"jsonrpc":"2.0","method":' + _encode(method)
    return copied((head, b',"params":', params, b"}")) if params else head + b"}"
