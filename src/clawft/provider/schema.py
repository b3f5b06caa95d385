"""Derives a JSON Schema from a function's signature, once, when a tool is defined.

The parameters become one msgspec Struct. Its schema is what the caller reads, its decoder is what checks the arguments,
so the two cannot disagree.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePath
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Raw, Struct

from clawft.provider.context import ToolContext

if TYPE_CHECKING:
    from clawft.provider.foreign import Mode

WHOLE = "arguments"
"""A parameter of this name takes all arguments as one dict, if the tool brings its own input schema."""

BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")
"""Constraints of a value, by the names that msgspec, pydantic and `annotated_types` share."""

_REFS = "#/$defs/{name}"
_WHOLE = rb"-?[0-9]+\.0+"


class Signature(Struct, frozen=True):
    """How to call a function with decoded arguments."""

    arguments: Any
    """The Struct type that arguments are decoded into, or `dict[str, Any]` where the function takes all in one dict."""
    schema: dict[str, Any]
    returns: Any
    context_at: int = -1
    """The position of the ToolContext among the values; -1 if the function does not take one."""
    keywords: tuple[str, ...] = ()
    """Keyword-only parameters, whose values come last."""

    @property
    def whole(self) -> bool:
        return not isinstance(self.arguments, type)


def read_signature(function: Callable[..., Any], name: str, input_schema: Mapping[str, Any] | None = None) -> Signature:
    """The parameters and the result of a function. A TypeError says why it cannot be a tool."""
    hints = _hints(behind(function), name)
    parameters = _parameters(function)
    _refuse_unnamed(parameters, hints, name)
    wanting = [at for at, p in enumerate(parameters) if _is_context(hints.get(p.name))]
    if len(wanting) > 1:
        raise TypeError(f"tool {name}: parameter '{parameters[wanting[1]].name}' is a second ToolContext; leave it out")
    taken = [p for at, p in enumerate(parameters) if at not in wanting]
    takes_whole = input_schema is not None and [p.name for p in taken] == [WHOLE]
    arguments = dict[str, Any] if takes_whole else _struct(name, taken, hints, strict=input_schema is None)
    schema = _argument_schema(arguments, name, taken, hints) if input_schema is None else input_schema
    return Signature(
        arguments=arguments,
        schema={"type": "object", **schema},
        returns=hints.get("return", inspect.Signature.empty),
        context_at=wanting[0] if wanting else -1,
        keywords=tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY),
    )


def behind(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function or bound method inside a partial, which has the name, the docstring and the types."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type) or not hasattr(function, "__name__"):
        what = (
            f"the class {function.__name__}" if isinstance(function, type) else f"an object {type(function).__name__}"
        )
        raise TypeError(f"{what} cannot be a tool; give a function, or a method of an object: tool(thing.method)")
    return function


def schema_of(kind: Any, mode: "Mode" = "validation") -> dict[str, Any]:
    """JSON Schema 2020-12 of a type, its own definition at the top and those it refers to under `$defs`."""
    of_models: dict[str, Any] = {}

    def foreign(inner: Any) -> dict[str, Any]:
        from clawft.provider.foreign import foreign_schema  # most tools have no such types

        return foreign_schema(inner, mode, of_models)

    (top,), others = msgspec.json.schema_components([kind], ref_template=_REFS, schema_hook=foreign)
    others.update(of_models)
    own = top.get("$ref", "").removeprefix("#/$defs/")
    if own:
        top = dict(others[own])
        top.pop("title", None)
        if not _mentions(others, own):
            del others[own]
    return {**top, "$defs": others} if others else top


def from_json(kind: Any, value: Any) -> Any:
    """For decoders: a value of a type that msgspec does not know."""
    from clawft.provider import foreign  # most tools have no such types

    return foreign.from_json(kind, value)


def with_whole_numbers(raw: bytes, schema: Mapping[str, Any]) -> bytes:
    """Arguments with `5` for `5.0` where an integer is wanted: some clients send only floats."""
    given = msgspec.json.decode(raw, type=dict[str, Raw])
    wanted = {name for name, part in schema.get("properties", {}).items() if _takes_integers(part)}
    mended = {
        name: Raw(bytes(value).partition(b".")[0]) for name, value in given.items() if re.fullmatch(_WHOLE, value)
    }
    return msgspec.json.encode({**given, **{name: value for name, value in mended.items() if name in wanted}})


def _takes_integers(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "integer" or any(map(_takes_integers, schema.get("anyOf", ())))


def without_notes(hint: Any) -> Any:
    """The type inside an `Annotated`."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as missing:
        raise TypeError(f"tool {name}: a type hint cannot be resolved: {missing}") from None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that callers, or we, fill in; those a partial fills in by name are hidden."""
    given: set[str] = set()
    inner = function
    while isinstance(inner, partial):
        given |= inner.keywords.keys()
        inner = inner.func
    return [each for each in inspect.signature(function).parameters.values() if each.name not in given]


def _is_context(hint: Any) -> bool:
    hint = without_notes(hint)
    parts = get_args(hint)
    return hint is ToolContext or (len(parts) == 2 and ToolContext in parts and NoneType in parts)


def _refuse_unnamed(parameters: list[inspect.Parameter], hints: Mapping[str, Any], name: str) -> None:
    if parameters and parameters[0].name in ("self", "cls") and parameters[0].name not in hints:
        how = "make the object first, and its method a tool: tool(thing.method)"
        raise TypeError(f"tool {name}: '{parameters[0].name}' cannot be given by callers; {how}")
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"tool {name}: '{parameter}' has no schema; name each parameter")


def _struct(name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any], *, strict: bool) -> Any:
    try:
        return msgspec.defstruct(
            name,
            [_field(p, _described(hints.get(p.name, Any))) for p in parameters],
            kw_only=True,
            forbid_unknown_fields=strict,
            gc=False,  # lives as long as one call and never sits in a cycle
        )
    except TypeError as wrong:
        raise TypeError(f"tool {name}: {wrong}") from None


def _field(parameter: inspect.Parameter, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    default: Any = parameter.default
    if default is parameter.empty:
        return parameter.name, hint
    if type(default).__name__ == "FieldInfo":  # a FieldInfo of pydantic, which it takes as a default
        raise TypeError(f"parameter '{parameter.name}': a Field is no default here; write Annotated[…, Field(…)] = …")
    if isinstance(default, PurePath) or hasattr(default, "model_copy"):
        return parameter.name, *_foreign_default(hint, default)
    if default and hasattr(default, "copy"):  # a filled list, dict or set: each call gets its own
        return parameter.name, hint, msgspec.field(default_factory=default.copy)
    return parameter.name, hint, default


def _foreign_default(hint: Any, default: Any) -> tuple[Any, Any]:
    from copy import deepcopy  # most tools have no such types

    from clawft.provider.foreign import to_json

    own = partial(deepcopy, default)
    with_default = Meta(extra_json_schema={"default": to_json(default)})
    return Annotated[hint, with_default], msgspec.field(default_factory=own)


def _described(hint: Any) -> Any:
    """The type with `Annotated[int, "how many"]` as a description in the schema; inside lists, too."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(_described(parts[0]), [_note(each) for each in parts[1:]])
    if origin is Literal:
        return hint
    inner = tuple(map(_described, parts))
    if all(new is old for new, old in zip(inner, parts, strict=True)):
        return hint
    return Union[inner] if origin in (Union, UnionType) else origin[inner]  # noqa: UP007 - as many as there are


def _annotated(kind: Any, notes: list[Any]) -> Any:
    """The type with its notes; in an optional type, bounds apply to the part that is not None."""
    parts = get_args(kind)
    bounds = any(getattr(note, name, None) is not None for note in notes for name in BOUNDS)
    if bounds and get_origin(kind) in (Union, UnionType) and NoneType in parts:
        rest = Union[tuple(part for part in parts if part is not NoneType)]  # noqa: UP007 - as many as there are
        return Union[Annotated[(rest, *notes)], None]  # noqa: UP007 - there it is no type to `|`
    return Annotated[(kind, *notes)]


def _note(note: Any) -> Any:
    if isinstance(note, str):
        return Meta(description=note)
    if isinstance(note, Meta):
        return note
    from clawft.provider.foreign import foreign_note  # most tools have no such notes

    return foreign_note(note)


def _argument_schema(
    arguments: Any, name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        schema = schema_of(arguments)
    except TypeError as wrong:
        raise _blamed(name, parameters, hints, wrong) from None
    return schema


def _blamed(name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any], wrong: TypeError) -> TypeError:
    """The error, naming the first parameter whose type has no schema."""
    for parameter in parameters:
        try:
            schema_of(_struct(name, [parameter], hints, strict=True))
        except TypeError as alone:
            return TypeError(f"tool {name}: parameter '{parameter.name}': {alone}".replace("`", ""))
    return TypeError(f"tool {name}: {wrong}")


def _mentions(schemas: Mapping[str, Any], name: str) -> bool:
    return b'"' + _REFS.format(name=name).encode() + b'"' in msgspec.json.encode(schemas)
