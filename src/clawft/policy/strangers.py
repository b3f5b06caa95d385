"""Which tools bring the words of strangers, and which could do harm if a model were talked into it. Pure.

Hints count as they do for approvals: those of our own tools and of trusted servers.
"""

from __future__ import annotations

from clawft.model import Origin, Tool


def brings_their_words(tool: Tool, origin: Origin) -> bool:
    """Does its result say what nobody here has written?"""
    return not origin.trusted or (not origin.server and tool.annotations.open_world_hint)


def can_do_harm(tool: Tool, origin: Origin) -> bool:
    """May it change, destroy or send something?"""
    hints = tool.annotations
    return not origin.trusted or (hints.destructive_hint and not hints.read_only_hint)
