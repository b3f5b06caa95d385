"""JSON-RPC codes and the HTTP status each travels under in the stateless era."""

from __future__ import annotations

import re

from clawft import errors

STATUS = {
    errors.PARSE_ERROR: 400,
    errors.INVALID_REQUEST: 400,
    errors.INVALID_PARAMS: 400,
    errors.HEADER_MISMATCH: 400,
    errors.MISSING_CAPABILITY: 400,
    errors.UNSUPPORTED_REVISION: 400,
    errors.METHOD_NOT_FOUND: 404,
}

_RESULT = b',"result":'
_CODE = re.compile(rb'\{"jsonrpc":"2\.0","id":(?:"(?:[^"\\]++|\\.)*+"|[^",]*+),"error":\{"code":(-?[0-9]+),')


def status_of(answer: bytes) -> int:
    """The HTTP status of an answer of ours. Every other error, and every result, is 200."""
    found = _CODE.match(answer)
    return STATUS.get(int(found[1]), 200) if found else 200
