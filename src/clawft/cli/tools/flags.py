"""The hints of a tool about itself, in words."""

from __future__ import annotations

from clawft.model import Annotations


def flags(hints: Annotations) -> list[str]:
    """The hints of the tool about itself, in words, the most important first."""
    if hints.read_only_hint:
        words = ["read-only"]
    else:
        words = [
            "destructive" if hints.destructive_hint else "writes",
            *(["idempotent"] if hints.idempotent_hint else []),
        ]
    return [*words, *(["open-world"] if hints.open_world_hint else [])]
