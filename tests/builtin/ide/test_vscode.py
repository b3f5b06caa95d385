"""A real VS Code (code-server in a browser without a screen) with our extension, through a real gateway and client.

Each test has a code-server and a browser of its own. A picture of the window is kept in `out/`.
"""

import asyncio
import json
import os
import zipfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.ide.agent import Agent, agent
from tests.builtin.ide.fake_gateway import fake_gateway
from tests.builtin.ide.fake_window import post
from tests.builtin.ide.real_vscode import EXTENSION, OUT, ROOT, Browser, RealVsCode, missing, real_vscode
from tests.requirements import requirement

MISSING = missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(MISSING) and not os.environ.get("CI"), reason=f"no {MISSING}: `make editors`"),
]

RECOVERY_S = 30.0
"""How long a window may take to be there again."""
SECONDS = 380.0
BUSY_S = 60.0
"""A machine that does much else lets a window wait."""
WAIT_MS = 60_000
MAIN = """import { Greeter } from "./helper";
export function greet(name: string): string {
  return "😀 hü " + nam;
}
const n: number = greet("x");
new Greeter().hail("ü😀"); console.log(n);
"""
HELPER = """export class Greeter {
  hail(whom: string): string { return "hail " + whom; }
}
"""
NAM = MAIN.splitlines()[2]
COLUMN = len(NAM[: NAM.index("nam")].encode("utf-16-le")) // 2
REPAIR = {
    "start_line": 2,
    "start_character": COLUMN,
    "end_line": 2,
    "end_character": COLUMN + 3,
    "new_text": "name",
    "expected_text": "nam",
}
NEW_LINE = {
    "start_line": 2,
    "start_character": 0,
    "end_line": 3,
    "end_character": 0,
    "new_text": NAM.replace("nam;", "name;") + "\n",
}
"""`REPAIR`, where a window may be too busy to say in time that it has made it: made twice, it is no other."""


def write_project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "main.ts").write_text(MAIN)
    (folder / "helper.ts").write_text(HELPER)
    (folder / "tsconfig.json").write_text('{"compilerOptions":{"strict":true,"target":"es2022"}}')
    return folder


@asynccontextmanager
async def started(tmp_path: Path, **settings: Any) -> AsyncGenerator[tuple[RealVsCode, Path, Path]]:
    """code-server, the folder where gateways and windows meet, and a project."""
    assert not MISSING, f"no {MISSING}: `make editors`"
    home = tmp_path / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    project = write_project(tmp_path / "project")
    async with real_vscode(tmp_path / "vscode", home, **settings) as vscode:
        yield vscode, home, project


async def windows(ours: Agent) -> dict[str, dict[str, Any]]:
    """Those that answer, by id."""
    known = (await ours.ide("windows"))["result"]
    return {each["id"]: each for each in known if each["id"] != "headless"}


async def until(true: Callable[[], Awaitable[Any]], seconds: float = RECOVERY_S) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            found = await true()
            if found:
                return found
            await asyncio.sleep(0.25)


async def registered(ours: Agent, *gone: str, seconds: float = 120) -> str:
    """The id of a window that is none of those."""

    async def new() -> str:
        return next((id for id in await windows(ours) if id not in gone), "")

    return await until(new, seconds)


async def opened_in(ours: Agent, path: str) -> str:
    """The window it was opened in. A window that has just come may still be too busy for its first file."""

    async def opened() -> str:
        result = await ours.client.call_tool("ide__open_file", {"path": path})
        told: dict[str, Any] = result.structured_content or {}
        return told.get("window", "")

    return await until(opened, 60)


async def picture(browser: Browser, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    await browser.do("shot", page="one", path=str(OUT / name))


@requirement("IDE-19", "IDE-17", "IDE-07", "IDE-08", "IDE-09", "IDE-10", "IDE-11", "IDE-04", "IDE-01")
async def test_the_tools_work_in_a_real_window(tmp_path: Path) -> None:
    async with (
        started(tmp_path) as (vscode, home, project),
        agent(project, home, seconds=SECONDS, patience=BUSY_S) as ours,
    ):
        browser = await vscode.browser()
        await browser.open("one", project)
        window = await registered(ours)
        assert await opened_in(ours, "helper.ts") == window

        opened = await ours.ide("open_file", path="main.ts", line=2, character=COLUMN)
        assert (opened["texts"], opened["backend"], opened["window"]) == (["Opened main.ts"], "vscode", window)
        where = await ours.ide("selection")
        assert (where["path"], where["range"]["start"]) == ("main.ts", {"line": 2, "character": COLUMN})

        found = await ours.ide("diagnostics", path="main.ts", wait_ms=WAIT_MS, severity=1)
        assert found["fresh"]
        undefined = next(each for each in found["result"] if "nam" in each["message"])
        assert undefined["range"]["start"] == {"line": 2, "character": COLUMN}
        info = await ours.ide("hover", path="main.ts", line=1, character=17)
        assert "function greet(name: string): string" in info["result"]["contents"]
        behind = await ours.ide("hover", path="main.ts", anchor='hail("ü😀")')
        assert "hail(whom: string)" in behind["result"]["contents"]
        symbols = await ours.ide("symbols", query="hail")
        assert ("hail", "helper.ts") in [(each["name"], each["file_path"]) for each in symbols["result"]]
        uses = await ours.ide("references", path="main.ts", anchor='hail("ü😀")')
        assert [each["file_path"] for each in uses["result"]] == ["helper.ts", "main.ts"]

        await edits(ours, project)
        await reviews(ours, browser, project)
        await attacks(home, project)
        await picture(browser, "vscode.png")
        status = await browser.do("text", page="one", selector="#clawft\\.clawft\\.clawft\\.status, [id*=clawft]")
        assert any("weft" in each for each in status)
        await browser.do("press", page="one", keys=["F1"])
        await browser.do("wait", page="one", selector=".quick-input-widget input")
        await browser.do("type", page="one", text="MCP: List Servers")
        await browser.do("wait", page="one", selector=".quick-input-widget .label-name:has-text('MCP: List Servers')")
        await browser.do("press", page="one", keys=["Enter"])
        await browser.do("wait", page="one", selector=".quick-input-widget .label-name:has-text('weft')")


async def attacks(home: Path, project: Path) -> None:
    """What the window itself refuses, whoever knows its port."""
    async with fake_gateway(home) as gateway, asyncio.timeout(60):
        said = await gateway.registered
        assert len(said["secret"]) == 64
        told = {"url": said["callback"].rstrip("/")}
        change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "new_text": "x"}
        body = {
            "method": "apply_edit",
            "params": {"changes": [{"path": str(project / "main.ts"), "edits": [change]}], "save": True},
        }
        before = (project / "main.ts").read_text()
        secret = said["secret"]
        assert (await post(told, "/", "0" * 64, body))[0] == 401
        assert (await post(told, "/", secret, body, Origin="http://evil.example"))[0] == 403
        assert (await post(told, "/", secret, body, Host="rebound.example"))[0] == 403
        assert (await post(told, "/", secret, body, **{"Content-Type": "text/plain"}))[0] == 415
        assert (await post(told, "/other", secret, body))[0] == 404
        assert (await post(told, "/", secret, b'"' + b"x" * 5_000_000 + b'"'))[0] == 413
        assert (await post(told, "/", secret, b"{"))[0] == 400
        for path, code in (("/etc/passwd", "outside_workspace"), (str(project / "none.ts"), "not_found")):
            status, text = await post(told, "/", secret, {"method": "read", "params": {"path": path}})
            assert (status, json.loads(text)["error"]["code"]) == (200, code)
        for unknown in ("constructor", "executeCommand"):
            _, text = await post(told, "/", secret, {"method": unknown, "params": {}})
            assert json.loads(text)["error"]["code"] == "failed"
        assert (project / "main.ts").read_text() == before
        _, text = await post(told, "/", secret, {"method": "ping", "params": {}})
        assert json.loads(text) == {"result": {"ok": True}}


async def edits(ours: Agent, project: Path) -> None:
    for wrong in ({**REPAIR, "start_line": 99, "end_line": 99}, {**REPAIR, "expected_text": "other"}):
        assert await ours.refused("edit", path="main.ts", **wrong)
    inside = {"start_line": 2, "start_character": 11, "end_line": 2, "end_character": 11, "new_text": "x"}
    assert "inside of a letter" in await ours.refused("edit", path="main.ts", **inside)
    assert "version" in await ours.refused("edit", path="main.ts", expected_version=999, **REPAIR)
    edited = await ours.ide("edit", path="main.ts", **REPAIR)
    assert (edited["dirty"], (project / "main.ts").read_text()) == (True, MAIN)
    assert "not saved" in (await ours.call("file__read", path="main.ts"))["texts"][-1]
    assert await ours.problems("main.ts") == ["Type 'string' is not assignable to type 'number'."]
    renamed = await ours.ide("rename", path="main.ts", anchor='hail("ü😀")', new_name="salute", save=True)
    assert {each["path"] for each in renamed["files"]} == {"helper.ts", "main.ts"}
    assert "salute(whom" in (project / "helper.ts").read_text()
    assert 'new Greeter().salute("ü😀")' in (project / "main.ts").read_text()
    assert "nothing would be renamed" in await ours.refused("rename", path="main.ts", line=3, character=0, new_name="x")
    text = (project / "main.ts").read_text().replace("n: number", "n: string")
    await ours.call("file__write", path="main.ts", content=text)
    assert await ours.problems("main.ts") == [], "the window has read what another tool wrote"


async def reviews(ours: Agent, browser: Browser, project: Path) -> None:
    """Accepted, rejected, and in part: the person undoes one of two changes before they accept."""
    before = (project / "main.ts").read_text()
    button = ".notification-toast-container .monaco-button:has-text('{}')"

    async def judged(text: str, name: str) -> dict[str, Any]:
        asking = asyncio.create_task(ours.ide("show_diff", path="main.ts", new_text=text, save=True))
        await browser.do("wait", page="one", selector=button.format(name))
        if text.startswith("// part"):
            await browser.do("click", page="one", selector=".monaco-diff-editor .editor.modified .view-line >> nth=0")
            await browser.do("press", page="one", keys=["Control+Home", "Shift+End", "Delete", "Delete"])
        await browser.do("click", page="one", selector=button.format(name))
        return await asking

    rejected = await judged("// no\n" + before, "Reject")
    assert (rejected["outcome"], (project / "main.ts").read_text()) == ("reject", before)
    accepted = await judged("// yes\n" + before, "Accept")
    assert (accepted["outcome"], (project / "main.ts").read_text()) == ("accept", "// yes\n" + before)
    part = await judged("// part\n// yes\n" + before + "// end\n", "Accept")
    assert (part["outcome"], (project / "main.ts").read_text()) == ("part", "// yes\n" + before + "// end\n")


@requirement("IDE-15", "IDE-19")
async def test_windows_that_come_go_and_die(tmp_path: Path) -> None:
    """Two windows, a reload, a gateway that was away, a browser that is killed: each recovers by itself."""
    async with started(tmp_path) as (vscode, home, project):
        second = write_project(project / "second")
        browser = await vscode.browser()
        await browser.open("one", project)  # no gateway yet: the extension waits for one
        async with agent(project, home, seconds=SECONDS, patience=BUSY_S) as ours:
            first = await registered(ours)
            await browser.open("two", second)
            other = await registered(ours, first)
            assert await opened_in(ours, "second/main.ts") == other
            assert await opened_in(ours, "main.ts") == first
            await browser.do("close", page="two")

            async def closed() -> bool:
                return other not in await windows(ours)

            await until(closed)
            await browser.do("reload", page="one")
            again = await registered(ours, first, other)
            assert await opened_in(ours, "main.ts") == again

        async with agent(project, home, seconds=SECONDS, patience=BUSY_S) as ours:  # another gateway
            same = await registered(ours, seconds=RECOVERY_S)
            assert same == again
            assert await opened_in(ours, "main.ts") == same
            await ours.ide("diagnostics", path="main.ts", wait_ms=WAIT_MS)
            await browser.do("kill")
            for tool in ("diagnostics", "hover", "open_file"):
                said = (
                    await ours.refused(tool, path="main.ts", line=0, character=0)
                    if tool != "diagnostics"
                    else (await ours.refused(tool, path="main.ts"))
                )
                assert "not_ready" in said
            living = await vscode.browser()
            await living.open("one", project)
            fresh = await registered(ours, same)
            assert await opened_in(ours, "main.ts") == fresh


@requirement("IDE-17", "IDE-18")
async def test_a_window_that_fetches_its_calls_refuses_stale_and_foreign_invitations(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "ide").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    told = {"protocol": 1, "pid": 1, "started": 0, "registrationToken": "x" * 64, "workspace": "/"}
    stale = {"stale": "http://127.0.0.1:9", "far": "http://192.0.2.1:80", "name": "http://localhost:9"}
    for name, url in stale.items():
        file = home / "ide" / f"gateway-1-{name}.json"
        file.write_text(json.dumps({**told, "url": url}))
        file.chmod(0o600)
    visits: list[bytes] = []

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(await reader.readline())
        writer.close()

    trap = await asyncio.start_server(visited, "127.0.0.1", 0)
    port = trap.sockets[0].getsockname()[1]
    planted = home / "ide" / "gateway-2-planted.json"
    planted.write_text(json.dumps({**told, "url": f"http://127.0.0.1:{port}"}))
    planted.chmod(0o644)
    (home / "ide" / "gateway-3-link.json").symlink_to(planted)
    async with trap, started(tmp_path, **{"clawft.channel": "poll"}) as (vscode, home, project):
        browser = await vscode.browser()
        await browser.open("one", project)
        async with agent(project, home, seconds=SECONDS, patience=BUSY_S) as ours:
            await registered(ours)
            assert (await opened_in(ours, "main.ts")).startswith("vscode-")
            edited = await ours.ide("edit", path="main.ts", save=True, **NEW_LINE)
            assert not edited["dirty"]
            assert "+ name;" in (project / "main.ts").read_text()
    assert visits == [], "a file that others could have written leads nowhere"


@requirement("IDE-19")
async def test_the_packaged_extension_can_be_installed(tmp_path: Path) -> None:
    from tests.builtin.ide.real_vscode import CODE_SERVER, NODE
    from tools.vsix import build

    file = build(EXTENSION, tmp_path / "clawft.vsix")
    with zipfile.ZipFile(file) as packed:
        assert {"extension.vsixmanifest", "[Content_Types].xml", "extension/package.json"} <= set(packed.namelist())
    entry = CODE_SERVER / "out" / "node" / "entry.js"
    words = [
        "--install-extension",
        str(file),
        "--extensions-dir",
        str(tmp_path / "ext"),
        "--user-data-dir",
        str(tmp_path),
    ]
    process = await asyncio.create_subprocess_exec(
        str(NODE), str(entry), *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=ROOT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, said
    assert list((tmp_path / "ext").glob("clawft.clawft-*/extension.js")), said
