"""Where the ids of a link to a server begin: at a random number.

Some servers, and bridges to them, send one connection the answers that another had asked for, an earlier one of ours or
one of another weft. With random ids such an answer matches no request here, and is dropped.
"""

from __future__ import annotations

from os import urandom

_BYTES = 4
_SPARE_BITS = 2
"""Ids stay below 2**31 for a billion requests: some servers keep them in 32 bits."""


def before_first_id() -> int:
    return int.from_bytes(urandom(_BYTES), "big") >> _SPARE_BITS
