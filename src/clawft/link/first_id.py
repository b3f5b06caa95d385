"""Where the ids of a link to a server begin.

Elsewhere each time: some servers, and bridges to them, give one connection what another had asked for, a former one of
ours or that of another weft. Such an answer finds nobody here, as long as nobody here has its id.
"""

from __future__ import annotations

from os import urandom

_BYTES = 4
_SPARE_BITS = 2
"""Ids stay below 2**31 for a billion requests: some servers keep them in 32 bits."""


def before_first_id() -> int:
    return int.from_bytes(urandom(_BYTES), "big") >> _SPARE_BITS
