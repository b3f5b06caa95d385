"""A line of the audit as data."""

from __future__ import annotations

from typing import Any

import msgspec


def members_of(line: bytes | msgspec.Raw) -> dict[str, Any]:
    """One line as data; a line that was tampered with is shown as far as it can be read."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"outcome": "unreadable", "tool": bytes(line).decode("utf-8", "backslashreplace")}
