"""Content as the protocol knows it: whatever says of which kind it is has what that kind needs. Pure.

A client refuses the whole answer for one block that lacks its text, and cannot say whose fault that is. Kinds that
nobody here knows pass: a newer client may know them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.wire.readable import HARMLESS, why_unreadable
from clawft.wire.resources_and_prompts import ContentAnnotations, Resource, Size
from clawft.wire.shapes import Anything, mended

_QUOTE, _BRACE = ord('"'), ord("{")


def _must_be_text(value: Raw) -> None:
    """Raises ValueError unless it is a text. It may be megabytes, and is looked at where it stands."""
    if memoryview(value)[0] != _QUOTE:
        raise ValueError("Expected `str`")


class _Block(Struct, gc=False, kw_only=True, tag_field="type"):
    annotations: ContentAnnotations | UnsetType = UNSET
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")


class _Text(_Block, tag="text"):
    text: Raw

    def __post_init__(self) -> None:
        _must_be_text(self.text)


class _Image(_Block, tag="image"):
    data: Raw
    mime: str = field(name="mimeType")

    def __post_init__(self) -> None:
        _must_be_text(self.data)


class _Audio(_Image, tag="audio"):
    pass


class _Link(Resource, tag_field="type", tag="resource_link"):
    pass


class _Contents(Struct, gc=False):
    """Of a resource: its text, or its bytes."""

    uri: str
    mime: str | UnsetType = field(default=UNSET, name="mimeType")
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")
    text: Raw = Raw()
    blob: Raw = Raw()

    def __post_init__(self) -> None:
        if not self.text and not self.blob:
            raise ValueError("Object missing required field `text` or `blob`")
        for body in filter(None, (self.text, self.blob)):
            _must_be_text(body)


class _Embedded(_Block, tag="resource"):
    resource: _Contents


_Known = _Text | _Image | _Audio | _Link | _Embedded


class _Kind(Struct, gc=False):
    type: str


class _Tool(Struct, gc=False, rename="camel"):
    content: list[_Known]
    is_error: bool = False
    structured_content: Raw = Raw()
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")
    result_type: Literal["complete"] = "complete"


class ContentMessage(Struct, gc=False):
    role: Literal["user", "assistant"]
    content: Raw


class _Prompt(Struct, gc=False):
    messages: list[Raw]
    description: str | UnsetType = UNSET
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")


class _Read(Struct, gc=False, rename="camel"):
    contents: list[Raw]
    meta: Anything | UnsetType = field(default=UNSET, name="_meta")
    ttl_ms: Size | UnsetType = UNSET
    cache_scope: Literal["public", "private"] | UnsetType = UNSET


_KINDS = {"text": _Text, "image": _Image, "audio": _Audio, "resource_link": _Link, "resource": _Embedded}
_ONE_TEXT = b'{"content":[{"type":"text","text":"'
_ENDS = frozenset({b'"}]}', b'"}],"isError":false}', b'"}],"isError":false,"resultType":"complete"}'})
_LONGEST_END = max(map(len, _ENDS))
_FEW_BLOCKS = 16
"""To look into each of them is quicker than to read all they say."""

_tool = msgspec.json.Decoder(_Tool)
_kind = msgspec.json.Decoder(_Kind)
_items = msgspec.json.Decoder(list[Raw])
_object = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode


def is_one_text(result: bytes) -> bool:
    """Surely, and no error: most results are that, and a look tells."""
    if not result.startswith(_ONE_TEXT):
        return False
    end = result.find(_QUOTE, len(_ONE_TEXT))
    return len(result) - end <= _LONGEST_END and result[end:] in _ENDS


def read_error(result: bytes, most: int) -> bool | None:
    """Whether the result of a tool tells of an error.

    None unless all its blocks are well-formed and of known kinds, there are no more than `most`, and every client can
    read it.
    """
    try:
        read = _tool.decode(result)
    except (msgspec.DecodeError, RecursionError):
        return None
    structure = read.structured_content
    if (structure and memoryview(structure)[0] != _BRACE) or len(read.content) > most:
        return None
    return read.is_error if len(result) <= HARMLESS or _is_readable(result, read) else None


def _is_readable(result: bytes, told: _Tool) -> bool:
    """By every client. Texts are, and what is no text is short, but for a structure."""
    structure = told.structured_content
    if len(structure) > HARMLESS and why_unreadable(bytes(structure), around=1):
        return False
    if len(told.content) <= _FEW_BLOCKS:
        rest = len(result) - len(structure) - sum(map(_text_bytes, told.content))
        return rest <= HARMLESS or not why_unreadable(result)
    return not why_unreadable(result)


def _text_bytes(block: _Known) -> int:
    """Of what is large in a block, if it is."""
    match block:
        case _Text(text=text):
            return len(text)
        case _Image(data=data):
            return len(data)
        case _Embedded(resource=resource):
            return len(resource.text) + len(resource.blob)
        case _:
            return 0


def mended_blocks(content: bytes, most: int) -> tuple[bytes, int]:
    """A list of them without what no client could read in one and need not; and how many there are.

    Of more than `most` none is looked at. Raises DecodeError, saying what is wrong, if it is none, or one is not.
    """
    blocks = _items.decode(content)
    if len(blocks) > most:
        return content, len(blocks)
    return _with_items(content, blocks, [mended_block(block) for block in blocks]), len(blocks)


def is_known(block: bytes) -> bool:
    """Raises DecodeError for what is none at all."""
    return _kind.decode(block).type in _KINDS


def mended_block(block: bytes) -> bytes:
    kind = _KINDS.get(_kind.decode(block).type)
    return block if kind is None else mended(block, kind)


def _with_items(whole: bytes, items: list[Raw], kept: list[bytes]) -> bytes:
    """Mostly nothing has changed, and it is the same."""
    if all(before is after for before, after in zip(items, kept, strict=True)):
        return whole
    return b"[" + b",".join(kept) + b"]"


def mended_prompt(result: bytes) -> bytes:
    """Raises DecodeError if there are no messages, or one is none."""
    return _with_mended(mended(result, _Prompt), "messages", _mended_message)


def _mended_message(message: bytes) -> bytes:
    content = msgspec.json.decode(message, type=ContentMessage).content
    block = mended_block(content)
    return message if block is content else _encode({**_object.decode(message), "content": Raw(block)})


def mended_resource(result: bytes) -> bytes:
    """Raises DecodeError if there are no contents, or some are none."""
    return _with_mended(mended(result, _Read), "contents", lambda each: mended(each, _Contents))


def _with_mended(result: bytes, member: str, mend: Callable[[bytes], bytes]) -> bytes:
    members = _object.decode(result)
    items = _items.decode(members[member])
    mended = _with_items(members[member], items, [mend(item) for item in items])
    return result if mended is members[member] else _encode({**members, member: Raw(mended)})
