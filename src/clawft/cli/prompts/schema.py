"""The arguments of a prompt, as a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clawft.model import PromptArgument


def schema_of(known: Iterable[PromptArgument]) -> Mapping[str, Any]:
    """Arguments of prompts are texts."""
    return {"properties": {each.name: {"type": "string"} for each in known}, "additionalProperties": False}
