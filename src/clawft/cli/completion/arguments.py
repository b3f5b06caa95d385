"""`KEY=` and its values, as the schema of a tool or prompt has them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from clawft.cli.parser.arguments import resolved

Schema = Mapping[str, Any]


def argument_words(schema: Schema, given: Sequence[str], begun: str) -> Iterator[str]:
    """The words that may stand in place of the one that was begun: an argument that is not given yet, or a value of
    one.
    """
    properties = _mapping(schema.get("properties"))
    key, equals, _ = begun.partition("=")
    if equals:
        expected = _mapping(properties.get(key.removesuffix(":")))
        yield from (f"{key}={value}" for value in _values(expected, schema, as_json=key.endswith(":")))
        return
    had = {word.partition("=")[0].removesuffix(":") for word in given}
    required = schema.get("required")
    first = [str(name) for name in cast("list[Any]", required)] if isinstance(required, list) else []
    yield from (f"{name}=" for name in sorted(properties, key=lambda name: name not in first) if name not in had)


def _values(expected: Schema, schema: Schema, *, as_json: bool) -> Iterator[str]:
    """The values of an enum, or true and false."""
    expected = resolved(expected, schema)
    for branch in (*_list(expected.get("anyOf")), *_list(expected.get("oneOf"))):
        yield from _values(_mapping(branch), schema, as_json=as_json)
    values = _list(expected.get("enum")) or ([expected["const"]] if "const" in expected else [])
    if not values and expected.get("type") == "boolean":
        values = [True, False]
    for value in values:
        yield value if isinstance(value, str) and not as_json else msgspec.json.encode(value).decode()


def _mapping(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
