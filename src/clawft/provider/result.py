"""Turns what a function returns into a reply.

| returned | reply |
|---|---|
| `str` | one text block |
| `None` | no content |
| `Image`, `Audio`, lists of them, of strings and of content blocks | these blocks |
| `CallToolResult`, `Reply` | as it is |
| anything else | `structuredContent` and its JSON as text; what is no object is wrapped as `{"result": …}` |
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import NoneType
from typing import Any, TypeGuard, cast, get_args, get_origin

from msgspec import Struct

from clawft.model import CallToolResult, Reply
from clawft.model.encoded import encoded
from clawft.provider.schema import schema_of, without_notes

WRAPPED = "result"

Fits = Callable[[Any, bytes], None]
"""Checks a value and its JSON against the annotation; raises ExecutionFailed if they do not match it."""

_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})


class Image(Struct, frozen=True):
    data: bytes
    mime: str = "image/png"


class Audio(Struct, frozen=True):
    data: bytes
    mime: str = "audio/wav"


class ResultShape(Struct, frozen=True):
    """How results of one function are turned into replies. `schema` is None if the shape is open."""

    render: Callable[[Any], Reply]
    schema: dict[str, Any] | None = None


def read_output(hint: Any, name: str) -> ResultShape:
    """The shape by the return annotation; where that leaves it open, each value decides."""
    kind = without_notes(hint)
    if kind is str:
        return ResultShape(_text_of(name))
    if kind is NoneType or kind is None:
        return ResultShape(_nothing_of(name))
    if kind in (bytes, bytearray, memoryview):
        raise TypeError(f"tool {name}: bytes have no JSON form; return Image, Audio or text")
    if _is_open(kind):
        return ResultShape(render_any)
    return _typed(hint, name)


def render_any(value: Any) -> Reply:
    """A reply for a value of unknown type."""
    match value:
        case Reply():
            return value
        case CallToolResult():
            return Reply.of(value)
        case None:
            return _nothing()
        case str():
            return Reply.text(value)
        case Image() | Audio():
            return _blocks([value])
        case list() | tuple() if _are_blocks(cast("Sequence[Any]", value)):
            return _blocks(cast("Sequence[Any]", value))
        case _:
            return _structured(value) if encoded(value, _to_json)[:1] == b"{" else _wrapped(value)


def _typed(hint: Any, name: str) -> ResultShape:
    try:
        schema = schema_of(hint, "serialization")
    except TypeError as wrong:
        raise TypeError(f"tool {name}: return type: {wrong}".replace("`", "")) from None
    fits = _fitting(hint, name)
    if schema.get("type") == "object":
        return ResultShape(partial(_structured, fits=fits), schema)
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    wrapped = {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED], **definitions}
    return ResultShape(partial(_wrapped, fits=fits), wrapped)


def _is_open(kind: Any) -> bool:
    """True where the annotation does not say what the value is, or says that it is content."""
    if kind in (inspect.Signature.empty, Any, object, list, list[Any], list[dict[str, Any]]):
        return True
    return any(part in (Reply, CallToolResult, Image, Audio) for part in _parts(kind))


def _parts(kind: Any) -> Iterator[Any]:
    yield kind
    if get_origin(kind) is not None:
        for inner in get_args(kind):
            yield from _parts(inner)


def _text_of(name: str) -> Callable[[Any], Reply]:
    def text(value: Any) -> Reply:
        if isinstance(value, str):
            return Reply.text(value)
        if value is None:
            return _nothing()
        from clawft.provider.promise import misfit  # most keep theirs

        raise misfit(name, "text", value)

    return text


def _nothing_of(name: str) -> Callable[[Any], Reply]:
    def nothing(value: Any) -> Reply:
        if value is not None:
            from clawft.provider.promise import misfit  # most keep theirs

            raise misfit(name, "nothing", value)
        return _nothing()

    return nothing


def _fitting(hint: Any, name: str) -> Fits:
    """The check for results of one function, made with the first result: most tools are never called."""
    made: Fits | None = None

    def fits(value: Any, json: bytes) -> None:
        nonlocal made
        if made is None:
            from clawft.provider.promise import fitting  # most starts need none

            made = fitting(hint, name)
        made(value, json)

    return fits


def _nothing() -> Reply:
    return Reply(b'{"content":[]}')


def _structured(value: Any, fits: Fits | None = None) -> Reply:
    json = encoded(value, _to_json)
    if fits is not None:
        fits(value, json)
    return _with_text(json)


def _wrapped(value: Any, fits: Fits | None = None) -> Reply:
    json = encoded(value, _to_json)
    if fits is not None:
        fits(value, json)
    return _with_text(b'{"' + WRAPPED.encode() + b'":' + json + b"}")


def _to_json(value: Any) -> Any:
    from clawft.provider import foreign  # most results are known to msgspec

    return foreign.to_json(value)


def _with_text(json: bytes) -> Reply:
    text = encoded(json.decode())
    return Reply(b'{"content":[{"type":"text","text":' + text + b'}],"structuredContent":' + json + b"}")


def _blocks(values: Sequence[Any]) -> Reply:
    return Reply(encoded({"content": [_block(value) for value in values]}))


def _block(value: Any) -> Any:
    match value:
        case str():
            return {"type": "text", "text": value}
        case Image():
            return {"type": "image", "data": value.data, "mimeType": value.mime}
        case Audio():
            return {"type": "audio", "data": value.data, "mimeType": value.mime}
        case _:
            return value


def _are_blocks(values: Sequence[Any]) -> bool:
    return bool(values) and any(not isinstance(value, str) for value in values) and all(map(_is_block, values))


def _is_block(value: Any) -> TypeGuard[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get("type") in _BLOCK_TYPES
    return isinstance(value, (str, Image, Audio))
