"""Which files an agent may speak about: F8-T09 to T11, and every way around them we know."""

from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.ide.mock import MockIde
from clawft.builtin.ide.model import Diagnostic, DiagnosticSeverity, Position, Range, Selection, SymbolInfo
from clawft.builtin.ide.paths import find_new
from clawft.builtin.ide.provider import IdeProvider
from clawft.errors import PermissionDenied
from tests.builtin.ide.conftest import Ask, text_of
from tests.requirements import requirement

HERE = Range(Position(0, 0), Position(0, 1))
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("open_file", {}),
    ("edit", {"start_line": 0, "start_character": 0, "end_line": 0, "end_character": 0, "new_text": ""}),
    ("diagnostics", {}),
    ("hover", {"line": 0, "character": 0}),
    ("definition", {"line": 0, "character": 0}),
    ("references", {"line": 0, "character": 0}),
    ("document_symbols", {}),
    ("rename", {"line": 0, "character": 0, "new_name": "x"}),
    ("code_actions", {"line": 0, "character": 0}),
    ("format", {}),
    ("save", {}),
    ("show_diff", {"new_text": ""}),
]


@requirement("F8-T09", "F8-T10", "F8-T11", "IDE-12", "F8-A04", "SEC-A05")
@pytest.mark.parametrize(("tool", "arguments"), TOOLS)
@pytest.mark.parametrize("path", ["../../../etc/passwd", "main.py\0.txt", "/etc/passwd", "file:///etc/passwd"])
async def test_no_tool_reaches_outside(
    ask: Ask, editor: MockIde, tool: str, arguments: dict[str, Any], path: str
) -> None:
    result = await ask(tool, path=path, **arguments)
    assert result.is_error
    assert "ide: permission denied" in text_of(result)
    assert editor.calls == []


@requirement("IDE-12")
@pytest.mark.parametrize(
    "path", ["vscode-remote://ssh/etc/passwd", "http://x/y", "file:main.py", "a\nb.py", "\x7f", "", "a" * 5000]
)
async def test_only_plain_paths_are_understood(ask: Ask, editor: MockIde, path: str) -> None:
    result = await ask("open_file", path=path)
    assert result.is_error
    assert "permission denied" in text_of(result)
    assert editor.calls == []


@requirement("IDE-12")
async def test_a_folder_with_a_longer_name_is_another_folder(ask: Ask, editor: MockIde, workspace: Path) -> None:
    evil = workspace.parent / f"{workspace.name}-evil"
    evil.mkdir()
    (evil / "main.py").write_text("")
    for path in (str(evil / "main.py"), f"../{evil.name}/main.py"):
        result = await ask("open_file", path=path)
        assert result.is_error
        assert "outside the workspace" in text_of(result)


@requirement("IDE-12")
async def test_what_an_editor_found_behind_a_symlink_is_not_told(
    ask: Ask, editor: MockIde, provider: IdeProvider, workspace: Path, main: Path
) -> None:
    """A language server that looks at all files follows links out of the workspace."""
    (workspace / "out.py").symlink_to("/etc/passwd")
    for path in (main, workspace / "out.py"):
        editor.diagnostics.append(
            Diagnostic(HERE, DiagnosticSeverity.ERROR, f"{path.name} is told", file_path=str(path))
        )
        editor.symbols.append(SymbolInfo(path.name, "variable", str(path), HERE))
    editor.selected = Selection(str(workspace / "out.py"), HERE, "out.py")
    resource = await provider.read_resource("ide://diagnostics")
    for said in (await ask("diagnostics"), await ask("symbols", query="p"), resource):
        assert "main.py" in str(said)
        assert "out.py" not in str(said)
    assert "out.py" not in str(await ask("selection"))


@requirement("IDE-12")
async def test_a_symlink_leads_where_it_leads(ask: Ask, editor: MockIde, workspace: Path, main: Path) -> None:
    (workspace / "out.py").symlink_to("/etc/passwd")
    (workspace / "folder").symlink_to("/etc")
    (workspace / "inside.py").symlink_to(main)
    for path in ("out.py", "folder/passwd"):
        assert "outside the workspace" in text_of(await ask("open_file", path=path))
    assert not (await ask("open_file", path="inside.py")).is_error
    assert editor.calls[-1][:2] == ("open_file", str(main))


@requirement("IDE-12")
@pytest.mark.parametrize("tool", ["edit", "format", "save", "show_diff"])
async def test_what_decides_which_programs_run_is_not_changed(
    ask: Ask, editor: MockIde, workspace: Path, tool: str
) -> None:
    for path in (".git/hook.py", ".clawft/hook.py", ".husky/hook.py", ".vscode/tasks.json", ".mcp.json"):
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text("")
        result = await ask(tool, path=path, **dict(TOOLS)[tool])
        assert result.is_error
        assert "decides what programs run" in text_of(result)
    assert editor.calls == []


@requirement("IDE-12", "IDE-05")
async def test_a_file_that_is_not_there_is_said_so(ask: Ask, editor: MockIde, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    for path in ("missing.py", "no/such/folder/x.py", "folder"):
        result = await ask("open_file", path=path)
        assert result.is_error
        assert f"no such file: '{path}'" in text_of(result)


@requirement("IDE-12")
async def test_the_file_spelling_and_the_whole_path_are_understood(ask: Ask, editor: MockIde, main: Path) -> None:
    for path in ("main.py", "./main.py", str(main), main.as_uri()):
        assert not (await ask("open_file", path=path)).is_error
    assert {call[1] for call in editor.calls} == {str(main)}


@requirement("IDE-12")
def test_a_new_file_lies_in_a_folder_that_exists_and_is_ours(workspace: Path) -> None:
    (workspace / "away").symlink_to("/tmp")
    assert find_new([workspace], "new.py") == str(workspace / "new.py")
    for path in ("away/new.py", "../new.py", "/tmp/new.py"):
        with pytest.raises(PermissionDenied):
            find_new([workspace], path)


@requirement("IDE-12")
async def test_a_window_brings_its_second_folder_along_only_with_the_workspace(
    ask: Ask, provider: IdeProvider, main: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "b.py").write_text("")
    stranger = MockIde(second, id="stranger")
    provider.hub.connect(stranger)
    assert "outside the workspace" in text_of(await ask("open_file", path=str(second / "b.py")))

    both = MockIde(main.parent, id="both")
    both.window.folders.append(str(second))
    provider.hub.connect(both)
    provider.hub.disconnect(stranger)
    assert not (await ask("open_file", path=str(second / "b.py"))).is_error
    assert "outside the workspace" in text_of(await ask("open_file", path=f"{second}/../x.py"))
    assert both.calls == [("open_file", str(second / "b.py"), None)]
