"""The search for command lines and URLs in decoded arguments."""

import re
import shlex
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

MAX_VALUES = 50_000
MAX_DEPTH = 64
MAX_COMMAND_TEXT = 262_144
"""Characters of all command lines of one call together."""
MAX_COMMANDS = 1_000
MAX_URLS = 1_000

COMMAND_KEYS = frozenset(
    {"command", "cmd", "command_line", "commandline", "cmdline", "cmd_line", "shell_command", "shellcommand"}
    | {"bash_command", "bash", "sh", "shell", "script", "exec", "execute", "run", "argv"}
)
LIST_KEYS = frozenset({"commands", "cmds", "scripts", "shell_commands"})
ARGUMENT_KEYS = ("args", "arguments", "argv", "parameters")

FETCHED = frozenset("http https ftp ftps ws wss gopher dict ldap ldaps tftp".split())
"""Schemes that a tool would open a connection for. Others (`postgres://`, `ssh://`, a server's own resources) name
things, and what may be done with them is for the tool to know."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,63}):")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,63}:[/\\]{2}|[/\\]{2}[^/\\\s]|https?:", re.IGNORECASE)
_UP_TO_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,63}:)?[/\\]*[^/?#\\]*")
_AROUND = re.compile(r"(?:(?:view-source|jar|blob|feed):)+", re.IGNORECASE)
"""Schemes around another URL, which is where one ends up."""
_BREAK = re.compile(r"[\t\r\n]+")
_STRIPPED = "".join(map(chr, range(0x21)))


class FoundTexts(Struct, frozen=True):
    """Where and what. `complete` is False if a bound was hit: then there is more that nobody has looked at."""

    commands: tuple[tuple[str, str], ...]
    urls: tuple[tuple[str, str], ...]
    complete: bool


def look(arguments: Mapping[str, Any]) -> FoundTexts:
    """Everything to judge, with the path it was found at (`steps[0].run`)."""
    search = _Search()
    waiting: deque[tuple[str, Any, int]] = deque([("", arguments, 0)])
    values = 0
    while waiting:
        path, value, depth = waiting.popleft()
        values += 1
        if values > MAX_VALUES or depth > MAX_DEPTH:
            return search.found(complete=False)
        if isinstance(value, str):
            search.text(path, value)
        elif isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            search.table(path, table)
            waiting.extend((f"{path}.{key}" if path else key, item, depth + 1) for key, item in table.items())
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            waiting.extend((f"{path}[{at}]", item, depth + 1) for at, item in enumerate(items[: MAX_VALUES + 1]))
    return search.found(complete=True)


class _Search:
    def __init__(self) -> None:
        self._commands: list[tuple[str, str]] = []
        self._urls: list[tuple[str, str]] = []

    def found(self, complete: bool) -> FoundTexts:
        few = len(self._commands) <= MAX_COMMANDS and len(self._urls) <= MAX_URLS
        short = sum(len(text) for _, text in self._commands) <= MAX_COMMAND_TEXT
        return FoundTexts(
            tuple(self._commands[:MAX_COMMANDS]), tuple(self._urls[:MAX_URLS]), complete and few and short
        )

    def text(self, path: str, value: str) -> None:
        self._urls += [(path, url) for url in _as_urls(value) if _is_fetched(path, url)]

    def table(self, path: str, table: Mapping[str, Any]) -> None:
        for key, value in table.items():
            name = key.lower().replace("-", "_")
            where = f"{path}.{key}" if path else key
            if name in LIST_KEYS and isinstance(value, list):
                lines = cast("list[Any]", value)
                self._commands += [(f"{where}[{at}]", line) for at, line in enumerate(lines) if isinstance(line, str)]
            elif name in COMMAND_KEYS or name in LIST_KEYS:
                self._command(where, value, table)

    def _command(self, where: str, value: Any, table: Mapping[str, Any]) -> None:
        words = _words(value)
        if isinstance(value, str):
            self._commands.append((where, value))
            rest = [word for key in ARGUMENT_KEYS for word in _words(table.get(key))]
            if rest:  # {"command": "rm", "args": ["-rf", "/"]} is one command
                self._commands.append((where, f"{value} {shlex.join(rest)}"))
        elif words:
            self._commands.append((where, shlex.join(words)))


def _is_fetched(path: str, url: str) -> bool:
    """Would this be fetched? A file only where the argument calls itself a URL: `uri` is how resources are named."""
    scheme = _SCHEME.match(url)
    if scheme is None:
        return True  # //host
    name = scheme[1].lower()
    return name in FETCHED or (name == "file" and "url" in path.rpartition(".")[2].lower())


def _words(value: Any) -> list[str]:
    return [str(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _as_urls(value: str) -> list[str]:
    """The URLs this value may be taken for. Some programs drop line breaks and tabs inside a URL, others stop there."""
    text = value.strip(_STRIPPED)
    text = text[around.end() :] if (around := _AROUND.match(text)) else text
    first_line = _BREAK.split(text, maxsplit=1)[0]
    if len(first_line) == len(text):
        return [text] if _is_url(text) else []
    joined = _UP_TO_PATH.match(_BREAK.sub("", text))
    readings = [first_line.rstrip(), joined[0] if joined else ""]
    return [reading for reading in readings if _is_url(reading)]


def _is_url(text: str) -> bool:
    return _URL.match(text) is not None and (head := _UP_TO_PATH.match(text)) is not None and " " not in head[0]
