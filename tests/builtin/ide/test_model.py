"""The words editors and agents share, on the wire and back."""

from typing import Any, cast

import msgspec
import pytest

from clawft.builtin.ide.model import (
    Diagnostic,
    DiagnosticSeverity,
    HoverInfo,
    Position,
    Range,
    SymbolInfo,
    TextEdit,
    symbol_kind,
)
from tests.requirements import requirement

HERE = Range(Position(1, 2), Position(3, 4))


@requirement("F8-T15", "IDE-01")
@pytest.mark.parametrize(
    "value",
    [
        Position(0, 7),
        HERE,
        TextEdit(HERE, "ü😀"),
        TextEdit(Range(Position(0, 0), Position(0, 0)), "inserted"),
        Diagnostic(HERE, DiagnosticSeverity.WARNING, "odd"),
        Diagnostic(HERE, DiagnosticSeverity.ERROR, "wrong", "pyright", "reportX", "a.py"),
        SymbolInfo("greet", "function", "a.py", HERE),
        HoverInfo("a `str`"),
        HoverInfo("a `str`", HERE),
    ],
)
def test_a_value_survives_the_way_out_and_back(value: Any) -> None:
    kind = cast("type[Any]", type(value))
    assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


@requirement("F8-T16", "IDE-02")
def test_severities_are_the_numbers_of_the_protocol() -> None:
    assert [int(each) for each in DiagnosticSeverity] == [1, 2, 3, 4]
    assert [each.name for each in DiagnosticSeverity] == ["ERROR", "WARNING", "INFORMATION", "HINT"]
    written = msgspec.json.encode(Diagnostic(HERE, DiagnosticSeverity.HINT, "m"))
    assert msgspec.json.decode(written)["severity"] == 4


@requirement("IDE-01")
def test_what_is_optional_is_left_out() -> None:
    written = msgspec.json.decode(msgspec.json.encode(Diagnostic(HERE, DiagnosticSeverity.ERROR, "m")))
    assert written.keys() == {"range", "severity", "message"}


@requirement("IDE-01")
def test_a_position_is_never_negative() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"line":-1,"character":0}', type=Position)


@requirement("IDE-01")
def test_kinds_of_symbols_have_words() -> None:
    assert symbol_kind(5) == "class"
    assert symbol_kind(12) == "function"
    assert symbol_kind(26) == "type_parameter"
    assert symbol_kind(99) == "unknown"
