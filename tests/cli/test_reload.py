"""A changed file is applied while we serve: only what differs is touched, and what broke goes on as it was."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.config.layers import MAX_SERVERS
from clawft.config.watch import POLL_SECONDS
from clawft.upstream.pending_servers import WAIT_SECONDS
from tests.requirements import requirement
from tests.servers.pipe import Pipe, call, mcp_server, text_of
from tests.servers.twin import NOTE
from tests.servers.weft import ROOT, RSS_LIMIT
from tests.servers.weft import weft as command

TINY = Path(__file__).parents[1] / "servers" / "tiny.py"
PATIENCE_S = 30.0
PAUSE_S = 0.05
LONGER_THAN_A_LIST_S = WAIT_SECONDS + 1.0
AT_ONCE_S = 3.0
"""For one call on a busy machine. What is mended here took twelve seconds and more."""

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


def entry(title: str) -> str:
    args = json.dumps([str(TINY), "--title", title])
    return f'command = {json.dumps(sys.executable)}\nargs = {args}\ntrust = "trusted"\n'


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    """Where `mcp_server(tmp_path)` keeps its home."""
    from tests.servers.weft import environment

    folder = Path(environment(tmp_path)["CLAWFT_HOME"]) / "mcp_servers"
    folder.mkdir(parents=True)
    return folder


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Pipe]:
    async with mcp_server(folder) as pipe:
        await pipe.open()
        yield pipe


async def exists(path: Path) -> str:
    return "there" if await asyncio.to_thread(path.exists) else "not there"


async def answer(pipe: Pipe, tool: str, **arguments: Any) -> str:
    told = await pipe.ask("tools/call", {"name": tool, "arguments": arguments})
    return text_of(told) if "result" in told else str(told["error"]["message"])


async def eventually(look: Callable[[], Awaitable[str]], fine: Callable[[str], bool]) -> str:
    """What another process shows, as soon as it is what we wait for. There is no event to wait for from out here."""
    for _ in range(int(PATIENCE_S / PAUSE_S)):
        if fine(said := await look()):
            return said
        await asyncio.sleep(PAUSE_S)
    raise AssertionError(f"still {await look()!r} after {PATIENCE_S} s")


async def until(pipe: Pipe, tool: str, wanted: str, **arguments: Any) -> str:
    """Ask again until the answer begins with what is wanted."""
    return await eventually(lambda: answer(pipe, tool, **arguments), lambda said: said.startswith(wanted))


async def pid_of(pipe: Pipe, server: str, other_than: str = "") -> str:
    return await eventually(lambda: answer(pipe, f"{server}__pid"), lambda said: said.isdigit() and said != other_than)


@requirement("CONF-21")
async def test_one_changed_server_restarts_alone_while_a_call_runs_on_another(servers: Path, tmp_path: Path) -> None:
    (servers / "steady.toml").write_text(entry("steady"))
    (servers / "moving.toml").write_text(entry("before"))
    async with serving(tmp_path) as pipe:
        steady, moving = await pid_of(pipe, "steady"), await pid_of(pipe, "moving")
        gate = tmp_path / "gate"
        await pipe.send(call("long", "steady__hold", {"file": str(gate)}))
        await eventually(lambda: exists(tmp_path / "gate.waiting"), lambda said: said == "there")
        (servers / "moving.toml").write_text(entry("after"))
        await until(pipe, "moving__echo", "after: ", text="x")
        assert await pid_of(pipe, "moving") != moving
        assert not any(message.get("id") == "long" for message in pipe.others), "it is still running"
        gate.touch()
        held = next((each for each in pipe.others if each.get("id") == "long"), None) or await pipe.answer("long")
        assert text_of(held) == "steady held on"
        assert await answer(pipe, "steady__pid") == steady


@requirement("CONF-21", "POOL-09")
async def test_who_calls_a_server_that_is_started_anew_waits_for_it(servers: Path, tmp_path: Path) -> None:
    """And is not told in between that there is no such tool."""
    (servers / "one.toml").write_text(entry("before"))
    gate = tmp_path / "gate"
    late = f"while [ ! -e {gate} ]; do sleep 0.01; done; exec {sys.executable} {TINY} --title after"
    async with serving(tmp_path) as pipe:
        await until(pipe, "one__echo", "before: ", text="x")
        before = psutil.Process(pipe.pid).children(recursive=True)
        (servers / "one.toml").write_text(f'command = "/bin/sh"\nargs = ["-c", "{late}"]\ntrust = "trusted"\n')
        assert not (await asyncio.to_thread(psutil.wait_procs, before, PATIENCE_S))[1]
        await pipe.send(call("anew", "one__echo", {"text": "x"}))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(LONGER_THAN_A_LIST_S):
                await pipe.answer("anew")
        gate.touch()
        assert text_of(await pipe.answer("anew")) == "after: x"


def twin(more: str = "") -> str:
    """One that tells of its resources."""
    args = json.dumps(["-m", "tests.servers.twin", "two", "handshake"])
    entry = f"command = {json.dumps(sys.executable)}\nargs = {args}\ncwd = {json.dumps(str(ROOT))}\n"
    return f'{entry}trust = "trusted"\nsandbox = "off"\n{more}'


def reconnect(file: Path) -> None:
    assert command(file.parents[2], "servers", "reconnect", file.stem).returncode == 0


def edit(file: Path) -> None:
    file.write_text(twin('env = { WHAT = "else" }\n'))


@requirement("SESS-23", "CONF-21")
@pytest.mark.parametrize("start_anew", [reconnect, edit])
async def test_what_is_watched_goes_on_being_watched_at_a_server_that_is_started_anew(
    start_anew: Callable[[Path], None], servers: Path, tmp_path: Path
) -> None:
    (servers / "two.toml").write_text(twin())
    async with serving(tmp_path) as pipe:
        await until(pipe, "two__show", f"two {NOTE}")
        assert "result" in await pipe.ask("resources/subscribe", {"uri": NOTE})
        before = psutil.Process(pipe.pid).children(recursive=True)
        await asyncio.to_thread(start_anew, servers / "two.toml")
        assert not (await asyncio.to_thread(psutil.wait_procs, before, PATIENCE_S))[1]
        await pipe.send(call("touch", "two__touch", {"uri": NOTE}))
        async with asyncio.timeout(PATIENCE_S):
            while not is_news_of_two(await pipe.read()):
                pass


def is_news_of_two(message: dict[str, Any]) -> bool:
    """From the server itself: of what may have been missed while it was away we tell in other words."""
    is_news = message.get("method") == "notifications/resources/updated"
    return is_news and message["params"] == {"uri": NOTE, "title": "two"}


@requirement("CONF-21", "CONF-08")
async def test_servers_come_and_go_with_their_files(servers: Path, tmp_path: Path) -> None:
    """From nothing: not even the folder is there when we start."""
    servers.rmdir()
    async with serving(tmp_path) as pipe:
        servers.mkdir()
        (servers / "late.toml").write_text(entry("late"))
        assert await until(pipe, "late__echo", "late: ", text="1") == "late: 1"
        (servers / "late.toml").unlink()
        await until(pipe, "late__echo", "unknown tool", text="1")


@requirement("CONF-21", "CONF-12")
async def test_a_broken_file_keeps_what_runs_and_is_told(servers: Path, tmp_path: Path) -> None:
    (servers / "one.toml").write_text(entry("one"))
    async with serving(tmp_path) as pipe:
        before = await pid_of(pipe, "one")
        (servers / "one.toml").write_text("command = [broken")
        (servers / "two.toml").write_text(entry("two"))
        await until(pipe, "two__echo", "two: ", text="1")
        assert await answer(pipe, "one__pid") == before
        assert f"{servers / 'one.toml'}:1: not valid TOML" in pipe.stderr()


@requirement("CONF-21", "CONF-22")
async def test_settings_that_are_edited_say_when_they_count(servers: Path, tmp_path: Path) -> None:
    settings = servers.parent / "config.toml"
    settings.write_text('[tools]\nallow = ["*"]\n')
    async with serving(tmp_path) as pipe:
        settings.write_text(f'[tools]\nallow = ["*"]\ndeny = ["x"]\nnaems = 1\n[mcp_servers.one]\n{entry("one")}')
        assert await until(pipe, "one__echo", "one: ", text="1") == "one: 1", "servers are followed all the same"

        async def said() -> str:
            return await asyncio.to_thread(pipe.stderr)

        told = await eventually(said, lambda told: "naems'" in told)
        assert f"{settings}: the change of tools.deny, tools.naems takes effect when weft is started again" in told
        assert f"{settings}:4: unknown key 'tools.naems', did you mean 'tools.names'?" in told


@requirement("MGR-19", "MGR-03")
async def test_reconnect_reaches_a_running_weft(servers: Path, tmp_path: Path, weft: list[str]) -> None:
    from tests.servers.weft import environment

    (servers / "one.toml").write_text(entry("one"))
    async with serving(tmp_path) as pipe:
        before = await pid_of(pipe, "one")
        asked = await asyncio.to_thread(
            subprocess.run,
            [*weft, "servers", "reconnect", "one"],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert asked.returncode == 0, asked.stderr
        await pid_of(pipe, "one", other_than=before)


LONG = 125_000


@requirement("CONF-21", "CONF-16", "CONF-12")
@pytest.mark.parametrize(
    "servers_of_theirs",
    [
        {"odd": {"command": sys.executable, "cwd": "~nobody-knows-them"}},
        {"odd": {"command": sys.executable, "args": ["http://[/?token=a-long-secret"]}},
        {"odd": {"command": sys.executable, "args": ["a b"] * LONG}},
        {"odd": {"command": sys.executable, "args": ["http://x/?" + "a=b&" * LONG]}},
        {"odd": {"command": sys.executable, "args": [f"--token=abc{number:06d}" for number in range(LONG // 3)]}},
        {f"odd{number}": {"command": sys.executable} for number in range(MAX_SERVERS)},
    ],
    ids=["home", "address", "words", "query", "secrets", "servers"],
)
async def test_whatever_a_workspace_writes_nobody_waits_for_it(
    servers: Path, tmp_path: Path, servers_of_theirs: dict[str, Any]
) -> None:
    """Nobody has approved any of it."""
    (servers / "steady.toml").write_text(entry("steady"))
    async with serving(tmp_path) as pipe:
        await until(pipe, "steady__echo", "steady: ", text="1")
        new = tmp_path / ".mcp.json.new"
        await asyncio.to_thread(new.write_text, json.dumps({"mcpServers": servers_of_theirs}))
        new.rename(tmp_path / ".mcp.json")
        end = time.monotonic() + PATIENCE_S
        while not any(told in pipe.stderr() for told in ("comes from the workspace", ".mcp.json:1: odd: ")):
            began = time.monotonic()
            assert await answer(pipe, "steady__echo", text="2") == "steady: 2"
            assert time.monotonic() - began < AT_ONCE_S
            assert began < end, "nobody was told of it"
        assert pipe.stderr().count("comes from the workspace") <= 20
        (servers / "later.toml").write_text(entry("later"))
        await until(pipe, "later__echo", "later: ", text="3")
        assert pipe.peak() <= RSS_LIMIT
    assert "Traceback" not in pipe.stderr()


@requirement("CONF-16", "POOL-20", "CONF-21")
async def test_what_was_taken_back_ends_although_the_workspace_broke_its_file(servers: Path, tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"db": {"command": sys.executable, "args": [str(TINY)]}}}))
    for words in (("db",), ("db", "*")):
        granted = await asyncio.to_thread(command, tmp_path, "approvals", "grant", *words)
        assert granted.returncode == 0, granted.stderr
    async with serving(tmp_path) as pipe:
        await until(pipe, "db__echo", "tiny: ", text="1")
        file.write_text("{ broken")
        await eventually(lambda: asyncio.to_thread(pipe.stderr), lambda said: "not valid JSON" in said)
        assert await answer(pipe, "db__echo", text="2") == "tiny: 2", "it goes on as it was"
        revoked = await asyncio.to_thread(command, tmp_path, "approvals", "revoke", "db")
        assert revoked.returncode == 0, revoked.stderr
        await until(pipe, "db__echo", "unknown tool", text="3")


@requirement("MGR-19", "POOL-09")
async def test_a_server_that_does_not_come_up_keeps_no_other_from_being_connected_anew(
    servers: Path, tmp_path: Path
) -> None:
    (servers / "one.toml").write_text(entry("one"))
    (servers / "mute.toml").write_text(entry("mute").replace('"--title"', '"--mute", "--title"'))
    async with serving(tmp_path) as pipe:
        before = await pid_of(pipe, "one")
        began = time.monotonic()
        for name in ("mute", "one"):
            asked = await asyncio.to_thread(command, tmp_path, "servers", "reconnect", name)
            assert asked.returncode == 0, asked.stderr
            await asyncio.sleep(POLL_SECONDS * 3)
        await pid_of(pipe, "one", other_than=before)
        assert time.monotonic() - began < PATIENCE_S / 2


@requirement("CONF-16", "POOL-20")
@pytest.mark.parametrize("words", [("approvals", "grant", "db"), ("servers", "reconnect", "db")])
async def test_a_script_that_is_what_was_approved_again_can_be_started_again(
    servers: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Whoever switches branches to and fro has changed nothing."""
    script, file = tmp_path / "db.py", tmp_path / ".mcp.json"
    approved = await asyncio.to_thread(TINY.read_text)
    script.write_text(approved)
    file.write_text(json.dumps({"mcpServers": {"db": {"command": sys.executable, "args": ["db.py"]}}}))
    for tools in ((), ("*",)):
        granted = await asyncio.to_thread(command, tmp_path, "approvals", "grant", "db", *tools)
        assert granted.returncode == 0, granted.stderr
    async with serving(tmp_path) as pipe:
        await until(pipe, "db__echo", "tiny: ", text="1")
        script.write_text(f"{approved}# changed\n")
        await asyncio.to_thread(command, tmp_path, "servers", "reconnect", "db")
        await until(pipe, "db__echo", "unknown tool", text="2")
        script.write_text(approved)
        again = await asyncio.to_thread(command, tmp_path, *words)
        assert again.returncode == 0, again.stderr
        await until(pipe, "db__echo", "tiny: ", text="3")


@requirement("SHELL-05", "CONF-09", "PROV-13")
@pytest.mark.parametrize("names", ["plain", "bare"])
async def test_the_order_of_servers_is_that_of_their_files_whatever_restarted(
    servers: Path, tmp_path: Path, names: str
) -> None:
    """Else a bare name that two have would go from one to the other with the restart of the first."""
    for name in ("first", "second"):
        (servers / f"{name}.toml").write_text(entry(name))
    async with mcp_server(tmp_path, "--no-builtin", "--deny", "probe__*", "--names", names) as pipe:
        await pipe.open()
        await until(pipe, "first__echo", "first: ", text="1")
        (servers / "first.toml").write_text(entry("changed"))
        await until(pipe, "first__echo", "changed: ", text="1")
        (servers / "another.toml").write_text(entry("another"))
        await until(pipe, "another__echo", "another: ", text="1")
        listed = await pipe.ask("tools/list")
        echoes = [each["name"] for each in listed["result"]["tools"] if each["name"].endswith("echo")]
        bare = ["echo", "first__echo", "second__echo"]
        assert echoes == (bare if names == "bare" else ["another__echo", *bare[1:]])
