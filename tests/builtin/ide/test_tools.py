"""The tools with an editor that is not there: F8-T01 to T08 and T12 to T14, and what was added to them."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.builtin.ide.family import Ide
from clawft.builtin.ide.mock import MockIde
from clawft.builtin.ide.model import (
    Action,
    Diagnostic,
    DiagnosticSeverity,
    FileEdit,
    HoverInfo,
    Location,
    Position,
    Range,
    Review,
    Selection,
    SymbolInfo,
    TextEdit,
)
from clawft.builtin.ide.provider import IdeProvider
from clawft.errors import IdeFailed, IdeFileNotFound, IdeNotConnected, IdeTimeout, ToolNotFound
from clawft.gateway.core import Gateway
from clawft.gateway.events import GatewayEvent, ListChanged
from clawft.model import Caller
from tests.builtin.ide.conftest import MAIN, Ask, text_of
from tests.requirements import requirement

FIVE = ["open_file", "edit", "diagnostics", "symbols", "hover"]
HERE = Range(Position(0, 4), Position(0, 9))
EDIT = {"start_line": 0, "start_character": 4, "end_line": 0, "end_character": 9, "new_text": "hail"}


def error(message: str, path: str) -> Diagnostic:
    return Diagnostic(HERE, DiagnosticSeverity.ERROR, message, "mock", None, path)


@requirement("F8-T01", "F8-A01", "IDE-06")
def test_the_namespace_is_ide(provider: IdeProvider) -> None:
    assert provider.namespace == "ide"


@requirement("F8-T02", "F8-A02", "IDE-06")
def test_the_five_tools_of_every_editor_come_first(provider: IdeProvider) -> None:
    names = [tool.name for tool in provider.list_tools()]
    assert names[:5] == FIVE
    assert len(names) == len(set(names)) == 16


@requirement("F8-T03", "IDE-07")
@pytest.mark.parametrize(
    ("where", "position"),
    [
        ({}, None),
        ({"line": 3}, Position(3, 0)),
        ({"line": 3, "character": 2}, Position(3, 2)),
        ({"character": 2}, None),
        ({"anchor": "greet(name"}, Position(0, 4)),
    ],
)
async def test_open_file(ask: Ask, editor: MockIde, main: Path, where: dict[str, Any], position: Any) -> None:
    result = await ask("open_file", path="main.py", **where)
    assert text_of(result) == "Opened main.py"
    assert editor.calls[-1] == ("open_file", str(main), position)


@requirement("F8-T04", "IDE-08")
async def test_edit(ask: Ask, editor: MockIde, main: Path) -> None:
    result = await ask("edit", path="main.py", **EDIT)
    assert not result.is_error
    assert editor.texts[str(main)].text == MAIN.replace("def greet", "def hail")
    assert editor.calls == [("apply_edit", [FileEdit(str(main), [TextEdit(HERE, "hail")])], False)]
    told = result.structured_content
    assert (told["backend"], told["window"], told["version"], told["dirty"]) == ("mock", "mock", 2, True)
    assert "not saved" in text_of(result)


@requirement("IDE-08")
async def test_edit_saves_when_asked(ask: Ask, editor: MockIde) -> None:
    result = await ask("edit", path="main.py", save=True, **EDIT)
    assert result.structured_content["dirty"] is False
    assert "not saved" not in text_of(result)


@requirement("IDE-08")
async def test_several_edits_at_once_and_by_anchor(ask: Ask, editor: MockIde, main: Path) -> None:
    first = {**EDIT, "expected_text": "greet"}
    second = {"start_line": 3, "start_character": 0, "end_line": 3, "end_character": 1, "new_text": "m"}
    assert not (await ask("edit", path="main.py", edits=[first, second], expected_version=1)).is_error
    (change,) = editor.calls[-1][1]
    assert (len(change.edits), change.version, change.expected) == (2, 1, ["greet", None])
    assert not (await ask("edit", path="main.py", anchor=" + nam\n", new_text=" + name\n")).is_error
    assert editor.texts[str(main)].text == MAIN.replace("greet(name", "hail(name").replace("\nn:", "\nm:").replace(
        "+ nam\n", "+ name\n"
    )


@requirement("IDE-08", "IDE-13")
@pytest.mark.parametrize(
    "beside",
    [
        {"anchor": "greet(name", "new_text": "x", "expected_text": "hail"},
        {"edits": [EDIT], "expected_text": "hail"},
        {"edits": [EDIT], "anchor": "nam\n"},
        {"edits": [EDIT], "new_text": "x"},
        {**EDIT, "anchor": "nam\n"},
    ],
)
async def test_what_guards_an_edit_is_heeded_or_refused(ask: Ask, editor: MockIde, beside: dict[str, Any]) -> None:
    result = await ask("edit", path="main.py", **beside)
    expected = [change.expected for call in editor.calls if call[0] == "apply_edit" for change in call[1]]
    assert expected == [["hail"]] or result.is_error
    assert not result.is_error or text_of(result).startswith("edit: ")


@requirement("IDE-09")
async def test_diagnostics_after_an_edit_are_told_as_elsewhere(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.diagnostics = [error("wrong", str(main))]
    (told,) = (await ask("edit", path="main.py", wait_ms=1, **EDIT)).structured_content["diagnostics"]
    assert told["file_path"] == "main.py"


async def test_of_many_places_only_those_that_are_shown_are_spelled(
    ask: Ask, editor: MockIde, main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a look at the disk, and a language server may find tens of thousands at once."""
    spelled: list[str] = []
    spell = Ide.shown

    def shown(ide: Ide, path: str) -> str:
        spelled.append(path)
        return spell(ide, path)

    monkeypatch.setattr(Ide, "shown", shown)
    editor.diagnostics = [error(str(number), str(main)) for number in range(1_000)]
    editor.locations = [Location(str(main), HERE)] * 1_000
    for tool, place in (("diagnostics", {}), ("references", {"anchor": "greet(name"})):
        answer = (await ask(tool, path="main.py", limit=3, **place)).structured_content
        assert answer is not None
        assert (len(answer["result"]), answer["total"]) == (3, 1_000)
        assert len(spelled) < 20


@requirement("F8-T05", "IDE-09", "IDE-03")
async def test_diagnostics(ask: Ask, editor: MockIde, main: Path, workspace: Path) -> None:
    (workspace / "b.py").write_text("")
    editor.diagnostics = [error("here", str(main)), error("there", str(workspace / "b.py"))]
    of_one = msgspec.json.decode(text_of(await ask("diagnostics", path="main.py")))
    assert [(each["message"], each["file_path"], each["severity"]) for each in of_one] == [("here", "main.py", 1)]
    of_all = msgspec.json.decode(text_of(await ask("diagnostics")))
    assert [each["file_path"] for each in of_all] == ["b.py", "main.py"]
    result = await ask("diagnostics", limit=1)
    assert (len(result.structured_content["result"]), result.structured_content["total"]) == (1, 2)


@requirement("F8-T06", "IDE-10")
async def test_symbols(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.symbols = [SymbolInfo(f"greet{at}", "function", str(main), HERE) for at in range(30)]
    found = msgspec.json.decode(text_of(await ask("symbols", query="greet")))
    assert len(found) == 20
    assert found[0] == {
        "name": "greet0",
        "kind": "function",
        "file_path": "main.py",
        "range": msgspec.to_builtins(HERE),
    }
    assert len(msgspec.json.decode(text_of(await ask("symbols", query="greet", limit=3)))) == 3


@requirement("F8-T07", "IDE-11")
async def test_hover(ask: Ask, editor: MockIde, main: Path) -> None:
    assert text_of(await ask("hover", path="main.py", line=0, character=5)) == "null"
    editor.info = HoverInfo("a function", HERE)
    said = await ask("hover", path="main.py", line=0, character=5)
    assert msgspec.json.decode(text_of(said)) == msgspec.to_builtins(editor.info)
    assert editor.calls[-1] == ("hover", str(main), Position(0, 5))


@requirement("IDE-11")
async def test_a_place_is_named_by_symbol_or_by_text(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.symbols = [
        SymbolInfo("greet", "function", str(main), HERE),
        SymbolInfo("run", "method", str(main), HERE, "A"),
        SymbolInfo("run", "method", str(main), Range(Position(3, 0), Position(3, 1)), "B"),
    ]
    await ask("hover", path="main.py", symbol="greet")
    assert editor.calls[-1] == ("hover", str(main), Position(0, 4))
    await ask("hover", path="main.py", symbol="B.run")
    assert editor.calls[-1] == ("hover", str(main), Position(3, 0))
    await ask("hover", path="main.py", anchor="nam\n\nn: int")
    assert editor.calls[-1] == ("hover", str(main), Position(1, 22))
    assert "2 symbols" in text_of(await ask("hover", path="main.py", symbol="run"))
    assert "greet, run" in text_of(await ask("hover", path="main.py", symbol="nothing"))


@requirement("F8-T08", "IDE-06", "PROV-02")
async def test_an_unknown_tool_is_unknown(provider: IdeProvider) -> None:
    with pytest.raises(ToolNotFound):
        await provider.call_tool("explode", {})
    gateway = Gateway()
    gateway.register(provider)
    with pytest.raises(ToolNotFound):
        await gateway.call(Caller(), "ide__explode")


@requirement("F8-T12", "F8-A05", "IDE-15", "PROV-04", "PROV-05")
async def test_an_editor_that_comes_and_goes_changes_no_list(provider: IdeProvider, workspace: Path) -> None:
    gateway, heard = Gateway(), list[GatewayEvent]()
    gateway.register(provider)
    before = [entry.canonical for entry in gateway.tools.entries]
    assert before[:5] == [f"ide__{name}" for name in FIVE]
    gateway.events.subscribe(heard.append)
    editor = MockIde(workspace)
    provider.hub.connect(editor)
    provider.hub.disconnect(editor)
    assert [entry.canonical for entry in gateway.tools.entries] == before
    assert not [event for event in heard if isinstance(event, ListChanged)]
    gateway.unregister("ide")
    assert [event for event in heard if isinstance(event, ListChanged)]


@requirement("F8-T14", "IDE-05", "IDE-13")
@pytest.mark.parametrize(
    "failure",
    [IdeNotConnected("no editor"), IdeFileNotFound("x"), IdeFailed("odd", kind="busy"), IdeTimeout("hover", 5000)],
)
async def test_what_an_editor_cannot_do_is_a_result(ask: Ask, editor: MockIde, failure: Any) -> None:
    editor.fails = failure
    result = await ask("hover", path="main.py", line=0, character=0)
    assert result.is_error
    assert str(failure) in text_of(result)


@requirement("F8-T14", "IDE-13")
async def test_without_an_editor_there_is_no_screen(ask: Ask, main: Path) -> None:
    result = await ask("open_file", path="main.py")
    assert result.is_error
    assert "no editor is connected" in text_of(result)


@requirement("IDE-05")
def test_every_kind_of_failure_has_its_own_words() -> None:
    failures = [IdeFileNotFound("a"), IdeNotConnected("b"), IdeFailed("c"), IdeTimeout("d", 5)]
    assert len({str(each) for each in failures}) == 4


@requirement("IDE-13")
@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("open_file", {}, "missing 'path'"),
        ("open_file", {"path": 7}, "'path' must be"),
        ("open_file", {"path": "main.py", "line": -1}, "'line'"),
        ("edit", {"path": "main.py"}, "missing 'start_line'"),
        ("edit", {"path": "main.py", "start_line": 0, "new_text": ""}, "missing 'start_character'; missing 'end_line'"),
        ("edit", {**EDIT, "path": "main.py", "end_line": -3}, "'end_line'"),
        ("symbols", {}, "missing 'query'"),
        ("hover", {"path": "main.py"}, "missing 'line'; missing 'character'"),
        ("hover", {"path": "main.py", "line": 0, "character": "a"}, "'character'"),
    ],
)
async def test_wrong_arguments_are_named(
    ask: Ask, editor: MockIde, tool: str, arguments: dict[str, Any], complaint: str
) -> None:
    result = await ask(tool, **arguments)
    assert result.is_error
    assert complaint in text_of(result)
    assert editor.calls == []


@requirement("IDE-14")
async def test_an_operation_has_a_limit(ask: Ask, editor: MockIde) -> None:
    editor.hangs = True
    result = await ask("hover", path="main.py", line=0, character=0)
    assert result.is_error
    assert "no answer within 50 ms" in text_of(result)


@requirement("IDE-14")
@pytest.mark.parametrize(("tool", "more"), [("edit", EDIT), ("save", {})])
async def test_a_change_without_an_answer_may_have_been_made(
    ask: Ask, editor: MockIde, tool: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes it once more without a look may make it twice."""

    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.get_running_loop().create_future()

    for changing in ("apply_edit", "save"):
        monkeypatch.setattr(editor, changing, hang)
    monkeypatch.setattr(editor, "seconds", lambda: 0.05)
    result = await ask(tool, path="main.py", **more)
    assert result.is_error
    assert "no answer within 50 ms (the change may have been made all the same" in text_of(result)
    assert "read the file before you make it again" in text_of(result)


@requirement("F8-A06", "IDE-04")
async def test_several_agents_may_ask_at_once(ask: Ask, editor: MockIde) -> None:
    results = await asyncio.gather(*(ask("hover", path="main.py", line=0, character=at) for at in range(10)))
    assert not any(result.is_error for result in results)
    assert len(editor.calls) == 10


# ── beyond the five ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("IDE-04")
async def test_rename_says_what_it_changes(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.changes = [FileEdit(str(main), [TextEdit(HERE, "hail")])]
    dry = await ask("rename", path="main.py", line=0, character=5, new_name="hail", dry_run=True)
    assert dry.structured_content["files"] == [{"path": "main.py", "edits": 1, "dirty": False}]
    assert not [call for call in editor.calls if call[0] == "apply_edit"]
    assert not (await ask("rename", path="main.py", line=0, character=5, new_name="hail")).is_error
    assert "def hail" in (editor.texts[str(main)].text or "")


@requirement("IDE-04")
async def test_a_rename_of_nothing_is_an_error(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.changes = [FileEdit(str(main), [])]
    result = await ask("rename", path="main.py", line=0, character=5, new_name="hail")
    assert result.is_error
    assert "nothing would be renamed" in text_of(result)


@requirement("IDE-04")
async def test_a_rename_to_the_same_name_is_an_error(ask: Ask, editor: MockIde, main: Path) -> None:
    """Language servers answer it with changes that change nothing."""
    editor.changes = [FileEdit(str(main), [TextEdit(HERE, "greet")])]
    result = await ask("rename", path="main.py", line=0, character=5, new_name="greet")
    assert result.is_error
    assert "called that already" in text_of(result)
    assert not [call for call in editor.calls if call[0] == "apply_edit"]


@requirement("IDE-04", "IDE-12")
async def test_a_rename_that_reaches_outside_changes_nothing(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.changes = [FileEdit(str(main), [TextEdit(HERE, "x")]), FileEdit("/etc/passwd", [TextEdit(HERE, "x")])]
    result = await ask("rename", path="main.py", line=0, character=5, new_name="x")
    assert result.is_error
    assert "outside the workspace" in text_of(result)
    assert not [call for call in editor.calls if call[0] == "apply_edit"]


@requirement("IDE-04")
async def test_places_are_relative_to_the_workspace(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.locations = [Location(str(main), HERE), Location("/usr/lib/x.py", HERE)]
    for tool in ("definition", "references"):
        said = await ask(tool, path="main.py", line=0, character=5)
        assert [each["file_path"] for each in said.structured_content["result"]] == ["main.py", "/usr/lib/x.py"]


@requirement("IDE-04")
async def test_actions_are_listed_and_carried_out_by_id(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.actions = [Action("a1", "Fix it", "quickfix", [FileEdit(str(main), [TextEdit(HERE, "fixed")])])]
    listed = await ask("code_actions", path="main.py", line=0, character=5)
    assert text_of(listed) == "a1  Fix it"
    done = await ask("code_actions", path="main.py", line=0, character=5, apply="a1")
    assert done.structured_content["applied"] == "Fix it"
    assert "def fixed" in (editor.texts[str(main)].text or "")
    assert (await ask("code_actions", path="main.py", line=0, character=5, apply="a2")).is_error


@requirement("IDE-04")
async def test_a_diff_is_accepted_in_part_or_rejected(ask: Ask, editor: MockIde, main: Path) -> None:
    accepted = await ask("show_diff", path="main.py", new_text="all\n")
    assert (accepted.structured_content["outcome"], editor.texts[str(main)].text) == ("accept", "all\n")
    editor.review = Review("part", "half\n")
    assert (await ask("show_diff", path="main.py", new_text="more\n")).structured_content["outcome"] == "part"
    assert editor.texts[str(main)].text == "half\n"
    editor.review = Review("reject")
    rejected = await ask("show_diff", path="main.py", new_text="none\n")
    assert (rejected.is_error, rejected.structured_content["applied"]) == (False, False)
    assert editor.texts[str(main)].text == "half\n"
    assert (await ask("edit", path="main.py", anchor="half", new_text="x", review=True)).is_error
    assert editor.texts[str(main)].text == "half\n"


@requirement("IDE-04")
async def test_what_is_selected_outside_is_not_told(ask: Ask, editor: MockIde, main: Path) -> None:
    editor.selected = Selection(str(main), HERE, "greet")
    assert (await ask("selection")).structured_content["selected"] == "greet"
    editor.selected = Selection("/etc/shadow", HERE, "root:secret")
    said = await ask("selection")
    assert text_of(said) == "nothing is open"
    assert "secret" not in str(said)


@requirement("IDE-04")
async def test_save_windows_and_open_editors(ask: Ask, editor: MockIde, main: Path) -> None:
    await ask("edit", path="main.py", **EDIT)
    assert (await ask("open_editors")).structured_content["result"] == [{"path": "main.py", "dirty": True}]
    assert (await ask("save", path="main.py")).structured_content["dirty"] is False
    assert [each["id"] for each in (await ask("windows")).structured_content["result"]] == ["mock", "headless"]


@requirement("IDE-08")
async def test_a_text_is_formatted_as_it_was_when_that_was_asked(
    ask: Ask, editor: MockIde, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def formatted(path: str) -> list[TextEdit]:
        await editor.apply_edit([FileEdit(path, [TextEdit(HERE, "meanwhile")])])
        return [TextEdit(HERE, "formatted")]

    monkeypatch.setattr(editor, "format", formatted)
    await ask("format", path="main.py")
    [change] = next(call[1] for call in reversed(editor.calls) if call[0] == "apply_edit")
    assert (change.edits[0].new_text, change.version) == ("formatted", editor.texts[change.path].version - 2)
