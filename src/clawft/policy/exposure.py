"""Tells which tools bring the words of strangers, and which could do harm if a model were talked into it. Pure.

Hints count as they do for approvals: those of our own tools and of trusted servers.
"""

from __future__ import annotations

from clawft.model import Origin, Tool


def returns_outside_text(tool: Tool, origin: Origin) -> bool:
    """Whether its result holds text from outside: from an untrusted server or the open world."""
    return not origin.trusted or (not origin.server and tool.annotations.open_world_hint)


def can_do_harm(tool: Tool, origin: Origin) -> bool:
    """Whether the tool may change, destroy or send something."""
    hints = tool.annotations
    return not origin.trusted or (hints.destructive_hint and not hints.read_only_hint)
