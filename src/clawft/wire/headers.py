"""HTTP headers of the stateless era: what they mirror, how values are spelled, and what an `x-mcp-header` may be."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from msgspec import Struct

from clawft.errors import MAX_TOLD, HeaderMismatch
from clawft.wire.meta import Params
from clawft.wire.methods import names_by_header

Headers = Mapping[bytes, bytes]
"""Lower-case names, last value; duplicates are refused before (`repeated`)."""

VERSION = b"mcp-protocol-version"
METHOD = b"mcp-method"
NAME = b"mcp-name"
PARAM = b"mcp-param-"
ROUTING = (VERSION, METHOD, NAME)

_PLAIN = re.compile(r"([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WHOLE = re.compile(r"-?[0-9]+(\.0+)?")
_SAFE_INTEGER = 2**53 - 1
_MAX_DEPTH = 32


def as_text(value: str) -> str:
    """A header as text that can be encoded again: aiohttp keeps bytes that are no UTF-8 as lone surrogates."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


def repeated(pairs: Sequence[tuple[bytes, bytes]]) -> str:
    """The header that routes and occurs twice; empty if there is none."""
    names = [name for name, _ in pairs]
    for name in set(names):
        if (name in ROUTING or name.startswith(PARAM)) and names.count(name) > 1:
            return name.decode("latin-1")
    return ""


def encode_value(value: str) -> str:
    """As it is where a header can carry it, else base64 in its envelope."""
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decode_value(header: bytes) -> str:
    """Raises HeaderMismatch for base64 that is broken or not canonical, and where it had to be base64."""
    text = header.decode("latin-1").strip(" \t")
    encoded = _ENCODED.fullmatch(text)
    if encoded is None and text.isascii():
        return text
    if encoded is None:  # others would take the same bytes for another text
        raise HeaderMismatch(f"the header value {text[:MAX_TOLD]!r} is not ASCII", hint="send it as =?base64?…?=")
    try:
        raw = base64.b64decode(encoded[1], validate=True)
        value = raw.decode()
    except ValueError:  # not base64, not ASCII, not UTF-8
        raise HeaderMismatch(f"the header value {text[:MAX_TOLD]!r} is not base64 of UTF-8") from None
    if base64.b64encode(raw).decode() != encoded[1]:
        raise HeaderMismatch(f"the header value {text[:MAX_TOLD]!r} is not canonical base64")
    return value


def check_mirrors(method: str, version: str, params: Params, headers: Headers) -> None:
    """The headers must say what the body says. Raises HeaderMismatch."""
    if headers.get(VERSION) != version.encode():
        _check(headers, VERSION, version, _plain)
    if headers.get(METHOD) != method.encode():
        _check(headers, METHOD, method, _plain)
    parameter = names_by_header(method)
    if parameter:
        name = params.named(parameter)
        if name is not None and not _says_plainly(headers.get(NAME), name):
            _check(headers, NAME, name, decode_value)


class Route(NamedTuple):
    """The version, method and name that headers tell in the usual way: as they are, in ASCII."""

    version: str
    method: str
    name: str


def route(headers: Headers) -> Route | None:
    """None if one of the three is missing, or told in any other way."""
    values = [headers.get(header, b"") for header in (VERSION, METHOD, NAME)]
    if not all(values) or not b"".join(values).isascii() or values[-1].startswith(b"=?"):
        return None
    return Route(*(word.decode() for word in values))


def _says_plainly(header: bytes | None, text: str) -> bool:
    """Whether a header is this text, told in the usual way: as it is, in ASCII."""
    return header == text.encode() and text.isascii() and not text.startswith("=?")


def _plain(header: bytes) -> str:
    """Versions and methods are never encoded."""
    return header.decode("latin-1").strip(" \t")


def _check(headers: Headers, header: bytes, expected: str, read: Callable[[bytes], str]) -> None:
    label = header.decode()
    if header not in headers:
        raise HeaderMismatch(f"the header {label} is missing", hint=f"the body says {expected[:MAX_TOLD]!r}")
    if read(headers[header]) != expected:
        value = headers[header].decode("latin-1")
        raise HeaderMismatch(f"the header {label} says {value[:MAX_TOLD]!r}, the body {expected[:MAX_TOLD]!r}")


# ── x-mcp-header ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Mirror(Struct, frozen=True):
    """One tool argument that travels as a header too: `Mcp-Param-<token>` = the argument at `path`."""

    token: str
    path: tuple[str, ...]
    type: str

    @property
    def header(self) -> bytes:
        return PARAM + self.token.lower().encode()


class BadMirror(Struct, frozen=True):
    """Why a tool's `x-mcp-header` cannot be used; an HTTP client drops the tool."""

    reason: str


def mirrors(schema: Mapping[str, Any]) -> tuple[Mirror, ...] | BadMirror:
    """The arguments of this input schema that travel as headers, or what is wrong with them."""
    found: list[Mirror] = []
    for path, subschema, reachable in _annotated(schema, (), True):
        token = subschema["x-mcp-header"]
        where = ".".join(path) or "the schema itself"
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            return BadMirror(f"{where}: x-mcp-header must be a header token, not {token!r}")
        if not reachable or not path:
            return BadMirror(f"{where}: x-mcp-header only works on properties of objects")
        if subschema.get("type") not in ("string", "integer", "boolean"):
            return BadMirror(f"{where}: x-mcp-header needs type string, integer or boolean")
        found.append(Mirror(token, path, subschema["type"]))
    tokens = [mirror.token.lower() for mirror in found]
    if len(set(tokens)) != len(tokens):
        return BadMirror("two properties use the same x-mcp-header")
    return tuple(found)


def _annotated(
    schema: object, path: tuple[str, ...], reachable: bool, depth: int = 0
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any], bool]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(schema, list):
        for member in cast("list[object]", schema):
            yield from _annotated(member, path, False, depth + 1)
        return
    if not isinstance(schema, dict):
        return
    known = cast("Mapping[str, Any]", schema)
    if "x-mcp-header" in known:
        yield path, known, reachable
    for key, value in known.items():
        if key == "properties" and isinstance(value, dict):
            for name, member in cast("Mapping[str, Any]", value).items():
                yield from _annotated(member, (*path, name), reachable, depth + 1)
        elif key not in ("default", "const", "enum", "examples"):
            yield from _annotated(value, path, False, depth + 1)


def check_params(tool_mirrors: Sequence[Mirror], arguments: Mapping[str, Any], headers: Headers) -> None:
    """The `Mcp-Param-*` headers must say what the arguments say. Raises HeaderMismatch."""
    for mirror in tool_mirrors:
        value = _argument(arguments, mirror.path)
        told = headers.get(mirror.header)
        label = f"Mcp-Param-{mirror.token}"
        if value is None and told is None:
            continue
        if value is None:
            raise HeaderMismatch(f"the header {label} is there, its argument {'.'.join(mirror.path)} is not")
        if told is None:
            raise HeaderMismatch(f"the header {label} is missing", hint="mirror the argument, then try again")
        if not _same(mirror.type, value, decode_value(told)):
            raise HeaderMismatch(f"the header {label} and the argument {'.'.join(mirror.path)} differ")


def _argument(arguments: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, Any]", value).get(name)
    return value


def _same(kind: str, value: object, told: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool) and told == ("true" if value else "false")
    if kind == "integer":
        return _same_number(value, told)
    return value == told


def _same_number(value: object, told: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _WHOLE.fullmatch(told):
        return False
    return abs(value) <= _SAFE_INTEGER and len(told) < 40 and int(told.partition(".")[0]) == value


def spell(value: object) -> str | None:
    """The header value for an argument we send; None where there is nothing to mirror."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return encode_value(str(value))
