"""Diagnostics of language servers have a bound: a server may tell of files without end."""

import pytest

from clawft.builtin.ide.lsp import file_diagnostics
from clawft.builtin.ide.lsp.file_diagnostics import FileDiagnostics, KnownDiagnostics
from clawft.builtin.ide.model import Diagnostic, DiagnosticSeverity, Position, Range
from tests.requirements import requirement

PLACE = Range(Position(0, 0), Position(0, 1))


def judged(text: str, count: int = 1) -> FileDiagnostics:
    return FileDiagnostics([Diagnostic(PLACE, DiagnosticSeverity.ERROR, text)] * count, 1, 0.0)


@requirement("IDE-09", "QUAL-12")
def test_what_came_first_gives_way() -> None:
    files = KnownDiagnostics()
    for number in range(200):
        files.keep(f"/{number}", judged("x" * 1024 * 1024))
    kept = [path for path, _ in files.items()]
    assert 20 < len(kept) < 32
    assert kept[-1] == "/199"


@requirement("IDE-09", "QUAL-12")
def test_files_without_diagnostics_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_diagnostics, "MAX_FILES", 3)
    files = KnownDiagnostics()
    for path in "abcab":
        files.keep(path, judged("", 0))
    assert [path for path, _ in files.items()] == ["c", "a", "b"]


def test_what_is_said_anew_takes_no_more_room() -> None:
    files = KnownDiagnostics()
    for _ in range(200):
        files.keep("/same", judged("x" * 1024 * 1024))
        files.keep("/other", judged("y"))
    assert {path for path, _ in files.items()} == {"/same", "/other"}
    files.drop("/same")
    files.drop("/none")
    assert [each.items[0].message for each in files.values()] == ["y"]
