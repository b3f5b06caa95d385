"""A TOML file with the line of everything in it, so that a mistake can be pointed at. Pure.

tomllib tells no lines, so a small scan finds headers and keys again. What it cannot see (inside an inline table) has
the line of what it stands in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from clawft.errors import InvalidConfig

CLOSE_ENOUGH = 0.6

Path = tuple[str, ...]

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_LINE = re.compile(rf"\s*(?:\[\[?\s*(?P<header>{_DOTTED})\s*\]|(?P<entry>{_DOTTED})\s*=)")
_KEYS = re.compile(_KEY)
_LONG_TEXT = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)
_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column \d+|end of document)\)")


class Declared(Struct, frozen=True):
    """`file` is its name in errors."""

    file: str
    tables: Mapping[str, Any] = {}
    lines: Mapping[Path, int] = {}

    def wrong(self, path: Path, words: str, hint: str = "") -> InvalidConfig:
        """An error about what stands at this path."""
        while path and path not in self.lines:
            path = path[:-1]
        return InvalidConfig(f"{self.file}:{self.lines.get(path, 1)}: {words}", hint=hint)


def parse(content: bytes, file: str) -> Declared:
    """InvalidConfig, with file and line, if it is no TOML."""
    import tomllib  # only where tasks are declared

    try:
        text = content.decode()
        return Declared(file, tomllib.loads(text), dict(_scan(text)))
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        raise InvalidConfig(f"{file}:{line}: this is not UTF-8 text", hint="save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as wrong:
        raise _unparsable(str(wrong), content, file) from None
    except RecursionError:
        raise InvalidConfig(f"{file}:1: nested too deep") from None


def nearest(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'runner'?`, or nothing."""
    import difflib  # only for those who misspelled something

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=CLOSE_ENOUGH)
    return f", did you mean {close[0]!r}?" if close else ""


def _unparsable(said: str, content: bytes, file: str) -> InvalidConfig:
    place = _PLACE.search(said)
    line = place["line"] if place and place["line"] else content.count(b"\n") + 1
    return InvalidConfig(f"{file}:{line}: no valid TOML: {_PLACE.sub('', said)}", hint="correct that line")


def _scan(text: str) -> Iterator[tuple[Path, int]]:
    table: Path = ()
    for number, line in enumerate(_LONG_TEXT.sub(_only_line_ends, text).split("\n"), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        keys = tuple(key.strip("\"'") for key in _KEYS.findall(found["header"] or found["entry"]))
        if found["header"]:
            table = keys
        yield (table if found["header"] else table + keys), number


def _only_line_ends(long_text: re.Match[str]) -> str:
    """A text over several lines may look like anything."""
    return '""' + "\n" * long_text[0].count("\n")
