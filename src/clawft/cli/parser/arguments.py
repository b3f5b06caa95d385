"""`key=value` words as the arguments of a tool, read the way its schema means them.

`key=text`, `key=3` where the schema wants a number, `key:=JSON`, `key=@file` (`@-`: stdin). Pure but for reading files.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from clawft.cli.parser import WrongUsage
from clawft.config.places import expanded
from clawft.error_words import did_you_mean

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_REFERENCES = 16

Schema = Mapping[str, Any]
Read = Callable[[str], str]

_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a JSON list",
    "object": "a JSON object",
}
_CLASSES: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


def read_file(name: str) -> str:
    """The text of a file the user named, or of stdin for `-`."""
    try:
        with _interruptible():
            if name == "-":
                return sys.stdin.read(MAX_FILE_BYTES)
            with expanded(name).open(encoding="utf-8") as file:
                return file.read(MAX_FILE_BYTES)
    except (OSError, UnicodeDecodeError) as failure:
        reason = getattr(failure, "strerror", None) or "it is not UTF-8 text"
        raise WrongUsage(f"@{name}: {reason}", hint="for a text that begins with @ write KEY:='\"@…\"'") from None


@contextmanager
def _interruptible() -> Generator[None]:
    """Ctrl-C ends the waiting for what somebody types: the loop we run in would hear of it only afterwards."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def arguments(pairs: Sequence[str], whole: str | None, schema: Schema, read: Read = read_file) -> dict[str, Any]:
    """All arguments; single ones win over `--args`. Raises WrongUsage."""
    found = _whole(whole, read) if whole is not None else {}
    given: dict[str, Any] = {}
    for pair in pairs:
        key, value = _pair(pair, schema, read)
        if key in given:
            raise WrongUsage(f"{key} is given twice", hint=f"for a list write {key}:='[…]'")
        given[key] = value
    return {**found, **given}


def _whole(text: str, read: Read) -> dict[str, Any]:
    try:
        return msgspec.json.decode(read(text[1:]) if text.startswith("@") else text, type=dict[str, Any])
    except msgspec.DecodeError as wrong:
        raise WrongUsage(
            f"--args is not a JSON object: {wrong}", hint="""like --args '{"path": "README.md"}'"""
        ) from None


def _pair(pair: str, schema: Schema, read: Read) -> tuple[str, Any]:
    key, equals, text = pair.partition("=")
    if not equals or key in ("", ":"):
        raise WrongUsage(f"{pair!r} is not an argument", hint="write KEY=VALUE, or KEY:=JSON")
    as_json = key.endswith(":")
    key = key.removesuffix(":")
    expected = _property(key, schema)
    if text.startswith("@") and not as_json:
        text = read(text[1:])
    return key, _json(key, text, ()) if as_json else value_of(key, text, kinds_of(expected, schema))


def _property(key: str, schema: Schema) -> Schema:
    properties = _mapping(schema.get("properties"))
    if key not in properties and schema.get("additionalProperties") is False:
        known = ", ".join(properties) or "it takes none"
        raise WrongUsage(f"no such argument: {key}{did_you_mean(key, properties)}", hint=f"arguments: {known}")
    return _mapping(properties.get(key))


def value_of(key: str, text: str, kinds: frozenset[str]) -> Any:
    """A text as it is where a text may stand; else JSON of one of these kinds."""
    return text if "string" in kinds or not kinds else _json(key, text, tuple(sorted(kinds)))


def _json(key: str, text: str, kinds: tuple[str, ...]) -> Any:
    wanted = " or ".join(_KINDS[kind] for kind in kinds) or "JSON"
    wrong = WrongUsage(f"{key} must be {wanted}, not {text[:60]!r}", hint=f"{key}:=JSON takes any value")
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise wrong from None
    if kinds and not any(_is(value, kind) for kind in kinds):
        raise wrong
    return value


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _CLASSES[kind])


def kinds_of(expected: Schema, schema: Schema) -> frozenset[str]:
    """JSON types a value may have as far as the schema tells; empty if it does not."""
    expected = resolved(expected, schema)
    types = expected.get("type")
    if isinstance(types, str):
        return frozenset({types}) & _KNOWN
    if isinstance(types, list):
        return frozenset(str(kind) for kind in cast("list[Any]", types)) & _KNOWN
    if "enum" in expected or "const" in expected:
        return frozenset(map(_kind_of, expected.get("enum", [expected.get("const")])))
    branches: list[Any] = expected.get("anyOf") or expected.get("oneOf") or []
    kinds = [kinds_of(_mapping(branch), schema) for branch in branches]
    return frozenset[str]().union(*kinds) if all(kinds) else frozenset()


_KNOWN = frozenset({"string", *_KINDS})


def _kind_of(value: Any) -> str:
    return next((kind for kind in _CLASSES if _is(value, kind)), "string")


def resolved(expected: Schema, schema: Schema) -> Schema:
    """Follow `#/$defs/…` as far as it leads."""
    for _ in range(MAX_REFERENCES):
        reference = expected.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return expected
        found: Any = schema
        for part in reference[2:].split("/"):
            found = _mapping(found).get(part)
        expected = _mapping(found)
    return {}


def _mapping(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}
