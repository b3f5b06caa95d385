"""A line of the audit as data."""

from __future__ import annotations

from typing import Any

import msgspec


def members_of(line: bytes | msgspec.Raw) -> dict[str, Any]:
    """One line as data. What somebody wrote over is shown too, as far as that goes."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"outcome": "unreadable", "tool": bytes(line).decode("utf-8", "backslashreplace")}
