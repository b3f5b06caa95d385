"""The report of a builder, in one form for all: findings with their places, tests with their outcomes."""

from typing import Literal

from msgspec import Struct

Level = Literal["error", "warning", "note"]
Ending = Literal["passed", "failed", "ignored"]


class Span(Struct, frozen=True, omit_defaults=True):
    """A piece of a file; lines and columns count from 1, the end column is the first one behind it."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    label: str = ""
    primary: bool = False


class SuggestedEdit(Struct, frozen=True, omit_defaults=True):
    """Put `replacement` in place of a piece of a file."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str = ""


class Suggestion(Struct, frozen=True, omit_defaults=True):
    """Edits that belong together. `machine_applicable`: the compiler vouches for them."""

    message: str
    edits: tuple[SuggestedEdit, ...]
    machine_applicable: bool = False


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    """One finding. `file`, `line` and `column` are those of its first span."""

    level: Level
    message: str
    code: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    spans: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def identity(self) -> tuple[str, str, str, int, str]:
        """Equal for findings that are the same, reported for two targets."""
        return self.level, self.code, self.file, self.line, self.message


class Case(Struct, frozen=True, omit_defaults=True):
    """One test. `output` is what a failed one printed or complained about."""

    name: str
    ending: Ending
    suite: str = ""
    output: str = ""


class Tests(Struct, frozen=True, omit_defaults=True):
    """Counts of all tests; `cases` has the failed ones first, and may not have room for all."""

    passed: int
    failed: int
    ignored: int
    cases: tuple[Case, ...] = ()
    left_out: int = 0
    """How many cases had no room."""


class BuildReport(Struct, frozen=True):
    """The findings of a parser. `tests` is None if none were run."""

    diagnostics: tuple[Diagnostic, ...] = ()
    tests: tuple[Case, ...] | None = None


_ORDER: tuple[Ending, ...] = ("failed", "ignored", "passed")


def summed(cases: tuple[Case, ...]) -> Tests:
    """All cases with their counts, failed ones first."""
    count = {ending: sum(case.ending == ending for case in cases) for ending in _ORDER}
    ordered = tuple(sorted(cases, key=lambda case: _ORDER.index(case.ending)))
    return Tests(count["passed"], count["failed"], count["ignored"], ordered)


def unique(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each finding once, errors first, else in the order they came."""
    first: dict[tuple[str, str, str, int, str], Diagnostic] = {}
    for each in diagnostics:
        first.setdefault(each.identity, each)
    return tuple(sorted(first.values(), key=lambda each: each.level != "error"))
