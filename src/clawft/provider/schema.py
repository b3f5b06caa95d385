"""From a function's signature to JSON Schema: worked out once, when a tool is defined.

The parameters become one msgspec Struct. Its schema is what the caller reads, its decoder is what checks the arguments,
so the two cannot disagree.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Raw, Struct

from clawft.provider.context import ToolContext

WHOLE = "arguments"
"""A parameter of this name takes all arguments as one dict, if the tool brings its own input schema."""

_REFS = "#/$defs/{name}"
_WHOLE = rb"-?[0-9]+\.0+"


class Signature(Struct, frozen=True):
    """How to call a function with decoded arguments."""

    arguments: Any
    """The Struct type that arguments are decoded into, or `dict[str, Any]` where the function takes them whole."""
    schema: dict[str, Any]
    returns: Any
    context_at: int = -1
    """Where among the values the ToolContext goes; -1 if the function does not want it."""
    keywords: tuple[str, ...] = ()
    """Keyword-only parameters: the last values, by name."""

    @property
    def whole(self) -> bool:
        return not isinstance(self.arguments, type)


def read_signature(function: Callable[..., Any], name: str, input_schema: Mapping[str, Any] | None = None) -> Signature:
    """What the function takes and gives. A TypeError says why it cannot be a tool."""
    hints = _hints(function, name)
    parameters = list(inspect.signature(function).parameters.values())
    _refuse_variadic(parameters, name)
    wanting = [at for at, p in enumerate(parameters) if hints.get(p.name) is ToolContext]
    taken = [p for p in parameters if hints.get(p.name) is not ToolContext]
    whole = input_schema is not None and [p.name for p in taken] == [WHOLE]
    arguments = dict[str, Any] if whole else _struct(name, taken, hints, strict=input_schema is None)
    return Signature(
        arguments=arguments,
        schema=dict(input_schema) if input_schema is not None else _argument_schema(arguments, name),
        returns=hints.get("return", inspect.Signature.empty),
        context_at=wanting[0] if wanting else -1,
        keywords=tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY),
    )


def schema_of(kind: Any) -> dict[str, Any]:
    """JSON Schema 2020-12 of a type, its own definition at the top and those it refers to under `$defs`."""
    (top,), others = msgspec.json.schema_components([kind], ref_template=_REFS)
    own = top.get("$ref", "").removeprefix("#/$defs/")
    if own:
        top = dict(others[own])
        top.pop("title", None)
        if not _mentions(others, own):
            del others[own]
    return {**top, "$defs": others} if others else top


def with_whole_numbers(raw: bytes, schema: Mapping[str, Any]) -> bytes:
    """Arguments with `5` for `5.0` where an integer is wanted: to JSON Schema both are one, and some clients know one
    kind of number only.
    """
    given = msgspec.json.decode(raw, type=dict[str, Raw])
    wanted = {name for name, said in schema.get("properties", {}).items() if _takes_integers(said)}
    whole = {name: Raw(bytes(value).partition(b".")[0]) for name, value in given.items() if re.fullmatch(_WHOLE, value)}
    return msgspec.json.encode({**given, **{name: value for name, value in whole.items() if name in wanted}})


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


def _refuse_variadic(parameters: list[inspect.Parameter], name: str) -> None:
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
    if default and hasattr(default, "copy"):  # a filled list, dict or set: each call gets its own
        return parameter.name, hint, msgspec.field(default_factory=default.copy)
    return parameter.name, hint, default


def _described(hint: Any) -> Any:
    """`Annotated[int, "how many"]` becomes a description that msgspec puts into the schema."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *notes = get_args(hint)
    return Annotated[(kind, *(Meta(description=note) if isinstance(note, str) else note for note in notes))]


def _argument_schema(arguments: Any, name: str) -> dict[str, Any]:
    try:
        schema = schema_of(arguments)
    except TypeError as wrong:
        raise TypeError(f"tool {name}: {wrong}") from None
    return {"type": "object", **schema}


def _mentions(schemas: Mapping[str, Any], name: str) -> bool:
    return b'"' + _REFS.format(name=name).encode() + b'"' in msgspec.json.encode(schemas)
