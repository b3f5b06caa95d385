"""Sets defaults of dataclass fields on decoded instances, where msgspec leaves them in the class.

Without that an instance reads like any other but loses those fields when it is encoded. Loaded with the first tool that
takes a dataclass.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, cast, get_args, get_type_hints

from msgspec import Struct

_MISSING = dataclasses.MISSING


def leaves_defaults(kind: Any) -> bool:
    """Whether a dataclass with a plain default occurs anywhere in this type."""
    return any(map(_has_plain_default, _kinds(kind, set())))


def fill(value: Any) -> None:
    """Set the defaults on every instance inside `value`. Not recursive: arguments may be nested very deeply."""
    left = [value]
    while left:
        one = left.pop()
        if _is_instance(one):
            _fill_one(one)
        left.extend(_inside(one))


def _fill_one(value: Any) -> None:
    own = getattr(value, "__dict__", {})  # with slots msgspec has set it
    for field in dataclasses.fields(value):
        if field.default is not _MISSING and field.name not in own:
            object.__setattr__(value, field.name, getattr(value, field.name))  # it may be frozen


def _kinds(kind: Any, seen: set[int]) -> Iterator[Any]:
    """The type and all types it contains."""
    if id(kind) in seen:
        return
    seen.add(id(kind))
    yield kind
    members = get_type_hints(kind, include_extras=True).values() if _has_members(kind) else ()
    for inner in (*get_args(kind), *members):
        yield from _kinds(inner, seen)


def _has_members(kind: Any) -> bool:
    """Whether msgspec reads members of this type: dataclass, Struct, TypedDict, NamedTuple. Models read their own."""
    names = ("__dataclass_fields__", "__struct_fields__", "__total__", "_fields")
    return isinstance(kind, type) and any(hasattr(kind, name) for name in names)


def _has_plain_default(kind: Any) -> bool:
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return False
    return any(field.default is not _MISSING for field in dataclasses.fields(cast("Any", kind)))


def _is_instance(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _inside(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from cast("dict[Any, Any]", value).values()
        case list() | tuple() | set() | frozenset():
            yield from cast("list[Any]", value)
        case Struct():
            yield from (getattr(value, name) for name in value.__struct_fields__)
        case _:
            if _is_instance(value):
                yield from (getattr(value, field.name) for field in dataclasses.fields(value))
