"""Content as the protocol knows it: whatever says of which kind it is has what that kind needs. Pure.

A client refuses the whole answer for one block that lacks its text, and cannot say whose fault that is. Kinds that
nobody here knows pass: a newer client may know them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct, field

_QUOTE = ord('"')


def _must_be_text(value: Raw) -> None:
    """It may be megabytes, and is looked at where it stands."""
    if memoryview(value)[0] != _QUOTE:
        raise ValueError("Expected `str`")


class _Annotations(Struct, gc=False):
    audience: list[Literal["user", "assistant"]] | None = None
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None


class _Block(Struct, gc=False, kw_only=True, tag_field="type"):
    annotations: _Annotations | None = None


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


class _Link(_Block, tag="resource_link"):
    uri: str
    name: str


class _Contents(Struct, gc=False):
    """Of a resource: its text, or its bytes."""

    uri: str
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
    result_type: Literal["complete"] = "complete"


class _Message(Struct, gc=False):
    role: Literal["user", "assistant"]
    content: Raw


class _Prompt(Struct, gc=False):
    messages: list[_Message]


class _Resource(Struct, gc=False):
    contents: list[_Contents]


_KINDS = {"text", "image", "audio", "resource_link", "resource"}
_ONE_TEXT = b'{"content":[{"type":"text","text":"'
_ENDS = frozenset({b'"}]}', b'"}],"isError":false}', b'"}],"isError":false,"resultType":"complete"}'})
_LONGEST_END = max(map(len, _ENDS))

_tool = msgspec.json.Decoder(_Tool)
_known = msgspec.json.Decoder(_Known)
_kind = msgspec.json.Decoder(_Kind)
_blocks = msgspec.json.Decoder(list[Raw])
_prompt = msgspec.json.Decoder(_Prompt)
_resource = msgspec.json.Decoder(_Resource)


def is_one_text(result: bytes) -> bool:
    """Surely, and no error: most results are that, and a look tells."""
    if not result.startswith(_ONE_TEXT):
        return False
    end = result.find(_QUOTE, len(_ONE_TEXT))
    return len(result) - end <= _LONGEST_END and result[end:] in _ENDS


def read_error(result: bytes) -> bool | None:
    """Whether the result of a tool tells of an error; None unless all its blocks are well-formed and of known kinds."""
    try:
        return _tool.decode(result).is_error
    except msgspec.DecodeError:
        return None


def check_blocks(content: bytes) -> int:
    """How many blocks there are in a list. Raises DecodeError, saying what is wrong, if it is none, or one is not."""
    blocks = _blocks.decode(content)
    for block in blocks:
        _check_block(block)
    return len(blocks)


def _check_block(block: Raw) -> None:
    if _kind.decode(block).type in _KINDS:
        _known.decode(block)


def check_prompt(result: bytes) -> None:
    """Raises DecodeError if there are no messages, or one is none."""
    for message in _prompt.decode(result).messages:
        _check_block(message.content)


def check_resource(result: bytes) -> None:
    """Raises DecodeError if there are no contents, or some are none."""
    _resource.decode(result)
