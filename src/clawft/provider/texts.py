"""Renders the content of a result as text: one text per block, in a few words for blocks that are not text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

MAX_SHOWN_BLOCK = 2000


def texts_of(content: Sequence[Mapping[str, Any]], structured: Any = None, more: str = "") -> Iterator[str]:
    """One text per block. `more` tells where the whole of a block can be had."""
    for block in content:
        yield _text_of(block, more)
    if not content and structured is not None:
        yield msgspec.json.format(msgspec.json.encode(structured), indent=2).decode()


def _text_of(block: Mapping[str, Any], more: str) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": ("image" | "audio") as kind, "data": str(data)}:
            return _summary(str(kind), str(block.get("mimeType", "")), data, more)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return f"[resource {uri}]\n{text}"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob)}}:
            return _summary("resource", uri, blob, more)
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[link {uri} {block.get('name', '')}".rstrip() + "]"
        case _:
            shown = msgspec.json.encode(block).decode()
            return shown if len(shown) <= MAX_SHOWN_BLOCK else shown[:MAX_SHOWN_BLOCK] + "…"


def _summary(kind: str, what: str, base64: str, more: str) -> str:
    return f"[{kind} {what}, {size(len(base64) * 3 // 4)}{more}]"


def size(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:,.0f} KB"
