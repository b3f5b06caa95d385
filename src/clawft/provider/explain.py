"""Errors about wrong arguments that let a model correct them: which argument, what is wrong, what is expected."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from clawft.error_words import did_you_mean
from clawft.errors import InvalidArguments

MAX_NAMED = 5
"""How many wrong names are listed."""
MAX_NAME_CHARS = 80

_PLACED = r"(?s)(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<where>[^`]*)`)?"
_FIELD = r"Object (?P<how>missing required|contains unknown) field `(?P<name>[^`]*)`"


def wrong_arguments(tool: str, raw: bytes, schema: Mapping[str, Any], problem: Exception) -> InvalidArguments:
    """The error for arguments that did not fit `schema`; `problem` is what the decoder said."""
    complaints = _name_complaints(raw, schema) or [_translate(problem)]
    return InvalidArguments(f"{tool}: {'; '.join(complaints)}", hint=f"usage: {usage(tool, schema)}")


def usage(tool: str, schema: Mapping[str, Any]) -> str:
    """A signature like `read(path: string, offset: integer = 0)`, from the schema."""
    required = schema.get("required", ())
    properties: Mapping[str, Any] = schema.get("properties", {})
    named: Mapping[str, Any] = schema.get("$defs", {})
    return f"{tool}({', '.join(_parameter(name, how, named, name in required) for name, how in properties.items())})"


def _parameter(name: str, schema: Mapping[str, Any], named: Mapping[str, Any], required: bool) -> str:
    text = f"{name}: {_kind(schema, named)}"
    if required or "default" not in schema:
        return text
    return f"{text} = {msgspec.json.encode(schema['default']).decode()}"


def _kind(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """A type in words. `named`: definitions it may refer to; theirs are not followed, as they may form a cycle."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in named:
        return _kind(named[name], {})
    if "enum" in schema:
        return " | ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(option, named) for option in schema["anyOf"])
    return str(schema.get("type", "any"))


def _name_complaints(raw: bytes, schema: Mapping[str, Any]) -> list[str]:
    """All missing and unknown argument names; the decoder reports only the first."""
    try:
        given = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    known: Mapping[str, Any] = schema.get("properties", {})
    missing = [f"missing '{name}'" for name in schema.get("required", ()) if name not in given]
    if schema.get("additionalProperties") is not False:
        return missing[:MAX_NAMED]
    unknown = islice((name for name in given if name not in known), MAX_NAMED)
    return (missing + [_unknown(name, known) for name in unknown])[:MAX_NAMED]


def _unknown(name: str, known: Iterable[str]) -> str:
    name = name[:MAX_NAME_CHARS]
    return f"unknown argument '{name}'{did_you_mean(name, known)}"


def _translate(problem: Exception) -> str:
    if not isinstance(problem, msgspec.ValidationError):
        return f"the arguments are not valid JSON: {problem}"
    placed = re.fullmatch(_PLACED, str(problem))
    what, where = (placed["what"], placed["where"] or "") if placed else (str(problem), "")
    where = where.removeprefix(".")
    field = re.fullmatch(_FIELD, what)
    if field:
        inner = f"{where}.{field['name']}" if where else field["name"]
        return f"missing '{inner}'" if field["how"] == "missing required" else f"unknown argument '{inner}'"
    what = what.replace("`", "")
    what = f"must be {what.removeprefix('Expected ')}" if what.startswith("Expected ") else f"is wrong: {what}"
    return f"'{where}' {what}" if where else f"the arguments {what}"
