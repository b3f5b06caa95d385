"""Finds our own requests when they come back to us: each carries a mark in the header CDN-Loop (RFC 8586)."""

from __future__ import annotations

import os
from functools import cache

HEADER = "CDN-Loop"


@cache
def process_mark() -> str:
    """The mark of this process."""
    return f"weft-{os.urandom(8).hex()}"


def sent_by_us(header: bytes) -> bool:
    """Whether this header, of a request that came in, carries our mark."""
    return bool(header) and process_mark().encode() in header
