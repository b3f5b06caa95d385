"""JSON-RPC codes: the HTTP status each travels under in the stateless era, and which of a server's reach its agent."""

from __future__ import annotations

import re
from functools import cache

from clawft import errors

STATUS = {
    errors.PARSE_ERROR: 400,
    errors.INVALID_REQUEST: 400,
    errors.INVALID_PARAMS: 400,
    errors.HEADER_MISMATCH: 400,
    errors.MISSING_CAPABILITY: 400,
    errors.UNSUPPORTED_REVISION: 400,
}
"""Not -32601: a method we do not have is refused before it is answered, and a server's own is no 404 of ours, which
clients take for the end of the line."""

_ABOUT_OUR_REQUEST = frozenset(
    {
        errors.PARSE_ERROR,
        errors.INVALID_REQUEST,
        errors.HEADER_MISMATCH,
        errors.MISSING_CAPABILITY,
        errors.UNSUPPORTED_REVISION,
        errors.URL_ELICITATION_REQUIRED,
    }
)
_CODE = rb'\{"jsonrpc":"2\.0","id":(?:"(?:[^"\\]++|\\.)*+"|[^",]*+),"error":\{"code":(-?[0-9]+),'


def status_of(answer: bytes) -> int:
    """The HTTP status of an answer of ours. Every other error, and every result, is 200."""
    found = _code().match(answer)
    return STATUS.get(int(found[1]), 200) if found else 200


@cache
def _code() -> re.Pattern[bytes]:
    """Compiled with the first answer: over pipes there is no status."""
    return re.compile(_CODE)


def passed_on(code: int) -> int:
    """A server's code as its agent gets it; one about the request that we made says nothing about the agent's own."""
    return errors.INTERNAL_ERROR if code in _ABOUT_OUR_REQUEST else code
