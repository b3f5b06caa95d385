"""Shortens results to a bound in bytes of JSON. Pure."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from clawft.builtin.build.report import Case, Diagnostic, Tests

MAX_TEXT_BYTES = 8 * 1024
"""The end of each output stream that a result shows. All streams and lists together stay below one result's bound."""
MAX_DIAGNOSTICS_BYTES = 16 * 1024
MAX_DIAGNOSTIC_BYTES = 4 * 1024
MAX_MESSAGE_CHARS = 500
"""Characters of the message of a finding that is too large."""
MAX_CASES_BYTES = 12 * 1024
MAX_CASE_OUTPUT_BYTES = 2 * 1024
"""The end of a failed test's output that is shown."""

T = TypeVar("T")

_encode = msgspec.json.encode


def last_of(text: str, limit: int = MAX_TEXT_BYTES) -> str:
    """The end of a text, from the beginning of a line if there is one."""
    if size_of(text) <= limit:
        return text
    kept = text[-limit:]
    while kept and (size := size_of(kept)) > limit:
        fewer = max(0, min(len(kept) - 1, len(kept) * limit // size))
        kept = kept[len(kept) - fewer :]
    _, newline, whole_lines = kept.partition("\n")
    return whole_lines if newline and whole_lines else kept


def first_of(items: Iterable[T], limit: int) -> tuple[T, ...]:
    """The first items that fit together."""
    kept: list[T] = []
    for item in items:
        limit -= size_of(item) + 1
        if limit < 0:
            break
        kept.append(item)
    return tuple(kept)


def fit_diagnostics(found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The findings that fit. A very large one loses its details."""
    return first_of(map(_modest, found), MAX_DIAGNOSTICS_BYTES)


def fit_tests(report: Tests) -> Tests:
    kept = first_of(map(_shortened, report.cases), MAX_CASES_BYTES)
    return msgspec.structs.replace(report, cases=kept, left_out=len(report.cases) - len(kept))


def _modest(each: Diagnostic) -> Diagnostic:
    if size_of(each) <= MAX_DIAGNOSTIC_BYTES:
        return each
    message = each.message[:MAX_MESSAGE_CHARS]
    return Diagnostic(each.level, message, each.code, each.file[:MAX_MESSAGE_CHARS], each.line, each.column)


def _shortened(case: Case) -> Case:
    return msgspec.structs.replace(case, output=last_of(case.output, MAX_CASE_OUTPUT_BYTES))


def size_of(value: object) -> int:
    """Bytes of JSON."""
    return len(_encode(value))
