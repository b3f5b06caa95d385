"""Requests of ours that come back to ourselves: each says who sent it, in the header made for that (RFC 8586)."""

from __future__ import annotations

import os
from functools import cache

HEADER = "CDN-Loop"


@cache
def own_mark() -> str:
    """Of this process, and of no other."""
    return f"weft-{os.urandom(8).hex()}"


def is_ours(told: bytes) -> bool:
    """Did we send what comes with this header?"""
    return bool(told) and own_mark().encode() in told
