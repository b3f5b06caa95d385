"""Published servers inside their sandbox, and a whole weft with servers that try to get out of theirs."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.errors import JsonRpcFailure
from clawft.provider.server.server_provider import ServerProvider
from clawft.sandbox.bounds import TEMPORARY, is_within
from clawft.upstream.cells import Cells
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from tests import peers
from tests.requirements import requirement
from tests.sandbox.held import means
from tests.servers.weft import MCP_SERVER, environment, outliving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")]

PATIENCE_S = 60.0
needs_a_checkout_in_sight = pytest.mark.skipif(
    any(is_within(os.path.realpath(__file__), folder) for folder in TEMPORARY),
    reason="this checkout lies below a temporary folder, which no server in a sandbox sees: this is NOT tested",
)
HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")


@asynccontextmanager
async def connected(folder: Path, argv: list[str], **more: Any) -> AsyncGenerator[tuple[Pool, ServerProvider]]:
    """A server in the sandbox it would have behind weft; the workspace is where it runs."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    cells = Cells(folder / "state", workspace)
    spec = UpstreamSpec("held", command=argv[0], args=tuple(argv[1:]), cwd=str(workspace), **more)
    ways = partial(links_to, cells=cells)
    pool = Pool(folder / "cache", ways, [{"uri": workspace.as_uri(), "name": "work"}])
    made: list[ServerProvider] = []
    pool.news.added.listen(lambda upstream: made.append(ServerProvider(upstream)))
    async with asyncio.timeout(PATIENCE_S):
        try:
            done = await pool.connect(spec)
            assert done.errors == {}
            yield pool, made[0]
        finally:
            await pool.close()


async def called(provider: ServerProvider, tool: str, **arguments: Any) -> str:
    reply = await provider.call_tool(tool, arguments)
    assert not reply.is_error, reply
    return str(reply.content[0]["text"])


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict"])
async def test_everything(tmp_path: Path, setting: str) -> None:
    argv = [*peers.bin("mcp-server-everything"), "stdio"]
    async with connected(tmp_path, argv, sandbox=setting) as (pool, provider):
        assert await called(provider, "echo", message="held") == "Echo: held"
        assert pool.server_status("held").sandbox.startswith(means("bwrap").name)


@requirement("POOL-22")
async def test_the_filesystem_server_writes_to_the_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    async with connected(tmp_path, [*peers.bin("mcp-server-filesystem"), str(workspace)]) as (_, provider):
        await called(provider, "write_file", path=str(workspace / "note.txt"), content="kept")
        assert (workspace / "note.txt").read_text() == "kept"
        assert "kept" in await called(provider, "read_text_file", path=str(workspace / "note.txt"))


@requirement("POOL-22")
async def test_the_memory_server_keeps_its_graph(tmp_path: Path) -> None:
    """Where its variable says; by itself it would write beside its own program, and no server may."""
    graph = tmp_path / "workspace" / "graph.jsonl"
    argv, env = [*peers.bin("mcp-server-memory")], {"MEMORY_FILE_PATH": str(graph)}
    entity = {"name": "loom", "entityType": "machine", "observations": ["weaves"]}
    for known in ([], ["loom"]):
        async with connected(tmp_path, argv, env=env) as (_, provider):
            told = json.loads(await called(provider, "read_graph"))
            assert [each["name"] for each in told["entities"]] == known
            await called(provider, "create_entities", entities=[entity])
    assert "weaves" in graph.read_text()


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict"])
async def test_the_server_for_thinking_step_by_step(tmp_path: Path, setting: str) -> None:
    step = {"thought": "first", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    async with connected(tmp_path, peers.bin("mcp-server-sequential-thinking"), sandbox=setting) as (_, provider):
        assert json.loads(await called(provider, "sequentialthinking", **step))["thoughtHistoryLength"] == 1


@requirement("POOL-22")
async def test_the_server_of_github_is_there_and_reads_what_it_is_asked(tmp_path: Path) -> None:
    """No further: whatever it could do needs the network."""
    async with connected(tmp_path, peers.bin("mcp-server-github")) as (_, provider):
        assert {"create_issue", "search_repositories"} <= {tool.name for tool in provider.list_tools()}
        with pytest.raises(JsonRpcFailure, match="Invalid input"):
            await called(provider, "create_issue")


def python_server(name: str) -> str:
    program = Path(sys.executable).with_name(f"mcp-server-{name}")
    if not program.exists():
        pytest.skip(f"mcp-server-{name} is not installed beside this Python")
    return str(program)


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict"])
async def test_the_time_server(tmp_path: Path, setting: str) -> None:
    argv = [python_server("time"), "--local-timezone", "UTC"]
    async with connected(tmp_path, argv, sandbox=setting) as (_, provider):
        assert "UTC" in await called(provider, "get_current_time", timezone="UTC")


def git(folder: Path, *words: str) -> str:
    told = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return told.stdout.strip()


@requirement("POOL-22")
async def test_the_git_server_commits(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for words in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@b.example"]):
        git(workspace, *words)
    (workspace / "a.txt").write_text("a")
    async with connected(tmp_path, [python_server("git"), "--repository", str(workspace)]) as (_, provider):
        await called(provider, "git_add", repo_path=str(workspace), files=["a.txt"])
        await called(provider, "git_commit", repo_path=str(workspace), message="first")
    assert git(workspace, "log", "--format=%s") == "first"


@requirement("POOL-22")
async def test_the_fetch_server_starts(tmp_path: Path) -> None:
    async with connected(tmp_path, [python_server("fetch")]) as (_, provider):
        assert [tool.name for tool in provider.list_tools()] == ["fetch"]


@needs_a_checkout_in_sight
@requirement("POOL-22")
async def test_weft_itself_behind_weft(tmp_path: Path) -> None:
    """A sandbox in a sandbox: what it starts itself is held as well."""
    env = environment(tmp_path)
    given = {name: env[name] for name in ("PYTHONPATH", "CLAWFT_HOME")}
    (tmp_path / "workspace").mkdir()
    given["CLAWFT_HOME"] = str(tmp_path / "workspace" / "inner")
    inner = json.dumps({"mcpServers": {"honest": {"command": sys.executable, "args": [HONEST]}}})
    argv = [*MCP_SERVER, "--no-builtin", "--mcp-config", inner]
    async with connected(tmp_path, argv, env=given) as (_, provider):
        async with asyncio.timeout(PATIENCE_S):
            while "honest__echo" not in {tool.name for tool in provider.list_tools()}:  # noqa: ASYNC110 - it is told by nobody
                await asyncio.sleep(0.05)
        assert await called(provider, "honest__echo", token="deep") == "deep"


@needs_a_checkout_in_sight
@requirement("LINK-09")
async def test_a_server_in_a_sandbox_may_say_goodbye(tmp_path: Path) -> None:
    """SIGTERM reaches the server and not the wall around it, which would take it down at once."""
    (tmp_path / "workspace").mkdir()
    said = tmp_path / "workspace" / "said"
    code = (
        "import pathlib, runpy, signal, sys, os\n"
        f"def bye(*_): pathlib.Path({str(said)!r}).write_text('bye'); os._exit(0)\n"
        "signal.signal(signal.SIGTERM, bye)\n"
        f"sys.argv = ['honest', '--ignore-eof']; runpy.run_path({HONEST!r}, run_name='__main__')"
    )
    async with connected(tmp_path, [sys.executable, "-c", code]) as (_, provider):
        assert await called(provider, "echo", token="x") == "x"
    assert said.read_text() == "bye"


# ── a whole weft ─────────────────────────────────────────────────────────────────────────────────────────────────────


def carrying(mark: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter() if mark in _words_of(each)]


def _words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def escaping(mark: str, sandbox: str) -> str:
    """A server that first puts a process into a session of its own, deaf to everything."""
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN); time.sleep(300)"
    code = (
        "import subprocess, sys, runpy\n"
        f"subprocess.Popen([sys.executable, '-c', {deaf!r}, {mark!r}], start_new_session=True,"
        " stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        f"sys.argv = ['honest', '--ignore-eof', '--ignore-term']; runpy.run_path({HONEST!r}, run_name='__main__')"
    )
    server = {"command": sys.executable, "args": ["-c", code], "sandbox": sandbox}
    return json.dumps({"mcpServers": {"escaping": server}})


@needs_a_checkout_in_sight
@requirement("POOL-21", "POOL-22", "S2-P2-09")
@pytest.mark.parametrize("sandbox", ["off", "auto"])
async def test_who_leaves_the_group_is_gone_when_weft_is_killed(tmp_path: Path, sandbox: str) -> None:
    means("bwrap")
    mark = secrets.token_hex(8)
    argv = [*MCP_SERVER, "--no-builtin", "--mcp-config", escaping(mark, sandbox)]
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not carrying(mark):  # noqa: ASYNC110 - nobody tells that a process has appeared
                await asyncio.sleep(0.05)
        (escaped,) = carrying(mark)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert outliving([escaped], 10) == []
    finally:
        for each in carrying(mark):
            each.kill()


@requirement("POOL-22")
async def test_status_says_what_holds_a_server(tmp_path: Path, weft: list[str]) -> None:
    config = json.dumps({"mcpServers": {"one": {"command": sys.executable, "args": [HONEST]}}})
    ran = await asyncio.to_thread(
        subprocess.run,
        [*weft, "servers", "status", "one", "--json", "--mcp-config", config],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert json.loads(ran.stdout)["sandbox"].startswith(means("bwrap").name)


@needs_a_checkout_in_sight
@requirement("POOL-22")
async def test_without_bubblewrap_landlock_holds_it_and_the_status_says_why(tmp_path: Path, weft: list[str]) -> None:
    means("landlock")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("setpriv", "prlimit", "unshare", "true"):
        if (found := shutil.which(name)) is not None:
            (programs / name).symlink_to(found)
    code = (
        "import os, pathlib, runpy, sys\n"
        "tried = pathlib.Path('tried')\n"
        "try: tried.write_text(str(os.listdir(os.environ['HOME'] + '/.ssh')))\n"
        "except OSError as held: tried.write_text(type(held).__name__)\n"
        f"sys.argv = ['honest']; runpy.run_path({HONEST!r}, run_name='__main__')"
    )
    (tmp_path / "user" / ".ssh").mkdir(parents=True)
    config = json.dumps({"mcpServers": {"one": {"command": sys.executable, "args": ["-c", code]}}})
    env = {**environment(tmp_path), "PATH": str(programs), "HOME": str(tmp_path / "user")}
    workspace = tmp_path / "work"
    workspace.mkdir()
    ran = await asyncio.to_thread(
        subprocess.run,
        [*weft, "servers", "status", "one", "--json", "--mcp-config", config],
        cwd=workspace, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    said = json.loads(ran.stdout)["sandbox"]
    assert said.startswith("landlock(")
    assert "bubblewrap is not installed" in said
    assert (workspace / "tried").read_text() == "PermissionError"
