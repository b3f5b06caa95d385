"""Documents of JSON on stdout: one that a person can read as well, or one a line."""

from __future__ import annotations

from typing import Any

import msgspec


def print_json(document: Any, *, guarded: bool = False) -> None:
    """One document, readable. `guarded`: what may be hidden in it was seen to, or is meant to stay."""
    encoded = msgspec.json.encode(document, enc_hook=str)
    print(msgspec.json.format(encoded if guarded else _visible(encoded), indent=2).decode())


def print_json_line(document: Any) -> None:
    """One document of many: each has a line of its own."""
    print(_visible(msgspec.json.encode(document)).decode())


def _visible(encoded: bytes) -> bytes:
    from clawft.wire.visible import make_visible  # only for --json

    return make_visible(encoded)
