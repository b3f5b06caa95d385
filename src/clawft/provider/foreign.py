"""Types in signatures that msgspec does not know: paths, and models like those of pydantic.

A model is recognised by its methods, so pydantic is not imported here. This file is loaded with the first tool that has
such a type, or one without a JSON form.
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
"""Whether the schema is for input or output, as a model's may differ."""

MAX_COMPLAINTS = 5
"""How many errors about one model are listed."""
MAX_COMPLAINT_CHARS = 300

_TOLD = ("title", "description", "examples", *BOUNDS)
"""Members of a note that go into the schema."""
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
    """A model rejects the given value."""


def foreign_schema(kind: Any, mode: Mode, definitions: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a type that msgspec does not know. Types it refers to are added to `definitions`."""
    if _is_path(kind):
        return {"type": "string"}
    if _is_model(kind):
        return _model_schema(kind, mode, definitions)
    raise TypeError(f"{_spelled(kind)} has no JSON form; write {_INSTEAD.get(kind, _USUAL)} instead")


def from_json(kind: Any, value: Any) -> Any:
    """The value of such a type for the JSON `value`. Raises ValueError or TypeError for a wrong one."""
    if _is_path(kind) and isinstance(value, str):
        return kind(value)
    if _is_model(kind):
        return value if isinstance(value, kind) else _model(kind, value)
    raise TypeError(f"Expected `str`, got `{_spelled(type(value))}`")


def to_json(value: Any) -> Any:
    """Such a value in JSON types."""
    if isinstance(value, PurePath):
        return str(value)
    if _is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{_spelled(type(value))} has no JSON form")


def foreign_note(note: Any) -> Any:
    """A note in `Annotated`, such as pydantic's `Field` or a bound of `annotated_types`, as msgspec's.

    Raises TypeError for a note that only pydantic could apply; other notes stay as they are.
    """
    if type(note).__module__.partition(".")[0] not in ("pydantic", "annotated_types"):
        return note
    parts = (note, *getattr(note, "metadata", ()))
    notes = {name: value for part in parts for name in _TOLD if (value := getattr(part, name, None)) is not None}
    if not notes:
        raise TypeError(f"{type(note).__name__} has no effect here; use a pydantic model, or check it in the tool")
    return Meta(**notes)


def _is_path(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PurePath)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and all(hasattr(kind, method) for method in _MODEL_METHODS)


def _model_schema(kind: Any, mode: Mode, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a model. Inner models get its name as a prefix, as another model's may have the same name."""
    own = re.sub(r"\W", "_", kind.__name__)
    while True:
        schema: dict[str, Any] = kind.model_json_schema(mode=mode, ref_template=f"#/$defs/{own}.{{model}}")
        inner = {f"{own}.{name}": part for name, part in schema.pop("$defs", {}).items()}
        if all(definitions.get(name, part) == part for name, part in inner.items()):
            definitions.update(inner)
            return schema
        own += "_"


def _model(kind: Any, value: Any) -> Any:
    """The model from JSON, not from Python values: a strict one accepts a date as text only from JSON."""
    try:
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValueError as wrong:
        raise ModelRefused(_complaints(wrong)) from None


def _complaints(wrong: Any) -> str:
    """pydantic's errors in one line, without the addresses of its pages."""
    if not hasattr(wrong, "errors"):
        return str(wrong)[:MAX_COMPLAINT_CHARS]
    listed = wrong.errors(include_url=False, include_context=False, include_input=False)[:MAX_COMPLAINTS]
    problems = [": ".join(filter(None, (".".join(map(str, each["loc"])), str(each["msg"])))) for each in listed]
    return "; ".join(each[:MAX_COMPLAINT_CHARS] for each in problems)


def _spelled(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
