"""The four messages there are.

Ids and payloads stay the JSON bytes they came as: an id goes back exactly as it was spelled, a payload is never
re-encoded.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct

from clawft.errors import JsonRpcFailure, ProtocolFailure
from clawft.wire.strings import clipped_json

NULL = b"null"
"""The id of an answer to nobody knows what."""
UNREAD = "clawft/unread"
"""The member of a list that is not whole that says how many entries it lacks, see `salvage`."""
MAX_ERROR_BYTES = 64 * 1024
"""Of an error answer of a server; of a longer one the beginning of its message is kept, and its data are not."""
MAX_MESSAGE_BYTES = 16 * 1024

copied = b"".join
"""`copied((raw,))` is `bytes(raw)` in a third of the time, and every message has several. Of many it makes one, where
each `+` would make a copy of its own: a large message must not be there more often than it has to.
"""


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


ErrorCode = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""Clients in many languages read no other: they would drop the whole answer, and wait for it for ever."""


class JsonRpcError(Struct, frozen=True, omit_defaults=True):
    code: ErrorCode
    message: str
    data: Any = UNSET


class _LongError(Struct):
    code: ErrorCode
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
        except RecursionError:  # a link reads a little deeper than whoever reads on in it
            raise ProtocolFailure("the error of an answer is nested too deeply") from None
        return JsonRpcFailure(error.code, error.message, None if error.data is UNSET else error.data)


Message = Request | Notification | Response | Failure

_error = msgspec.json.Decoder(JsonRpcError)
_long_error = msgspec.json.Decoder(_LongError)


def is_id(raw: bytes) -> bool:
    """A string or an integer; never null, never 1.5, never an object."""
    if raw[:1] == b'"':
        return True
    return raw.isdigit() or (raw[:1] == b"-" and raw[1:].isdigit())
