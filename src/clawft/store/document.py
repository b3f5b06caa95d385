"""One TOML file as data: every value by its dotted path, and the line each path stands on. Pure.

tomllib tells no lines, so a small scan finds them again. It knows headers, keys and multi-line strings; a path it
cannot see (inside an inline table) gets the line of the nearest path above it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from clawft.errors import ConfigUnparsable

KeyPath = tuple[str, ...]

MAX_KEY_PARTS = 64
"""tomllib takes time and memory by the square of them: 3 GiB for a key of 60 kB."""
MAX_DIGITS = 4_000
"""Python reads hardly longer numbers, and tomllib does not say where one stands."""

_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$"
_ENTRY = rf"\s*({_DOTTED})\s*="
_LONG_QUOTES = r"\"\"\"|'''"
_AT_LINE = r"\s*\(at line (\d+), column \d+\)"
_AT_END = r"\s*\(at end of document\)"

_LONG_TEXT = r"\"\"\"(?s:(?:\\.|[^\\])*?)(?:\"\"\"|\Z)|'''(?s:.*?)(?:'''|\Z)"
_SHORT_TEXT = r"\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\n]*+'?"
_NO_KEY = rf"{_LONG_TEXT}|{_SHORT_TEXT}|#[^\n]*+"
"""Texts and comments. One without its end goes to that of its line, or of the file, so that nothing is read twice."""
_LONG_KEY = rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}"
_LONG_NUMBER = rf"(?<!\w)[\d_]{{{MAX_DIGITS}}}"


_JSON = "this is JSON; servers in JSON are read from .mcp.json of a workspace, or with --mcp-config FILE"


class TomlDocument(Struct, frozen=True):
    """`tables` is the file as nested tables; `lines` knows where each path begins, 1 being the first line."""

    file: str
    tables: Mapping[str, Any] = {}
    lines: Mapping[KeyPath, int] = {}

    def line_of(self, path: KeyPath) -> int:
        """The line of this path, or of the closest one above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def parse(content: bytes, file: str) -> TomlDocument:
    """Raises ConfigUnparsable, with file and line."""
    import tomllib  # most homes have no configuration file, so most starts never need it

    text = _decoded(content, file)
    _check_sizes(text, file)
    try:
        return TomlDocument(file, tomllib.loads(text), dict(_scan(text)))
    except tomllib.TOMLDecodeError as wrong:
        raise _unparsable(str(wrong), text, file) from None
    except RecursionError:
        raise ConfigUnparsable(f"{file}:1: nested too deep", hint="remove the nesting") from None


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise ConfigUnparsable(f"{file}:{line}: this is not UTF-8 text", hint="save the file as UTF-8") from None


def _check_sizes(text: str, file: str) -> None:
    """Before anybody reads it: a file of the workspace may be made to take all time and memory there is."""
    bare = re.sub(_NO_KEY, lambda found: "x" + "\n" * found[0].count("\n"), text)
    for pattern, what in (
        (_LONG_KEY, f"a key has more than {MAX_KEY_PARTS} parts"),
        (_LONG_NUMBER, f"a number has more than {MAX_DIGITS} digits"),
    ):
        if found := re.search(pattern, bare):
            line = bare.count("\n", 0, found.start()) + 1
            raise ConfigUnparsable(f"{file}:{line}: {what}", hint="correct that line, then `weft config check`")


def _unparsable(said: str, text: str, file: str) -> ConfigUnparsable:
    at = re.search(_AT_LINE, said)
    line = int(at[1]) if at else text.count("\n") + 1
    words = re.sub(_AT_END, " at the end of the file", re.sub(_AT_LINE, "", said))
    hint = _JSON if text.lstrip().startswith("{") else "correct that line, then `weft config check`"
    return ConfigUnparsable(f"{file}:{line}: not valid TOML: {words}", hint=hint)


def _scan(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Paths and their lines. A path stands in a TOML file only once."""
    table: KeyPath = ()
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote:
            header, entry = re.match(_HEADER, line), re.match(_ENTRY, line)
            if header:
                table = _split(header[1])
                yield table, number
            elif entry:
                yield table + _split(entry[1]), number
        quote = _open_quote(line, quote)


def _open_quote(line: str, quote: str) -> str:
    """The long quote still open behind this line."""
    for mark in re.findall(_LONG_QUOTES, line):
        quote = "" if mark == quote else quote or mark
    return quote


def _split(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def leaves(
    tables: Mapping[str, Any], open_tables: frozenset[str], whole: frozenset[str] = frozenset(), above: KeyPath = ()
) -> Iterator[tuple[KeyPath, Any]]:
    """Every value with its path; an empty table and one of `whole` count as values, an open table is not entered."""
    for name, value in tables.items():
        path = (*above, name)
        if len(path) == 1 and name in open_tables:
            continue
        if isinstance(value, dict) and value and ".".join(path) not in whole:
            yield from leaves(cast("dict[str, Any]", value), open_tables, whole, path)
        else:
            yield path, value
