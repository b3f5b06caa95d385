"""What somebody else says, among words of ours: a bar on each line says that it is not us who speak. Pure."""

from __future__ import annotations

BAR = "│ "
"""What foreign text in a question begins with, on each of its lines."""
SHORT = 70
"""Characters that stand on one line wherever they are shown, behind whoever says them."""


def said_by(who: str, text: str) -> str:
    """`who` and what they say. What is more than a short line stands below, or it could pass for words of another."""
    lines = text.splitlines()
    if len(lines) <= 1 and len(text) <= SHORT:
        return f"{who} {text.rstrip()}".rstrip()
    return "\n".join((who, *(f"{BAR}{line}" for line in lines)))
