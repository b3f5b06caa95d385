"""Text of others within our own words, quoted with a bar before each line, so that it cannot pass for ours. Pure."""

from __future__ import annotations

BAR = "│ "
"""Stands before each quoted line."""
SHORT = 70
"""A text of so many characters fits on one line behind `who`, wherever it is shown."""


def quoted_as(who: str, text: str) -> str:
    """`who` and the text. More than one short line is quoted below, or it could pass for the words of another."""
    lines = text.splitlines()
    if len(lines) <= 1 and len(text) <= SHORT:
        return f"{who} {text.rstrip()}".rstrip()
    return "\n".join((who, *(f"{BAR}{line}" for line in lines)))
