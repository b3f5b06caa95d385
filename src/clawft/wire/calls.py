"""The usual tools/call, read in one go: a number for an id, a name, arguments, perhaps `_meta`, in compact spelling or
with the blanks that Python's `json.dumps` writes.

Most of the traffic looks like that. Whatever looks different is read by `jsonrpc.reading`, which says the same of these
(tests/props hold the two together) in twice the time.
"""

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.wire.jsonrpc.messages import copied
from clawft.wire.parts import LONG

TOOLS_CALL = "tools/call"


class UsualCall(Struct, frozen=True, gc=False):
    id: bytes
    name: str
    arguments: bytes
    meta: bytes = b""


class _Params(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw
    meta: Raw | UnsetType = field(default=UNSET, name="_meta")


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: str
    id: Raw
    method: str
    params: _Params


_line = msgspec.json.Decoder(_Line)
_NAMED = b'"%b"' % TOOLS_CALL.encode()
_META = len(b',"_meta":')
_BARE = b'{"jsonrpc":"2.0","id":,"method":%b,"params":{"name":"","arguments":}}' % _NAMED
_QUOTES = _BARE.count(b'"')
_BLANKS = _BARE.count(b":") + _BARE.count(b",")


def read_usual(line: bytes) -> UsualCall | None:
    """None if it is anything else, or has to be looked at twice."""
    if _NAMED not in line or len(line) > LONG or not line.isascii():
        return None
    try:
        read = _line.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    params = read.params
    id, arguments = copied((read.id,)), copied((params.arguments,))
    length = len(_BARE) + len(id) + len(params.name) + len(arguments)
    meta = b""
    if params.meta is not UNSET:
        meta = copied((params.meta,))
        length += _META + len(meta)
    if len(line) != length and not _is_spaced(line, length, arguments, meta):  # room for a key that occurs twice
        return None
    if read.method != TOOLS_CALL or read.jsonrpc != "2.0" or not id.isdigit() or arguments[:1] != b"{":
        return None
    return UsualCall(id, params.name, arguments, meta)


def _is_spaced(line: bytes, length: int, arguments: bytes, meta: bytes) -> bool:
    """Whether it is longer by blanks only: each further key would have quotes."""
    more = 2 if meta else 0
    if len(line) != length + _BLANKS + more:
        return False
    return line.count(b'"') == _QUOTES + more + arguments.count(b'"') + meta.count(b'"')
