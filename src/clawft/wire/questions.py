"""Questions as the protocol knows them: a form that can be filled in, messages that a model can read. Pure.

In the stateless era a question travels in a result, and a strict client refuses the whole of it for one word that is
wrong: whoever is asked gets to see well-formed questions only.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.wire.blocks import ContentMessage, is_known, mended_block
from clawft.wire.resources_and_prompts import Share, Size
from clawft.wire.shapes import Anything, mended

_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


class _Titled(Struct, gc=False, rename="camel", kw_only=True):
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class _Choice(Struct, gc=False):
    const: str
    title: str


class _Word(_Titled, kw_only=True):
    min_length: Size | UnsetType = UNSET
    max_length: Size | UnsetType = UNSET
    format: Literal["email", "uri", "date", "date-time"] | UnsetType = UNSET
    enum: list[str] | UnsetType = UNSET
    enum_names: list[str] | UnsetType = UNSET
    one_of: list[_Choice] | UnsetType = UNSET
    default: str | UnsetType = UNSET


class _Number(_Titled, kw_only=True):
    minimum: float | UnsetType = UNSET
    maximum: float | UnsetType = UNSET
    default: float | UnsetType = UNSET


class _Integer(_Titled, kw_only=True):
    minimum: Size | UnsetType = UNSET
    maximum: Size | UnsetType = UNSET
    default: Size | UnsetType = UNSET


class _Decision(_Titled, kw_only=True):
    default: bool | UnsetType = UNSET


class _Options(Struct, gc=False, rename="camel"):
    type: Literal["string"] | UnsetType = UNSET
    enum: list[str] | UnsetType = UNSET
    any_of: list[_Choice] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.any_of is UNSET and (self.enum is UNSET or self.type is UNSET):
            raise ValueError("Object missing required field `enum` or `anyOf`")


class _Selection(_Titled, kw_only=True):
    items: _Options
    min_items: Size | UnsetType = UNSET
    max_items: Size | UnsetType = UNSET
    default: list[str] | UnsetType = UNSET


_FIELDS = {"string": _Word, "number": _Number, "integer": _Integer, "boolean": _Decision, "array": _Selection}


class _Field(Struct, gc=False):
    type: Literal["string", "number", "integer", "boolean", "array"]


class _Form(Struct, gc=False):
    properties: Raw
    type: Literal["object"] = "object"
    required: list[str] | UnsetType = UNSET


_names = msgspec.json.Decoder(list[str])
_EMPTY_FORM = Raw(b'{"type":"object","properties":{}}')
_MISSING = (None, Raw(b"null"))


def mended_elicitation(params: bytes) -> bytes:
    """With a form of fields that can be filled in. Raises DecodeError if there is another one."""
    members = _object.decode(params)
    if members.get("mode") == Raw(b'"url"'):
        return params
    form = members.get("requestedSchema")
    return _encode({**members, "requestedSchema": _EMPTY_FORM if form in _MISSING else _mended_form(Raw(form or b""))})


def _mended_form(form: Raw) -> Raw:
    read = _object.decode(mended(form, _Form))
    fields = {name: _mended_field(field) for name, field in _object.decode(read["properties"]).items()}
    if "required" in read:  # what there is no field for, nobody could ever fill in
        read["required"] = Raw(_encode([name for name in _names.decode(read["required"]) if name in fields]))
    return Raw(_encode({"type": "object", **read, "properties": fields}))


def _mended_field(field: Raw) -> Raw:
    return Raw(mended(field, _FIELDS[msgspec.json.decode(field, type=_Field).type]))


# ── for models ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Hint(Struct, gc=False):
    name: str | UnsetType = UNSET


class _Preferences(Struct, gc=False, rename="camel"):
    hints: list[_Hint] | UnsetType = UNSET
    cost_priority: Share | UnsetType = UNSET
    speed_priority: Share | UnsetType = UNSET
    intelligence_priority: Share | UnsetType = UNSET


class _InputSchema(Struct, gc=False):
    type: Literal["object"]


class _Tool(Struct, gc=False, rename="camel"):
    name: str
    input_schema: _InputSchema
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class _Choosing(Struct, gc=False):
    mode: Literal["auto", "required", "none"] | UnsetType = UNSET


class _Sampling(Struct, gc=False, rename="camel"):
    messages: list[Raw]
    max_tokens: Size
    system_prompt: str | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET
    model_preferences: _Preferences | UnsetType = UNSET
    metadata: Anything | UnsetType = UNSET
    tools: list[_Tool] | UnsetType = UNSET
    tool_choice: _Choosing | UnsetType = UNSET


class _Use(Struct, gc=False, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: Anything


class _Used(Struct, gc=False, rename="camel", tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: list[Raw] = []
    structured_content: Anything | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET


_content = msgspec.json.Decoder(list[Raw])
_tool_block = msgspec.json.Decoder(_Use | _Used)


def mended_sampling(params: bytes) -> bytes:
    """Raises DecodeError if there is nothing in it that a model can read."""
    members = _object.decode(mended(params, _Sampling))
    messages = [_mended_message(message) for message in _content.decode(members["messages"])]
    return _encode({**members, "messages": messages})


def _mended_message(message: Raw) -> dict[str, Any]:
    content = msgspec.json.decode(message, type=ContentMessage).content
    several = bytes(content)[:1] == b"["
    parts = [_mended_part(each) for each in _content.decode(content)] if several else _mended_part(content)
    return {**_object.decode(message), "content": parts}


def _mended_content(block: Raw) -> Raw:
    if not is_known(block):
        raise msgspec.DecodeError("a block of a kind that is not for models")
    return Raw(mended_block(block))


def _mended_part(block: Raw) -> Raw:
    if is_known(block):
        return Raw(mended_block(block))
    used = _tool_block.decode(block)
    if isinstance(used, _Use):
        return Raw(mended(block, _Use))
    content = [_mended_content(each) for each in used.content]
    return Raw(_encode({**_object.decode(mended(block, _Used)), "content": content}))
