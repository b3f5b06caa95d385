"""A tool's result for agents that take only text. The relay itself leaves results untouched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clawft.errors import ExecutionFailed

_object = msgspec.json.Decoder(dict[str, Any])


def agent_view(tool: str, result: bytes) -> Mapping[str, Any]:
    """`{"output": text}` with all text blocks joined. Raises ExecutionFailed with the text of an error result.

    A result with neither content nor an error flag is of unknown form, and returned as it is.
    """
    members = _object.decode(result)
    if "content" not in members and "isError" not in members:
        return members
    text = _text(members.get("content"))
    if members.get("isError") is True:
        raise ExecutionFailed(text or f"{tool} failed and did not say why")
    return {"output": text}


def _text(content: object) -> str:
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    return "".join(_text_of(block) for block in blocks)


def _text_of(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    known = cast("Mapping[str, object]", block)
    text = known.get("text")
    return text if known.get("type") == "text" and isinstance(text, str) else ""
