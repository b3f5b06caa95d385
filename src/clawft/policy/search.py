"""The search for command lines and URLs in decoded arguments."""

from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from clawft.policy.command_values import arguments_in, is_line_of, lines_of, names_command, plain_name
from clawft.policy.url_values import urls_of

MAX_VALUES = 50_000
MAX_DEPTH = 64
MAX_COMMAND_TEXT = 262_144
"""Characters of all command lines of one call together."""
MAX_COMMANDS = 1_000
MAX_URLS = 1_000


class FoundTexts(Struct, frozen=True):
    """Each text with its path. `complete` is False if a bound was hit, so that the rest was not searched."""

    commands: tuple[tuple[str, str], ...]
    urls: tuple[tuple[str, str], ...]
    complete: bool


class _Value(Struct, frozen=True):
    """A value still to be searched: `name` is its argument's, `commanded` says that it is (part of) a command."""

    path: str
    name: str
    value: Any
    depth: int
    commanded: bool = False


def search_arguments(arguments: Mapping[str, Any]) -> FoundTexts:
    """All command lines and URLs in the arguments, with the path of each (`steps[0].run`)."""
    search = _Search()
    waiting = deque([_Value("", "", arguments, 0)])
    values = 0
    while waiting and not search.over:
        at = waiting.popleft()
        value, values = at.value, values + 1
        if values > MAX_VALUES or at.depth > MAX_DEPTH:
            return search.found(complete=False)
        if isinstance(value, str):
            search.text(at.path, at.name, value)
        elif isinstance(value, Mapping):
            waiting.extend(search.table(at, cast("Mapping[str, Any]", value)))
        elif isinstance(value, list):
            waiting.extend(search.items(at, cast("list[Any]", value)[: MAX_VALUES + 1]))
    return search.found(complete=True)


class _Search:
    def __init__(self) -> None:
        self.over = False
        """A bound was hit."""
        self._commands: list[tuple[str, str]] = []
        self._room = MAX_COMMAND_TEXT
        self._urls: list[tuple[str, str]] = []

    def found(self, complete: bool) -> FoundTexts:
        return FoundTexts(tuple(self._commands), tuple(self._urls), complete and not self.over)

    def text(self, path: str, name: str, value: str) -> None:
        self._urls += [(path, url) for url in urls_of(name, value)]
        if len(self._urls) > MAX_URLS:
            self._urls, self.over = self._urls[:MAX_URLS], True

    def table(self, at: _Value, table: Mapping[str, Any]) -> list[_Value]:
        """Reads the commands it names; its members are to be looked at."""
        members: list[_Value] = []
        beside: dict[str, str] | None = None
        for key, value in table.items():
            name = plain_name(key)
            where = f"{at.path}.{key}" if at.path else key
            is_command = names_command(name) or (at.commanded and is_line_of(name))
            if is_command:
                beside = arguments_in(table) if beside is None else beside
                self._add(where, name, value, beside)
            members.append(_Value(where, name, value, at.depth + 1, is_command))
        return members

    def items(self, at: _Value, items: list[Any]) -> list[_Value]:
        members = [_Value(f"{at.path}[{n}]", at.name, item, at.depth + 1, at.commanded) for n, item in enumerate(items)]
        for member, item in zip(members, items, strict=True) if at.commanded else ():
            if isinstance(item, list):  # [["rm", "-rf", "/"]]; of texts in a list its reader took care
                self._add(member.path, "", item, {})
        return members

    def _add(self, where: str, name: str, value: Any, beside: Mapping[str, str]) -> None:
        for place, line in lines_of(where, name, value, beside):
            self._room -= len(line)
            if self._room < 0 or len(self._commands) == MAX_COMMANDS:
                self.over = True
                return
            self._commands.append((place, line))
