"""Types of a signature that msgspec leaves to others: paths, and models in the manner of pydantic.

A model is known by its methods, so nothing of pydantic is imported here. This file is loaded with the first tool that
has such a type, or one that cannot be told in JSON at all.
"""

import re
from collections import abc
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, Literal, get_origin

import msgspec
from msgspec import Meta

from clawft.provider.schema import BOUNDS

Mode = Literal["validation", "serialization"]
"""What a model takes, and what it writes, may differ."""

MAX_COMPLAINTS = 5
"""Of one model: more than this are not listed."""
MAX_COMPLAINT_CHARS = 300

_TOLD = ("title", "description", "examples", *BOUNDS)
"""Of a note."""
_MODEL_METHODS = ("model_json_schema", "model_validate_json", "model_dump")
_ITEMS = "list[…]"
_NAMED = "a Literal of the names to choose from"
_INSTEAD: Final[Mapping[Any, str]] = {
    abc.Iterable: _ITEMS,
    abc.Iterator: _ITEMS,
    abc.Generator: _ITEMS,
    abc.AsyncIterable: _ITEMS,
    abc.AsyncIterator: _ITEMS,
    abc.AsyncGenerator: _ITEMS,
    get_origin(abc.Callable[[], Any]): _NAMED,
    type: _NAMED,
    complex: "tuple[float, float]",
}
_USUAL = "str, int, float, bool, Path, list, dict, a TypedDict, a dataclass, a msgspec Struct or a pydantic model"


class ModelRefused(ValueError):
    """A model does not take what it was given."""


def foreign_schema(kind: Any, mode: Mode, definitions: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema of a type that msgspec does not know. What it refers to is added to `definitions`."""
    if _is_path(kind):
        return {"type": "string"}
    if _is_model(kind):
        return _model_schema(kind, mode, definitions)
    raise TypeError(f"{_spelled(kind)} has no JSON form; write {_INSTEAD.get(kind, _USUAL)} instead")


def from_json(kind: Any, value: Any) -> Any:
    """The value of such a type that was told as `value`. A ValueError or TypeError says why it cannot be."""
    if _is_path(kind) and isinstance(value, str):
        return kind(value)
    if _is_model(kind):
        return value if isinstance(value, kind) else _model(kind, value)
    raise TypeError(f"Expected `str`, got `{_spelled(type(value))}`")


def to_json(value: Any) -> Any:
    """Such a value in plain words."""
    if isinstance(value, PurePath):
        return str(value)
    if _is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{_spelled(type(value))} has no JSON form")


def foreign_note(note: Any) -> Any:
    """What stands in an `Annotated` as msgspec has it: a `Field` of pydantic, or a bound of `annotated_types`.

    Raises TypeError for what pydantic would do and nobody does here; other notes are somebody else's.
    """
    if type(note).__module__.partition(".")[0] not in ("pydantic", "annotated_types"):
        return note
    parts = (note, *getattr(note, "metadata", ()))
    told = {name: value for part in parts for name in _TOLD if (value := getattr(part, name, None)) is not None}
    if not told:
        raise TypeError(f"{type(note).__name__} has no effect here; use a pydantic model, or check it in the tool")
    return Meta(**told)


def _is_path(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PurePath)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and all(hasattr(kind, method) for method in _MODEL_METHODS)


def _model_schema(kind: Any, mode: Mode, definitions: dict[str, Any]) -> dict[str, Any]:
    """Inner models go under the name of the outer one: another model may have an inner one of the same name."""
    own = re.sub(r"\W", "_", kind.__name__)
    while True:
        schema: dict[str, Any] = kind.model_json_schema(mode=mode, ref_template=f"#/$defs/{own}.{{model}}")
        inner = {f"{own}.{name}": said for name, said in schema.pop("$defs", {}).items()}
        if all(definitions.get(name, said) == said for name, said in inner.items()):
            definitions.update(inner)
            return schema
        own += "_"


def _model(kind: Any, value: Any) -> Any:
    """From JSON, as it came: a strict model takes a date as text there, and from Python it does not."""
    try:
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValueError as wrong:
        raise ModelRefused(_complaints(wrong)) from None


def _complaints(wrong: Any) -> str:
    """What pydantic says, in one line, and without the addresses of its pages."""
    if not hasattr(wrong, "errors"):
        return str(wrong)[:MAX_COMPLAINT_CHARS]
    listed = wrong.errors(include_url=False, include_context=False, include_input=False)[:MAX_COMPLAINTS]
    told = [": ".join(filter(None, (".".join(map(str, each["loc"])), str(each["msg"])))) for each in listed]
    return "; ".join(each[:MAX_COMPLAINT_CHARS] for each in told)


def _spelled(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
