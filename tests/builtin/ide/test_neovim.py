"""A real Neovim, joined through its own socket: nothing is installed into it but a language server of the user's."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.mock import MockIde
from clawft.builtin.ide.nvim.backend import NeovimIde
from clawft.builtin.ide.nvim.find import sockets
from clawft.builtin.ide.nvim.rpc import NvimRpc
from clawft.builtin.ide.nvim.watch import Neovims
from clawft.errors import IdeError
from tests.builtin.ide.agent import COLUMN, MAIN, REPAIR, agent, write_project
from tests.requirements import requirement

NVIM = shutil.which("nvim")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NVIM is None and not os.environ.get("CI"), reason="no nvim: `make editors` installs it"),
]

START_S = 20.0
CONFIG = """
vim.cmd('filetype on')
vim.api.nvim_create_autocmd('FileType', {{ pattern = 'python', callback = function(event)
  _G.Server = _G.Server or vim.lsp.start_client({{ name = 'python', cmd = {{ '{server}', '--stdio' }},
    root_dir = '{root}', offset_encoding = 'utf-16',
    settings = {{ basedpyright = {{ analysis = {{ typeCheckingMode = 'standard' }} }} }},
    workspace_folders = {{ {{ uri = vim.uri_from_fname('{root}'), name = 'ws' }} }} }})
  vim.lsp.buf_attach_client(event.buf, _G.Server)
end }})
"""
"""What a user's configuration does, in the words of Neovim 0.7."""

Start = Callable[[Path], Coroutine[Any, Any, str]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncGenerator[Start]:
    """Start Neovim in a folder; its socket."""
    running: list[subprocess.Popen[bytes]] = []

    async def started(folder: Path) -> str:
        assert NVIM is not None, "no nvim: `make editors` installs it"
        server = shutil.which("basedpyright-langserver", path=str(Path(sys.executable).parent))
        config, socket = tmp_path / f"init{len(running)}.lua", str(tmp_path / f"nvim{len(running)}.sock")
        config.write_text(CONFIG.format(server=server, root=folder))
        words = [NVIM, "--headless", "-u", str(config), "-i", "NONE", "-n", "--listen", socket]
        running.append(await asyncio.to_thread(subprocess.Popen[bytes], words, cwd=folder, stdin=subprocess.DEVNULL))
        async with asyncio.timeout(START_S):
            while True:
                try:
                    (await NvimRpc.open(socket)).close()
                    return socket
                except IdeError:
                    await asyncio.sleep(0.05)

    yield started
    for process in running:
        for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []:
            with suppress(psutil.NoSuchProcess):  # it ended meanwhile
                child.kill()
        process.kill()
        process.wait()


async def lua(socket: str, code: str, *arguments: Any) -> Any:
    """What the person would do in it."""
    rpc = await NvimRpc.open(socket)
    try:
        return await rpc.request("nvim_exec_lua", code, list(arguments))
    finally:
        rpc.close()


@pytest.fixture
def project(workspace: Path) -> Path:
    return write_project(workspace)


@requirement("IDE-18", "IDE-07", "IDE-08", "IDE-09", "IDE-10", "IDE-11", "IDE-04", "IDE-01")
async def test_the_tools_work_in_a_running_neovim(project: Path, home: Path, start: Start) -> None:
    socket = await start(project)
    async with agent(project, home, NVIM=socket) as ours:
        opened = await ours.ide("open_file", path="main.py", line=3, character=COLUMN)
        assert (opened["texts"], opened["backend"]) == (["Opened main.py"], "neovim")
        cursor = await lua(socket, "local at = vim.api.nvim_win_get_cursor(0); return { at[1], at[2] }")
        assert cursor == [4, len(MAIN.splitlines()[3].encode()) - 3]

        found = await ours.ide("diagnostics", path="main.py", wait_ms=30_000, severity=1)
        assert found["fresh"]
        undefined = next(each for each in found["result"] if "nam" in each["message"])
        assert undefined["range"]["start"] == {"line": 3, "character": COLUMN}

        info = await ours.ide("hover", path="main.py", line=2, character=5)
        assert "def greet(name: str) -> str" in info["result"]["contents"]
        assert "hail" in (await ours.ide("hover", path="main.py", anchor='hail("ü😀")'))["result"]["contents"]
        symbols = await ours.ide("symbols", query="hail")
        assert ("hail", "helper.py") in [(each["name"], each["file_path"]) for each in symbols["result"]]
        uses = await ours.ide("references", path="main.py", anchor='hail("ü😀")')
        assert [each["file_path"] for each in uses["result"]] == ["helper.py", "main.py"]

        edited = await ours.ide("edit", path="main.py", **REPAIR)
        assert edited["dirty"]
        lines = await lua(socket, "return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
        assert lines[3] == '    return "😀 hü " + name'
        assert (project / "main.py").read_text() == MAIN
        assert "not saved" in (await ours.call("file__read", path="main.py"))["texts"][-1]
        assert await ours.problems("main.py") == ['Type "str" is not assignable to declared type "int"']

        renamed = await ours.ide("rename", path="main.py", anchor='hail("ü😀")', new_name="salute", save=True)
        assert {each["path"] for each in renamed["files"]} == {"helper.py", "main.py"}
        assert "def salute" in (project / "helper.py").read_text()
        assert 'Greeter().salute("ü😀")' in (project / "main.py").read_text()
        assert await ours.refused("rename", path="main.py", line=1, character=0, new_name="x")


@requirement("IDE-09")
async def test_what_a_server_says_while_it_still_works_is_not_the_last_word(
    project: Path, home: Path, start: Start
) -> None:
    say = "local method, said = ...; vim.lsp.handlers[method](nil, said, { client_id = _G.Server, method = method })"
    socket = await start(project)
    async with agent(project, home, NVIM=socket) as ours:
        assert await ours.problems("helper.py") == []
        await lua(socket, say, "window/workDoneProgress/create", {"token": "work"})
        assert not (await ours.ide("diagnostics", path="helper.py", wait_ms=0))["fresh"]
        await lua(socket, say, "$/progress", {"token": "work", "value": {"kind": "end"}})
        assert (await ours.ide("diagnostics", path="helper.py", wait_ms=0))["fresh"]


@requirement("IDE-08", "IDE-01")
async def test_edits_are_exact_or_refused(project: Path, home: Path, start: Start) -> None:
    socket = await start(project)
    async with agent(project, home, NVIM=socket) as ours:
        await ours.ide("open_file", path="main.py")
        refused = {
            "line 99": {"start_line": 99, "start_character": 0, "end_line": 99, "end_character": 0, "new_text": "x"},
            "inside of a letter": {
                "start_line": 3, "start_character": 13, "end_line": 3, "end_character": 14, "new_text": "x",
            },
            "another text": {**REPAIR, "expected_text": "name"},
            "has version": {**REPAIR, "expected_version": 9999},
        }  # fmt: skip
        for why, arguments in refused.items():
            assert why in await ours.refused("edit", path="main.py", save=True, **arguments)
        assert (project / "main.py").read_text() == MAIN

        top = {"start_line": 0, "start_character": 0, "end_line": 0, "end_character": 0, "new_text": "# ü\n"}
        assert not (await ours.ide("edit", path="main.py", edits=[REPAIR, top], save=True))["dirty"]
        assert (project / "main.py").read_text() == "# ü\n" + MAIN.replace("nam\n", "name\n")
        end = len(MAIN.splitlines()) + 1
        last = {"start_line": end, "start_character": 0, "end_line": end, "end_character": 0, "new_text": "last = 1\n"}
        await ours.ide("edit", path="main.py", save=True, **last)
        assert (project / "main.py").read_text() == "# ü\n" + MAIN.replace("nam\n", "name\n") + "last = 1\n"


@requirement("IDE-08")
async def test_an_edit_may_reach_to_the_end_of_the_text(project: Path, home: Path, start: Start) -> None:
    async with agent(project, home, NVIM=await start(project)) as ours:
        for text, anchor, new_text, after in (
            ("a\nb\n", "b\n", "c\n", "a\nc\n"),
            ("a\nb\n", "a\nb\n", "c\n", "c\n"),
            ("a\nb\nc\n", "b\nc\n", "", "a\n"),
        ):
            (project / "end.py").write_text(text)
            await ours.ide("edit", path="end.py", anchor=anchor, new_text=new_text, save=True)
            assert (project / "end.py").read_text() == after


@requirement("IDE-04")
@pytest.mark.parametrize(
    ("act", "outcome", "kept"),
    [
        ("vim.cmd('ClawftAccept')", "accept", "# one\n# two\n"),
        ("vim.cmd('ClawftReject')", "reject", MAIN),
        ("vim.cmd('tabclose')", "reject", MAIN),
        ("vim.api.nvim_buf_set_lines(0, 0, 1, false, {}); vim.cmd('ClawftAccept')", "part", "# two\n"),
    ],
)
async def test_a_diff_is_judged_in_neovim(
    project: Path, home: Path, start: Start, act: str, outcome: str, kept: str
) -> None:
    socket = await start(project)
    async with agent(project, home, NVIM=socket) as ours:
        await ours.ide("open_file", path="main.py")
        asking = asyncio.create_task(ours.ide("show_diff", path="main.py", new_text="# one\n# two\n", save=True))
        async with asyncio.timeout(START_S):
            while await lua(socket, "return #vim.api.nvim_list_tabpages()") < 2:  # noqa: ASYNC110 - its events are its own
                await asyncio.sleep(0.05)
        await lua(socket, act)
        said = await asking
        assert said["outcome"] == outcome
        assert (project / "main.py").read_text() == kept


@requirement("IDE-04", "IDE-15")
async def test_selection_open_editors_and_a_text_changed_behind_its_back(
    project: Path, home: Path, start: Start
) -> None:
    socket = await start(project)
    async with agent(project, home, NVIM=socket) as ours:
        await ours.ide("open_file", path="main.py", anchor="hü")
        await lua(socket, "vim.cmd('normal! v')")
        picked = await ours.ide("selection")
        assert (picked["path"], picked["selected"]) == ("main.py", "h")
        assert picked["range"]["start"] == {"line": 3, "character": 15}
        await lua(socket, "vim.cmd('normal! \\27')")
        editors = (await ours.ide("open_editors"))["result"]
        assert [(each["path"], each["active"]) for each in editors] == [("main.py", True)]
        await ours.call("file__write", path="main.py", content="fresh = 1\n")
        assert await ours.problems("main.py") == []
        lines = await lua(socket, "return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
        assert lines == ["fresh = 1"]


@requirement("IDE-09")
async def test_a_text_that_was_changed_on_the_disk_too_is_not_saved_and_asks_nobody(
    project: Path, home: Path, start: Start
) -> None:
    """Neovim would ask whether to write over it, and answer nothing until somebody says so."""
    socket = await start(project)
    file = project / "notes.txt"
    file.write_text("milk\n")
    async with agent(project, home, NVIM=socket) as ours:
        await ours.ide("edit", path="notes.txt", anchor="milk", new_text="rice")
        file.write_text("other words\n")
        assert "on the disk, too" in await ours.refused("save", path="notes.txt")
        assert "on the disk, too" in await ours.refused(
            "edit", path="notes.txt", anchor="rice", new_text="x", save=True
        )
        assert "the person's" in await ours.refused("save", path="notes.txt", discard=True)
        assert await lua(socket, "return vim.fn.getbufline(vim.fn.bufnr('notes.txt'), 1, '$')") == ["rice"]
        await lua(socket, "vim.cmd('buffer notes.txt'); vim.cmd('edit!')")
        await ours.ide("edit", path="notes.txt", anchor="other", new_text="new", save=True)
    assert file.read_text() == "new words\n"


@requirement("IDE-09", "IDE-11")
async def test_a_text_that_no_language_server_knows_is_not_said_to_be_analysed(
    project: Path, home: Path, start: Start
) -> None:
    (project / "notes.txt").write_text("milk\n")
    async with agent(project, home, NVIM=await start(project)) as ours:
        for tool, arguments in (("diagnostics", {"wait_ms": 0}), ("hover", {"line": 0, "character": 0})):
            said = await ours.refused(tool, path="notes.txt", **arguments)
            assert "no language server in this Neovim" in said, tool
            assert "does not answer" not in said, tool
        edited = await ours.ide("edit", path="notes.txt", anchor="milk", new_text="rice", wait_ms=1)
        assert (edited["fresh"], edited["diagnostics"]) == (False, None)


@requirement("IDE-15")
async def test_neovims_come_and_go(project: Path, home: Path, start: Start, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    there = [await start(elsewhere), await start(project)]
    hub = IdeHub(project, lambda: MockIde(project, id="headless"))
    neovims = Neovims(hub, lambda: there)
    await neovims.look()
    (ours,) = hub.connections
    assert isinstance(ours, NeovimIde)
    assert ours.window.folders == [str(project)]
    assert await lua(there[0], "return _G.Clawft == nil"), "one that works elsewhere is left alone"
    gone = ours.gone
    await lua(there[1], "vim.schedule(function() vim.cmd('qa!') end)")
    await asyncio.wait_for(asyncio.shield(gone), START_S)
    await asyncio.sleep(0)
    assert hub.connections == []
    with pytest.raises(IdeError):
        await ours.read(str(project / "main.py"))
    neovims.close()


@requirement("IDE-18")
def test_only_sockets_of_ours_are_found(tmp_path: Path) -> None:
    import socket

    mine = tmp_path / "nvim.me" / "x"
    mine.mkdir(parents=True)
    mine.chmod(0o700)
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(mine / "nvim.1.0"))
    open_to_all = tmp_path / "nvimopen"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    planted = socket.socket(socket.AF_UNIX)
    planted.bind(str(open_to_all / "0"))
    (mine / "nvim.2.0").write_text("no socket")
    try:
        assert sockets({"TMPDIR": str(tmp_path), "USER": "me"}) == [str(mine / "nvim.1.0")]
        assert sockets({"TMPDIR": str(tmp_path / "none"), "NVIM": str(open_to_all / "0")}) == [str(open_to_all / "0")]
    finally:
        found.close()
        planted.close()
