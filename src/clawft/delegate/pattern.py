"""Regular expressions that cannot hang: read by Python's own parser, run as a set of states. Pure.

Time grows with the text times the pattern, whatever both look like. What has no such form (a back reference, a look
around) is refused with a reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from msgspec import Struct

MAX_PATTERN = 1_000
MAX_STATES = 2_000

_parser: Any = import_module("re._parser")  # how `re` itself reads patterns, since Python 3.11

Test = Callable[[str], bool]
Node = tuple[Any, Any]


class UnusablePattern(Struct, frozen=True):
    reason: str


class PatternState(Struct, frozen=True):
    """Goes on to `after`: by a letter that passes `test`, at a place, or, with neither, by itself."""

    after: tuple[int, ...]
    test: Test | None = None
    place: str = ""


class Pattern(Struct, frozen=True):
    states: tuple[PatternState, ...]
    start: int

    def found_in(self, text: str) -> bool:
        """Whether some part of the text matches."""
        now: set[int] = set()
        for at in range(len(text) + 1):
            now = self._reached((*now, self.start), text, at)
            if _END in now:
                return True
            if at < len(text):
                now = set(self._stepped(now, text[at]))
        return False

    def _reached(self, begin: Iterable[int], text: str, at: int) -> set[int]:
        """All states that need no letter to get to."""
        seen: set[int] = set()
        waiting = list(begin)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self.states[number]
            if state.test is None and (not state.place or _PLACES[state.place](text, at)):
                waiting += state.after
        return seen

    def _stepped(self, now: Iterable[int], letter: str) -> Iterator[int]:
        for number in now:
            state = self.states[number]
            if state.test is not None and state.test(letter):
                yield from state.after


_END = 0


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern | UnusablePattern:
    """The pattern ready to be used, or why it is not."""
    if len(pattern) > MAX_PATTERN:
        return UnusablePattern(f"longer than {MAX_PATTERN} characters")
    try:
        read = _read(pattern)
        building = _Building()
        start = building.sequence(list(read), read.state.flags, _END)
    except (re.error, OverflowError, RecursionError, FutureWarning) as wrong:
        return UnusablePattern(f"not a valid pattern: {wrong}")
    except _NoForm as lacking:
        return UnusablePattern(str(lacking))
    return Pattern(tuple(building.states), start)


def _read(pattern: str) -> Any:
    """Read the pattern. A warning of Python is an error here, as its author meant something else: `[[:alpha:]]`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        return _parser.parse(pattern)


class _NoForm(Exception):
    """Raised for a pattern that cannot be run in linear time."""


class _Building:
    """States are made from the back: each knows who comes after it."""

    def __init__(self) -> None:
        self.states = [PatternState(())]

    def sequence(self, nodes: Sequence[Node], flags: int, after: int) -> int:
        for node in reversed(nodes):
            after = self._node(node, flags, after)
        return after

    def _node(self, node: Node, flags: int, after: int) -> int:
        kind, value = str(node[0]), node[1]
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self._add(PatternState((after,), _test(kind, value, flags)))
            case "AT":
                return self._add(PatternState((after,), place=_place(str(value), flags)))
            case "BRANCH":
                return self._add(PatternState(tuple(self.sequence(list(each), flags, after) for each in value[1])))
            case "SUBPATTERN":
                return self.sequence(list(value[3]), (flags | value[1]) & ~value[2], after)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(value[0], value[1], list(value[2]), flags, after)
            case _:
                raise _NoForm(f"{_WORDS.get(kind, kind.lower())} cannot be matched in bounded time")

    def _repeat(self, least: int, most: Any, nodes: Sequence[Node], flags: int, after: int) -> int:
        if str(most) == "MAXREPEAT":
            end = self._add(PatternState(()))
            self.states[end] = PatternState((after, self.sequence(nodes, flags, end)))
        else:
            end = after
            for _ in range(int(most) - least):
                end = self._add(PatternState((after, self.sequence(nodes, flags, end))))
        for _ in range(least):
            end = self.sequence(nodes, flags, end)
        return end

    def _add(self, state: PatternState) -> int:
        if len(self.states) >= MAX_STATES:
            raise _NoForm("too large: repeat less")
        self.states.append(state)
        return len(self.states) - 1


_WORDS = {"GROUPREF": "a back reference", "ASSERT": "a look around", "ASSERT_NOT": "a look around"}


# ── one letter ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _test(kind: str, value: Any, flags: int) -> Test:
    test = _exact_test(kind, value, flags)
    if not flags & re.IGNORECASE:
        return test
    return lambda letter: test(letter) or test(letter.lower()) or test(letter.upper())


def _exact_test(kind: str, value: Any, flags: int) -> Test:
    match kind:
        case "LITERAL":
            return chr(value).__eq__
        case "NOT_LITERAL":
            return chr(value).__ne__
        case "ANY":
            return (lambda letter: True) if flags & re.DOTALL else "\n".__ne__
        case _:
            return _one_of([(str(name), item) for name, item in value])


def _one_of(items: Sequence[tuple[str, Any]]) -> Test:
    tests = [_member(name, item) for name, item in items if name != "NEGATE"]
    negated = any(name == "NEGATE" for name, _ in items)
    return lambda letter: any(test(letter) for test in tests) is not negated


def _member(name: str, item: Any) -> Test:
    if name == "RANGE":
        low, high = item
        return lambda letter: low <= ord(letter) <= high
    if name == "CATEGORY":
        return _CATEGORIES[str(item)]
    return chr(item).__eq__


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


_CATEGORIES: dict[str, Test] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda letter: not letter.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda letter: not letter.isspace(),
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda letter: not _is_word(letter),
}


# ── places between letters ───────────────────────────────────────────────────────────────────────────────────────────


def _place(name: str, flags: int) -> str:
    return f"{name}_LINE" if flags & re.MULTILINE and f"{name}_LINE" in _PLACES else name


def _at_boundary(text: str, at: int) -> bool:
    before = at > 0 and _is_word(text[at - 1])
    return before is not (at < len(text) and _is_word(text[at]))


_PLACES: dict[str, Callable[[str, int], bool]] = {
    "AT_BEGINNING": lambda text, at: at == 0,
    "AT_BEGINNING_STRING": lambda text, at: at == 0,
    "AT_BEGINNING_LINE": lambda text, at: at == 0 or text[at - 1] == "\n",
    "AT_END": lambda text, at: text[at:] in ("", "\n"),
    "AT_END_STRING": lambda text, at: at == len(text),
    "AT_END_LINE": lambda text, at: at == len(text) or text[at] == "\n",
    "AT_BOUNDARY": _at_boundary,
    "AT_NON_BOUNDARY": lambda text, at: not _at_boundary(text, at),
}
