"""Definitions and results for callers of older revisions: what they cannot know is left out or said in text. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from clawft.wire.revisions import Revision

_object = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[Raw])


class _Block(Struct):
    """What of a content block a note about it can tell."""

    type: Any = None
    mime: Any = field(default="unknown type", name="mimeType")
    name: Any = "resource"
    uri: Any = ""


_block_view = msgspec.json.Decoder(_Block)


def definition(wire: bytes, revision: Revision) -> bytes:
    """A tool, prompt or resource as this revision knows it. Done once per list, not per request."""
    dropped = _unknown_members(revision)
    members = _object.decode(wire)
    if members.keys().isdisjoint(dropped):
        return wire
    return msgspec.json.encode({key: value for key, value in members.items() if key not in dropped})


def _unknown_members(revision: Revision) -> frozenset[str]:
    dropped = {"execution"} if revision.name != "2025-11-25" else set[str]()
    if not revision.annotations:
        dropped.add("annotations")
    if not revision.titles:
        dropped |= {"title"}
    if not revision.structured:
        dropped |= {"outputSchema"}
    if not revision.icons:
        dropped |= {"icons"}
    return frozenset(dropped)


def is_needed(revision: Revision) -> bool:
    """Do results need a look for callers of this revision?"""
    return not (revision.structured and revision.audio and revision.resource_links)


def result(payload: bytes, revision: Revision) -> bytes:
    """A tool result as this revision knows it. One that is no tool result at all passes as it is."""
    try:
        members = _object.decode(payload)
        blocks = _blocks.decode(members.get("content", _NO_BLOCKS))
    except msgspec.DecodeError:
        return payload
    if not revision.structured:
        members.pop("structuredContent", None)
    if "content" in members:
        members["content"] = Raw(b"[" + b",".join(_block(bytes(block), revision) for block in blocks) + b"]")
    return msgspec.json.encode(members)


_NO_BLOCKS = Raw(b"[]")


def _block(wire: bytes, revision: Revision) -> bytes:
    try:
        block = _block_view.decode(wire)
    except msgspec.DecodeError:
        return wire
    if block.type == "audio" and not revision.audio:
        return _text(f"[audio, {block.mime}: this client cannot play it]")
    if block.type == "resource_link" and not revision.resource_links:
        return _text(f"{block.name}: {block.uri}")
    return wire


def _text(text: str) -> bytes:
    return msgspec.json.encode({"type": "text", "text": text})
