"""Parses JSON as editors write it, with comments and trailing commas; errors name the line. Pure."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from clawft.errors import ConfigUnparsable

_TEXT = r'("(?:\\.|[^"\\])*+"?)'
"""An unclosed text, like an unclosed comment, ends with the file, so that nothing is scanned twice."""
_COMMENT = rf"{_TEXT}|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"  # compiled on first use
_TRAILING = rf"{_TEXT}|,(?=\s*[}}\]])"
_AT_BYTE = r"\s*\(byte (\d+)\)"
_COLON = rb"\s*:"


def parse(content: bytes, file: str) -> dict[str, Any]:
    """The object in the file. Raises ConfigUnparsable, with file and line."""
    plain = content.removeprefix(b"\xef\xbb\xbf")
    try:
        decoded = _decoded(plain)
    except msgspec.DecodeError as wrong:
        raise _unparsable(str(wrong), plain, file) from None
    except (UnicodeDecodeError, RecursionError) as wrong:
        raise ConfigUnparsable(
            f"{file}:1: not valid JSON: {wrong}", hint="save it as UTF-8 text, less nested"
        ) from None
    if not isinstance(decoded, dict):
        raise ConfigUnparsable(f"{file}:1: a JSON object is expected", hint='{"mcpServers": {"name": {…}}}')
    return cast("dict[str, Any]", decoded)


def _decoded(content: bytes) -> object:
    """The value; parsed again without comments and trailing commas if it is not plain JSON."""
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return msgspec.json.decode(without_extras(content.decode()))


def without_extras(text: str) -> str:
    """Plain JSON with the same line numbers."""
    bare = re.sub(_COMMENT, lambda found: found[1] or _blank(found[0]), text)
    return re.sub(_TRAILING, lambda found: found[1] or " ", bare)


def _blank(comment: str) -> str:
    return re.sub(r"[^\n]", " ", comment)


def _unparsable(said: str, content: bytes, file: str) -> ConfigUnparsable:
    at = re.search(_AT_BYTE, said)
    line = content.count(b"\n", 0, int(at[1])) + 1 if at else content.count(b"\n") + 1
    words = re.sub(_AT_BYTE, "", said).removeprefix("JSON is malformed: ")
    return ConfigUnparsable(f"{file}:{line}: not valid JSON: {words}", hint="check commas, quotes and brackets there")


def lines_of(content: bytes, key: str, names: Iterable[str]) -> Iterator[int]:
    """The lines of a key's members, in their order, as far as a text search finds them.

    One pass, as there may be thousands. A member that is not found has the line of the key.
    """
    at = max(_find_key(content, msgspec.json.encode(key), 0), 0)
    line = first = content.count(b"\n", 0, at) + 1
    for name in names:
        found = _find_key(content, msgspec.json.encode(name), at + 1)
        if found < 0:
            yield first
            continue
        line, at = line + content.count(b"\n", at, found), found
        yield line


def _find_key(content: bytes, key: bytes, at: int) -> int:
    """The position of a key with a colon behind it; -1 if there is none."""
    colon = re.compile(_COLON)
    at = content.find(key, at)
    while at >= 0 and not colon.match(content, at + len(key)):
        at = content.find(key, at + 1)
    return at
