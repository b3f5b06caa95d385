"""No editor: a real language server answers, through the whole of `weft mcp-server` and the official client."""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import mcp_types as types
import psutil
import pytest
from mcp.client.session import ClientRequestContext

from tests.builtin.ide.agent import COLUMN, HELPER, MAIN, REPAIR, WAIT_MS, agent, texts_of, write_project
from tests.requirements import requirement
from tests.servers.weft import WEFT, environment, outliving

pytestmark = pytest.mark.slow


@pytest.fixture
def project(workspace: Path) -> Path:
    return write_project(workspace)


@requirement("IDE-09", "IDE-11", "IDE-10", "IDE-08", "IDE-01", "IDE-04")
async def test_the_tools_answer_without_an_editor(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        names = [tool.name for tool in (await ours.client.list_tools()).tools]
        assert {"ide__open_file", "ide__edit", "ide__diagnostics", "ide__symbols", "ide__hover"} <= set(names)

        found = await ours.ide("diagnostics", path="main.py", wait_ms=WAIT_MS, severity=1)
        assert (found["backend"], found["fresh"], found["version"]) == ("headless", True, 1)
        undefined = next(each for each in found["result"] if "nam" in each["message"])
        assert undefined["range"]["start"] == {"line": 3, "character": COLUMN}

        info = await ours.ide("hover", path="main.py", line=2, character=5)
        assert "def greet(name: str) -> str" in info["result"]["contents"]
        behind = await ours.ide("hover", path="main.py", anchor='hail("ü😀")')
        assert "hail" in behind["result"]["contents"]

        symbols = await ours.ide("symbols", query="hail")
        assert [(each["name"], each["file_path"]) for each in symbols["result"]] == [("hail", "helper.py")]
        outline = await ours.ide("document_symbols", path="helper.py")
        assert [each["name"] for each in outline["result"]][:2] == ["Greeter", "hail"]

        place = await ours.ide("definition", path="main.py", line=6, character=11)
        assert place["result"][0]["file_path"] == "helper.py"
        uses = await ours.ide("references", path="helper.py", symbol="hail")
        assert [each["file_path"] for each in uses["result"]] == ["helper.py", "main.py"]

        edited = await ours.ide("edit", path="main.py", **REPAIR)
        assert (edited["version"], edited["dirty"]) == (2, True)
        assert (project / "main.py").read_text() == MAIN
        assert await ours.problems("main.py") == ['Type "str" is not assignable to declared type "int"']


@requirement("IDE-08", "IDE-04")
async def test_edits_are_exact_or_refused_and_saved_when_asked(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        renamed = await ours.ide("rename", path="helper.py", symbol="hail", new_name="salute", save=True)
        assert {each["path"]: each["edits"] for each in renamed["files"]} == {"helper.py": 1, "main.py": 1}
        assert "def salute" in (project / "helper.py").read_text()
        assert 'Greeter().salute("ü😀")' in (project / "main.py").read_text()

        before = (project / "main.py").read_text()
        bad = [
            {"start_line": 99, "start_character": 0, "end_line": 99, "end_character": 0, "new_text": "x"},
            {"start_line": 3, "start_character": 13, "end_line": 3, "end_character": 14, "new_text": "x"},  # in a pair
            {"anchor": "nowhere", "new_text": "x"},
            {"anchor": "greet", "new_text": "x"},
            {"anchor": "nam\n", "new_text": "name\n", "expected_version": 77},
        ]
        for arguments in bad:
            result = await ours.client.call_tool("ide__edit", {"path": "main.py", "save": True, **arguments})
            assert result.is_error, arguments
        edits = [
            {"start_line": 0, "start_character": 0, "end_line": 0, "end_character": 0, "new_text": "# new\n"},
            {"start_line": 50, "start_character": 0, "end_line": 50, "end_character": 0, "new_text": "x"},
        ]
        assert (await ours.client.call_tool("ide__edit", {"path": "main.py", "edits": edits, "save": True})).is_error
        assert (project / "main.py").read_text() == before

        nothing = await ours.client.call_tool(
            "ide__rename", {"path": "main.py", "line": 1, "character": 0, "new_name": "x"}
        )
        assert nothing.is_error


@requirement("IDE-08", "IDE-01")
async def test_marks_and_line_ends_are_kept_as_editors_keep_them(project: Path, home: Path) -> None:
    """A byte order mark is no letter that positions count, and new lines end as those around them do."""
    (project / "main.py").write_bytes(b"\xef\xbb\xbfone: int = 'x'\r\ntwo = 2\r\n")
    first = {"start_line": 0, "start_character": 0, "end_line": 0, "end_character": 3}
    async with agent(project, home) as ours:
        found = await ours.ide("diagnostics", path="main.py", wait_ms=WAIT_MS, severity=1)
        assert [each["range"]["start"] for each in found["result"]] == [{"line": 0, "character": 11}]
        await ours.ide("edit", path="main.py", **first, new_text="zero = 0\none", save=True)
    assert (project / "main.py").read_bytes() == b"\xef\xbb\xbfzero = 0\r\none: int = 'x'\r\ntwo = 2\r\n"


@requirement("IDE-09")
async def test_diagnostics_follow_what_other_tools_do_to_the_disk(project: Path, home: Path) -> None:
    """The complaint users make most about such bridges."""
    async with agent(project, home) as ours:
        assert len(await ours.problems("main.py")) == 2
        await ours.call("file__write", path="main.py", content=MAIN.replace("nam\n", "name\n"))
        assert len(await ours.problems("main.py")) == 1
        await ours.call("file__write", path="helper.py", content=HELPER.replace("Greeter", "Gruesser"))
        assert any("Greeter" in message for message in await ours.problems("main.py"))
        await ours.call("file__write", path="extra.py", content="def brand_new() -> int:\n    return 1\n")
        await ours.call("file__write", path="main.py", content="from extra import brand_new\nbrand_new()\n")
        assert await ours.problems("main.py") == []
        assert (await ours.ide("symbols", query="brand_new"))["result"][0]["file_path"] == "extra.py"


@requirement("IDE-09")
async def test_a_checkout_is_noticed(project: Path, home: Path) -> None:
    def git(*words: str) -> None:
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *named, *words], cwd=project, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "fixed")
    (project / "main.py").write_text("fine = 1\n")
    git("commit", "-am", "two")
    git("checkout", "main")
    async with agent(project, home) as ours:
        assert len(await ours.problems("main.py")) == 2
        await ours.call("git__switch", repo_path=".", branch="fixed")
        assert await ours.problems("main.py") == []


@requirement("IDE-09")
async def test_what_was_true_of_the_text_before_is_not_fresh(project: Path, home: Path) -> None:
    """Pyright checks a text that another one needs after that one, and speaks of it under its new number before."""
    needs = "def f{0}(x: int) -> list[str]:\n    return [small(y) for y in range(x) if y % 2 == {0}]\n"
    (project / "large.py").write_text("from small import small\n" + "".join(map(needs.format, range(300))))
    (project / "small.py").write_text("def small(x: int) -> str:\n    return nam\n")
    async with agent(project, home) as ours:
        assert await ours.problems("large.py") == []
        for wrong, right, problems in (("nam\n", "''\n", []), ("''\n", "nam\n", ['"nam" is not defined'])):
            await ours.ide("edit", path="small.py", anchor=wrong, new_text=right)
            assert await ours.problems("small.py") == problems


@requirement("IDE-09")
async def test_what_is_not_saved_is_a_warning_where_the_disk_is_read(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        await ours.ide("edit", path="main.py", anchor="nam\n", new_text="name\n")
        for tool, arguments in (("file__read", {"path": "main.py"}), ("file__search", {"pattern": "nam"})):
            said = await ours.call(tool, **arguments)
            assert "not saved" in said["texts"][-1], tool
            assert "main.py" in said["texts"][-1]
        await ours.ide("save", path="main.py")
        assert (await ours.call("file__read", path="main.py"))["texts"] == [MAIN.replace("nam\n", "name\n")]


@requirement("IDE-09", "IDE-13")
async def test_the_way_out_of_two_texts_that_went_apart_is_named_and_works(project: Path, home: Path) -> None:
    """A person, or git, writes the file of a text that is not saved: neither is lost without a word."""
    file = project / "main.py"
    async with agent(project, home) as ours:
        await ours.ide("edit", path="main.py", anchor="nam\n", new_text="name\n")
        file.write_text("other = 2\n")
        for tool, arguments in (
            ("save", {}),
            ("edit", {"anchor": "other", "new_text": "mine"}),
            ("edit", {"edits": [REPAIR], "save": True}),
        ):
            assert "ide__save with discard: true" in await ours.refused(tool, path="main.py", **arguments), tool
        warning = (await ours.call("file__read", path="main.py"))["texts"][-1]
        assert "newer text" in warning
        assert "discard: true" in warning
        assert file.read_text() == "other = 2\n"

        assert (await ours.ide("save", path="main.py", discard=True))["dirty"] is False
        await ours.ide("edit", path="main.py", anchor="other", new_text="mine", save=True)
        assert (await ours.call("file__read", path="main.py"))["texts"] == ["mine = 2\n"]


@requirement("IDE-09")
async def test_who_writes_a_file_as_a_whole_is_told_what_gave_way(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        await ours.ide("edit", path="main.py", anchor="nam\n", new_text="name\n")
        refused = await ours.client.call_tool("file__write", {"path": "main.py/x", "content": ""})
        assert refused.is_error
        assert (await ours.ide("open_editors"))["result"] == [{"path": "main.py", "dirty": True}]
        said = await ours.call("file__write", path="main.py", content="one: int = 'x'\n")
        assert "unsaved changes were lost" in said["texts"][-1]
        assert len(await ours.problems("main.py")) == 1
        assert (await ours.call("file__read", path="main.py"))["texts"] == ["one: int = 'x'\n"]


@requirement("IDE-09")
async def test_a_text_whose_file_is_gone_is_no_warning(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        await ours.ide("edit", path="main.py", anchor="nam\n", new_text="name\n")
        (project / "main.py").unlink()
        assert len((await ours.call("file__read", path="helper.py"))["texts"]) == 1
        assert "main.py" not in (await ours.call("file__search", pattern="hail"))["texts"][-1]


@requirement("IDE-09")
async def test_problems_of_files_that_nobody_opened(project: Path, home: Path) -> None:
    (project / "far.py").write_text("x: int = 'text'\n")
    async with agent(project, home) as ours:
        said = await ours.ide("diagnostics", wait_ms=WAIT_MS, severity=1)
        assert said["fresh"]
        assert {each["file_path"] for each in said["result"]} == {"main.py", "far.py"}


@requirement("IDE-04")
async def test_a_diff_without_a_screen_is_put_to_the_user(project: Path, home: Path) -> None:
    asked: list[str] = []

    async def say(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "part", "change_1": False, "change_2": True})

    new = MAIN.replace("from helper", "# a note\nfrom helper").replace("nam\n", "name\n")
    async with agent(project, home, say) as ours:
        said = await ours.ide("show_diff", path="main.py", new_text=new, save=True)
    assert (said["outcome"], said["applied"]) == ("part", True)
    assert "# a note" in asked[0]
    assert (project / "main.py").read_text() == MAIN.replace("nam\n", "name\n")


@requirement("IDE-09", "IDE-16")
async def test_live_state_can_be_read_as_resources(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        uris = {str(each.uri) for each in (await ours.client.list_resources()).resources}
        assert {"ide://selection", "ide://open-editors", "ide://diagnostics"} <= uris
        await ours.problems("main.py")
        said = await ours.client.read_resource("ide://open-editors")
        content = said.contents[0]
        assert isinstance(content, types.TextResourceContents)
        assert json.loads(content.text)["editors"][0]["path"] == "main.py"


@requirement("IDE-04")
async def test_a_language_server_that_dies_is_started_again_and_none_outlives_us(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        await ours.problems("main.py")
        (weft,) = (each for each in psutil.Process().children() if "mcp-server" in " ".join(each.cmdline()))
        servers = weft.children(recursive=True)
        assert servers
        for server in servers:
            with suppress(psutil.NoSuchProcess):  # the one before took it along: they share a sandbox
                server.kill()
        assert outliving(servers, 10) == []
        first = await ours.client.call_tool("ide__hover", {"path": "main.py", "symbol": "greet"})
        if first.is_error:  # it was told of the death by this call
            assert "started anew" in str(first.content) or "ended" in str(first.content)
        assert len(await ours.problems("main.py")) == 2
        left = weft.children(recursive=True)
    assert outliving(left, 10) == []


@requirement("IDE-13")
async def test_a_language_without_a_server_says_what_to_do(project: Path, home: Path) -> None:
    (project / "notes.xyz").write_text("x\n")
    async with agent(project, home) as ours:
        result = await ours.client.call_tool("ide__hover", {"path": "notes.xyz", "line": 0, "character": 0})
        assert result.is_error
        assert "no language server is known" in str(result.content)


@requirement("IDE-10")
async def test_the_first_search_for_a_symbol_waits_until_the_server_knows_the_files(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        for query in ("hail", "greet"):
            found = await ours.ide("symbols", query=query)
            assert found["gaps"] or found["result"][0]["name"] == query
        assert found["result"]  # the second question has no gap


@requirement("IDE-10", "IDE-09", "IDE-13")
async def test_what_an_answer_about_all_files_lacks_is_told(project: Path, home: Path) -> None:
    (project / "lib.rs").write_text("fn hail() {}\n")
    async with agent(project, home) as ours:
        for tool, query in (("symbols", {"query": "hail"}), ("diagnostics", {})):
            said = await ours.ide(tool, **query)
            assert any("rust-analyzer" in gap for gap in said["gaps"])
            assert "not everything: " in texts_of(await ours.client.call_tool(f"ide__{tool}", query))[0]
        assert (await ours.ide("diagnostics", path="main.py"))["gaps"] == []


@requirement("IDE-10", "IDE-09", "IDE-13")
@pytest.mark.parametrize("name", ["notes.xyz", "lib.rs"])
async def test_where_nobody_can_be_asked_an_empty_list_is_no_answer(workspace: Path, home: Path, name: str) -> None:
    (workspace / name).write_text("fn hail() {}\n")
    async with agent(workspace, home) as ours:
        for tool, query in (("symbols", {"query": "hail"}), ("diagnostics", {})):
            result = await ours.client.call_tool(f"ide__{tool}", query)
            assert result.is_error
            assert "rust-analyzer" in str(result.content) or "open the workspace in VS Code" in str(result.content)


@requirement("IDE-08", "AGENT-14")
@pytest.mark.parametrize(("save", "code"), [(False, 1), (True, 0)])
def test_an_edit_on_the_command_line_is_saved_or_said_to_be_lost(
    project: Path, home: Path, save: bool, code: int
) -> None:
    words = ["tools", "call", "ide__edit", "path=helper.py", "anchor=hail(", "new_text=salute(", f"save={save}".lower()]
    env = {**environment(home.parent), "CLAWFT_HOME": str(home)}
    done = subprocess.run(
        [*WEFT, *words], cwd=project, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code
    assert "Edited helper.py" in done.stdout
    assert ("nothing was written: the change of helper.py ends with this command" in done.stderr) is not save
    assert ("salute" in (project / "helper.py").read_text()) is save


@requirement("IDE-08", "AGENT-05")
@pytest.mark.parametrize("save", ["false", "true"])
def test_what_an_agent_did_not_save_is_told_at_the_end_of_its_run(project: Path, home: Path, save: str) -> None:
    edit = f'{{ path = "helper.py", anchor = "hail(", new_text = "salute(", save = {save} }}'
    (project / "run.toml").write_text(
        f'[[turns]]\ncalls = [{{ tool = "ide__edit", input = {edit} }}]\n[[turns]]\ntext = "done"\n'
    )
    words = ["agent", "--print", "-p", "rename it", "--scenario", "run.toml"]
    env = {**environment(home.parent), "CLAWFT_HOME": str(home)}
    done = subprocess.run(
        [*WEFT, *words], cwd=project, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "done" in done.stdout) == (0, True)
    assert ("not written, and gone with this command: the changes of helper.py" in done.stderr) is (save == "false")


def test_the_language_server_is_installed() -> None:
    """Without it this module would prove nothing."""
    assert shutil.which("basedpyright-langserver", path=str(Path(sys.executable).parent))
