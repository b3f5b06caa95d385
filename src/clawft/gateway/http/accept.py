"""Reads the kinds of answers that a client takes. Pure."""

from __future__ import annotations

import re

ANY = b"*/*"
_REFUSED = rb"\s*([^\s;]+)\s*;(?:.*;)?\s*q=0(?:\.0*)?\s*(?:;.*)?"
"""A kind that is named only to say that it is not wanted."""


def takes(accept: bytes, kind: bytes) -> bool:
    """By its own name, else by that of its family, else by what is said of all."""
    accept = accept.lower()
    names = (kind, kind.partition(b"/")[0] + b"/*", ANY)
    if b"q=0" not in accept:  # nearly everybody
        return any(name in accept for name in names)
    parts = accept.split(b",")
    refused = {found[1] for part in parts if (found := re.fullmatch(_REFUSED, part))}
    named = {part.partition(b";")[0].strip() for part in parts}
    return next((name not in refused for name in names if name in named), False)
