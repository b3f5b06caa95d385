"""Definitions and results for callers of older revisions: what they cannot know is left out or said in text. Pure."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

import msgspec
from msgspec import Raw, Struct, field

from clawft.model import Era
from clawft.wire.revisions import Revision
from clawft.wire.shapes import Anything

_object = msgspec.json.Decoder(dict[str, Raw])
_items = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.encode
_decode = msgspec.json.decode


class _Block(Struct):
    """The part of a content block that a note about it can tell."""

    type: Any = None
    mime: Any = field(default="unknown type", name="mimeType")
    name: Any = "resource"
    uri: Any = ""


_block_view = msgspec.json.Decoder(_Block)


# ── definitions: done once per list, not per request ─────────────────────────────────────────────────────────────────


def definition(wire: bytes, revision: Revision) -> bytes:
    """A tool, prompt or resource as this revision knows it."""
    members = _object.decode(wire)
    dropped = _unknown_members(revision, "inputSchema" in members) & members.keys()
    if "outputSchema" in members and not _promises_what(members["outputSchema"], revision):
        dropped |= {"outputSchema"}
    changed = _retold(members, revision)
    if not dropped and not changed:
        return wire
    return _encode({key: changed.get(key, value) for key, value in members.items() if key not in dropped})


def _retold(members: dict[str, Raw], revision: Revision) -> dict[str, Raw]:
    """Members in the form that this revision has for them, where theirs is another."""
    changes = {"arguments": None if revision.titles else _untitled(members.get("arguments"))}
    if revision.era is Era.HANDSHAKE:
        changes |= {name: _spelled_out(members.get(name)) for name in ("inputSchema", "outputSchema")}
    return {name: value for name, value in changes.items() if value is not None}


@cache
def _unknown_members(revision: Revision, is_tool: bool) -> frozenset[str]:
    """Resources have had annotations, of another kind, from the beginning."""
    dropped = set[str]() if revision.core_tasks else {"execution"}
    if is_tool and not revision.annotations:
        dropped.add("annotations")
    if not revision.titles:
        dropped |= {"title"}
    if not revision.structured:
        dropped |= {"outputSchema"}
    if not revision.icons:
        dropped |= {"icons"}
    return frozenset(dropped)


class _Promise(Struct):
    type: Literal["object"]
    properties: dict[str, Anything | bool] = {}
    required: list[str] = []


_promise = msgspec.json.Decoder(_Promise)


class _Properties(Struct):
    properties: dict[str, Raw] = {}


_properties = msgspec.json.Decoder(_Properties)
_SPELLED = {b"true": Raw(b"{}"), b"false": Raw(b'{"not":{}}')}


def _spelled_out(schema: Raw | None) -> Raw | None:
    """With an object for each property: earlier clients know no schema that is `true`. None if all of them are."""
    if schema is None or (b"true" not in bytes(schema) and b"false" not in bytes(schema)):
        return None
    try:
        properties = _properties.decode(schema).properties
    except msgspec.DecodeError:
        return None
    spelled = {name: _SPELLED.get(bytes(value), value) for name, value in properties.items()}
    return None if spelled == properties else Raw(_encode({**_object.decode(schema), "properties": spelled}))


def _promises_what(schema: Raw, revision: Revision) -> bool:
    """Before the stateless era structure was always an object; a schema that says otherwise promises the unknown."""
    if revision.era is Era.STATELESS:
        return True
    try:
        _promise.decode(schema)
        return True
    except msgspec.DecodeError:
        return False


def _untitled(arguments: Raw | None) -> Raw | None:
    """The arguments of a prompt without their titles; None if there is nothing to take away."""
    if arguments is None or b'"title"' not in bytes(arguments):
        return None
    try:
        items = [_object.decode(item) for item in _items.decode(arguments)]
    except msgspec.DecodeError:
        return None
    return Raw(_encode([{key: value for key, value in item.items() if key != "title"} for item in items]))


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_needed(revision: Revision) -> bool:
    """Whether results need a look for callers of this revision."""
    return not (revision.structured and revision.audio and revision.resource_links and revision.icons)


def result(payload: bytes, revision: Revision) -> bytes:
    """A tool result as this revision knows it. One that is no tool result at all passes as it is."""
    if not _may_need(payload, revision):
        return payload
    try:
        members = _object.decode(payload)
        blocks = _items.decode(members.get("content", _NO_BLOCKS))
    except msgspec.DecodeError:
        return payload
    narrowed = [_block(bytes(block), revision) for block in blocks]
    if not revision.structured:
        narrowed += _structure_in_text(members.pop("structuredContent", None), narrowed)
    if "content" in members or narrowed:
        members["content"] = Raw(b"[" + b",".join(narrowed) + b"]")
    return _encode(members)


_NEWER = (b'"audio"', b'"resource_link"', b'"structuredContent"', b"\\u00")
"""How what some revision does not know may be named, or a name be spelled."""
_ICONS = b'"icons"'


def _may_need(payload: bytes, revision: Revision) -> bool:
    """A quick look. Icons under a name that is spelled otherwise may stay: who does not know them passes them over."""
    return _ICONS in payload if revision.resource_links else any(word in payload for word in _NEWER)


def is_unknown_structure(structured: Raw | None) -> bool:
    """Structure that callers of the handshake era cannot read: theirs is an object."""
    return structured is not None and bytes(structured)[:1] != b"{"


def without_structure(members: dict[str, Raw]) -> dict[str, Raw]:
    """The members of a tool result with its structure said in text, if the server has not said it there itself."""
    try:
        blocks = [bytes(block) for block in _items.decode(members.get("content", _NO_BLOCKS))]
    except msgspec.DecodeError:
        return members
    kept = {key: value for key, value in members.items() if key != "structuredContent"}
    shown = [*blocks, *_structure_in_text(members.get("structuredContent"), blocks)]
    return {**kept, "content": Raw(b"[" + b",".join(shown) + b"]")}


def _structure_in_text(structured: Raw | None, blocks: list[bytes]) -> list[bytes]:
    """A structure that is left out, as text; servers should have put it there, and then it is not said twice."""
    if structured is None or any(_kind_of(block) == "text" for block in blocks):
        return []
    return [_text(bytes(structured).decode())]


def _kind_of(wire: bytes) -> Any:
    try:
        return _block_view.decode(wire).type
    except msgspec.DecodeError:
        return None


def prompt(payload: bytes, revision: Revision) -> bytes:
    """The messages of a prompt, each with a block this revision knows."""
    if not _may_need(payload, revision):
        return payload
    try:
        members = _object.decode(payload)
        messages = [_object.decode(message) for message in _items.decode(members["messages"])]
    except (KeyError, msgspec.DecodeError):
        return payload
    for message in messages:
        if "content" in message:
            message["content"] = Raw(_block(bytes(message["content"]), revision))
    return _encode({**members, "messages": messages})


def sampling(params: Mapping[str, Any], revision: Revision) -> Mapping[str, Any]:
    """The messages for a model: with blocks this revision knows, and one in a message where several are not known."""
    if revision.several_blocks:
        return params
    messages = [
        {**message, "content": _decode(_block(_encode(block), revision))}
        for message in params.get("messages", ())
        for block in _several(message.get("content"))
    ]
    return {**params, "messages": messages}


def _several(content: Any) -> list[Any]:
    return cast("list[Any]", content) if isinstance(content, list) else [content]


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
    if block.type == "resource_link" and not revision.icons:
        return _encode({key: value for key, value in _object.decode(wire).items() if key != "icons"})
    return wire


def _text(text: str) -> bytes:
    return _encode({"type": "text", "text": text})
