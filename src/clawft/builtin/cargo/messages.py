"""Parses cargo's JSON messages: one object per line, as `--message-format=json` writes them. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from clawft.builtin.build.report import Diagnostic, Level, Span, SuggestedEdit, Suggestion

MACHINE_APPLICABLE = "MachineApplicable"

_LEVELS: dict[str, Level] = {
    "error": "error",
    "error: internal compiler error": "error",
    "warning": "warning",
    "note": "note",
    "help": "note",
}
_SUMMARIES = ("aborting due to ", "For more information about ", "Some errors have detailed explanations")


class _Span(Struct):
    file_name: str
    line_start: int
    column_start: int
    line_end: int
    column_end: int
    is_primary: bool = False
    label: str | None = None
    suggested_replacement: str | None = None
    suggestion_applicability: str | None = None
    expansion: _Expansion | None = None


class _Expansion(Struct):
    span: _Span


class _Code(Struct):
    code: str


class _Message(Struct):
    message: str
    level: str
    code: _Code | None = None
    spans: list[_Span] = []
    children: list[_Message] = []


class _Line(Struct):
    reason: str = ""
    message: _Message | None = None


_lines = msgspec.json.Decoder(_Line)
_objects = msgspec.json.Decoder(dict[str, Any])


def read_object(line: str) -> dict[str, Any] | None:
    """The message on this line; None if it is not a JSON object."""
    if not line.startswith("{"):
        return None
    try:
        return _objects.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def read_diagnostic(line: str) -> Diagnostic | None:
    """The compiler's finding on this line; None for other messages, and for summaries."""
    try:
        read = _lines.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if read.reason != "compiler-message" or read.message is None or _counts_others(read.message):
        return None
    return _diagnostic(read.message)


def _counts_others(message: _Message) -> bool:
    if message.spans or message.code is not None:
        return False
    return message.level == "failure-note" or message.message.startswith(_SUMMARIES) or " emitted" in message.message


def _diagnostic(message: _Message) -> Diagnostic:
    spans = tuple(_span(each) for each in sorted(message.spans, key=lambda each: not each.is_primary))
    first = spans[0] if spans else Span("", 0)
    return Diagnostic(
        level=_LEVELS.get(message.level, "note"),
        message=message.message,
        code=message.code.code if message.code else "",
        file=first.file,
        line=first.line,
        column=first.column,
        spans=spans,
        notes=tuple(child.message for child in message.children if not _edits(child)),
        suggestions=tuple(_suggestion(child) for child in message.children if _edits(child)),
    )


def _span(span: _Span) -> Span:
    seen = _where_written(span)
    return Span(
        seen.file_name,
        seen.line_start,
        seen.column_start,
        seen.line_end,
        seen.column_end,
        label=span.label or "",
        primary=span.is_primary,
    )


def _where_written(span: _Span) -> _Span:
    """The place in our own code, for a finding inside a macro of another crate."""
    while span.file_name.startswith(("/", "<")) and span.expansion is not None:
        span = span.expansion.span
    return span


def _edits(message: _Message) -> list[_Span]:
    return [span for span in message.spans if span.suggested_replacement is not None]


def _suggestion(message: _Message) -> Suggestion:
    spans = _edits(message)
    return Suggestion(
        message.message,
        tuple(_edit(span) for span in spans),
        machine_applicable=all(span.suggestion_applicability == MACHINE_APPLICABLE for span in spans),
    )


def _edit(span: _Span) -> SuggestedEdit:
    return SuggestedEdit(
        span.file_name,
        span.line_start,
        span.column_start,
        span.line_end,
        span.column_end,
        span.suggested_replacement or "",
    )
