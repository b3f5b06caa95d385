"""Checks JSON Schemas that servers promise their results by: whether every client can make something of them. Pure.

Some clients compile the schemas of all tools when they list them, and one that cannot be compiled costs them the whole
list. What cannot be told from here, as how their language writes a pattern, is judged with care: a promise that is left
out costs nobody anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

MAX_DEPTH = 64
MAX_PATTERN_CHARS = 1_000


def flaw_of(wire: bytes) -> str:
    """The mistake in a schema, or empty."""
    try:
        schema = msgspec.json.decode(wire)
    except (msgspec.DecodeError, RecursionError) as wrong:
        return str(wrong)
    if not isinstance(schema, dict):
        return "it is not an object"
    return next(_flaws(cast("dict[str, Any]", schema), schema, 0), "")


def _flaws(schema: Any, whole: Any, depth: int) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        yield "a schema in it is none, or lies too deep"
        return
    members = cast("dict[str, Any]", schema)
    for keyword, value in members.items():
        fits = _KEYWORDS.get(keyword)
        if fits is not None and not fits(value):
            yield f"its {keyword} is not what it must be"
        for inner in _inner(keyword, value):
            yield from _flaws(inner, whole, depth + 1)
    if "nullable" in members and "type" not in members:
        yield "nullable is said of no type"
    if isinstance(members.get("$ref"), str) and not _leads_somewhere(members["$ref"], whole):
        yield "its $ref cannot be resolved"


def _inner(keyword: str, value: Any) -> Iterator[Any]:
    """The schemas that stand below this keyword."""
    if keyword in _ONE:
        yield value
    elif keyword in _NAMED and isinstance(value, dict):
        yield from cast("dict[str, Any]", value).values()
    elif keyword in _SEVERAL and isinstance(value, list):
        yield from cast("list[Any]", value)
    elif keyword == "items":
        yield from cast("list[Any]", value) if isinstance(value, list) else [value]


def _leads_somewhere(ref: str, whole: Any) -> bool:
    """Within the schema itself; nothing is fetched for it."""
    if not ref.startswith("#/"):
        return ref == "#"
    at = whole
    for step in ref[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(at, dict) or name not in at or "%" in name:
            return False
        at = cast("dict[str, Any]", at)[name]
    return isinstance(at, dict | bool)


# ── what a keyword may be ────────────────────────────────────────────────────────────────────────────────────────────

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_ONE = frozenset(
    "additionalProperties additionalItems contains not if then else propertyNames unevaluatedItems "
    "unevaluatedProperties".split()
)
_NAMED = frozenset("properties patternProperties $defs definitions dependentSchemas".split())
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_type(value: Any) -> bool:
    several = cast("list[Any]", value) if isinstance(value, list) else [value]
    return bool(several) and all(_is_text(each) and each in _TYPES for each in several)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(each) for each in cast("list[Any]", value))


def _is_some(value: Any) -> bool:
    return isinstance(value, list) and bool(cast("list[Any]", value))


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_lists_of_names(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_names, cast("dict[str, Any]", value).values()))


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


_CLASS = r"\[(?:[^\]\\]|\\.)*\]"
_COUNT = r"\{\d+(?:,\d*)?\}"
_ODD = (
    r"\\(?![dDwWsSbBnrtfv^$\\.*+?()\[\]{}|/-]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"  # an escape that not all know
    r"|\(\?(?![:=!])"  # a group of one language
    r"|[*+?]\+"  # a repetition of one language
)
_ODD_OUTSIDE = r"(?<!\\)[\]{}]|\\-"
"""Parts of a pattern that not every language reads, or not in the same way; the latter where no class of
characters is.
"""


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > MAX_PATTERN_CHARS:
        return False
    plain = value.replace("\\\\", "")
    if re.search(_ODD, plain) or re.search(_ODD_OUTSIDE, re.sub(_COUNT, "", re.sub(_CLASS, "", plain))):
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _is_patterns(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_pattern, cast("dict[str, Any]", value)))


def _never(value: Any) -> bool:
    """Of an older draft, where it meant something else."""
    return False


_ANCHOR = r"[A-Za-z_][-A-Za-z0-9._]*"


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(_ANCHOR, value) is not None


_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "enum": _is_some,
    "required": _is_names,
    "pattern": _is_pattern,
    "patternProperties": _is_patterns,
    "dependentRequired": _is_lists_of_names,
    "dependencies": _is_lists_of_names,
    "id": _never,
    "$anchor": _is_anchor,
    "$dynamicAnchor": _is_anchor,
    **dict.fromkeys(("$schema", "$id", "$ref", "$comment", "format", "title", "description"), _is_text),
    **dict.fromkeys(("$dynamicRef", "contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("properties", "$defs", "definitions", "dependentSchemas"), _is_map),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _is_some),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "nullable", "deprecated", "readOnly", "writeOnly"), _is_bool),
}
