"""How `weft mcp-server` ends: with its input, with its reader, by signals; always clean, never with something left."""

import asyncio
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import psutil
import pytest
from aiohttp import web

from clawft.gateway.running_requests import MAX_IN_FLIGHT
from clawft.link.http_out.client import GOODBYE_SECONDS
from clawft.store.file_locks import locked
from clawft.store.private_files import private_dir
from tests.requirements import requirement
from tests.security.siege import hostile
from tests.servers.pipe import Json, Pipe, call, mcp_server, request, text_of
from tests.servers.web import Asked, serve
from tests.servers.weft import (
    MCP_SERVER,
    RSS_LIMIT,
    STOP_S,
    children_named,
    environment,
    is_gone,
    outliving,
    peak_memory,
)

pytestmark = pytest.mark.slow

AT_ONCE_S = 3.0
"""Far less than the grace of 5 s, more than a busy machine needs."""
FULL_S = 1.0
"""After so long without being read a pipe counts as full."""
HELLO = request(
    1,
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
)
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture(autouse=True)
def with_a_terminal_that_counts() -> Generator[None]:
    """Even if the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


async def is_refusing(pipe: Pipe) -> None:
    """Call until the answer is that we are too late."""
    for attempt in range(1_000):
        await pipe.send(call(f"late {attempt}", "probe__echo", {"token": "late"}))
        answer = await pipe.answer(f"late {attempt}")
        if "error" in answer:
            assert "shutting down" in answer["error"]["message"]
            return
    pytest.fail("weft takes new calls long after the signal")


async def start_child(pipe: Pipe) -> psutil.Process:
    """A call of shell__exec that runs long; the process it started."""
    await pipe.send(call("child", "shell__exec", {"command": "sleep 600"}))
    async with asyncio.timeout(STOP_S):
        while True:
            for child in children_named(pipe.pid, "sleep"):
                return child
            await pipe.is_well()


@requirement("SHELL-14", "QUAL-13")
async def test_the_end_of_input_ends_it(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        assert await asyncio.wait_for(pipe.end(), AT_ONCE_S) == 0
        assert pipe.stderr() == ""


@requirement("SHELL-14")
def test_whoever_starts_it_with_nohup_has_it_outlive_the_terminal(tmp_path: Path) -> None:
    quiet = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *MCP_SERVER)
    with subprocess.Popen(
        quiet, cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        for id in range(2, 100):  # long after whatever the signal does
            process.stdin.write(call(id, "probe__echo", {"token": "still here"}))
            process.stdin.flush()
            assert "still here" in text_of(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(STOP_S) == 0


@requirement("SHELL-14", "GUARD-11")
async def test_whoever_holds_the_audit_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A process that was stopped in the middle of writing, say: each batch of lines waited ten seconds for it."""
    lock = private_dir(tmp_path / "home" / "audit") / "audit.lock"
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        with locked(lock):
            await pipe.is_well()
            assert await asyncio.wait_for(pipe.end(), AT_ONCE_S) == 0
        assert "audit: 1 lines could not be written" in pipe.stderr()


@requirement("SHELL-14")
async def test_a_running_call_is_answered_after_the_end_of_input(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(call(1, "probe__wait", {"token": "patience", "seconds": 1}))
        (answer,) = await pipe.rest()
        assert text_of(answer) == "patience"
        assert await pipe.end() == 0


@requirement("SHELL-14", "QUAL-13", "QUAL-12")
async def test_what_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        child = await start_child(pipe)
        (answer,) = await pipe.rest()
        assert "shutting down" in answer["error"]["message"]
        assert await pipe.end() == 0
        assert is_gone(child)


@requirement("SHELL-14", "SHELL-15")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_signal_lets_running_calls_finish_and_takes_no_new_ones(tmp_path: Path, number: signal.Signals) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(call("running", "probe__wait", {"token": "done", "seconds": 1.5}))
        await pipe.is_well()
        pipe.process.send_signal(number)
        await is_refusing(pipe)
        assert text_of(await pipe.answer("running")) == "done"
        code = 130 if number is signal.SIGINT else 0
        assert await asyncio.wait_for(pipe.process.wait(), STOP_S) == code
        assert pipe.stderr() == ""


@requirement("SHELL-14", "QUAL-13")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
async def test_a_second_signal_ends_it_at_once_with_its_children(tmp_path: Path, number: signal.Signals) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        child = await start_child(pipe)
        pipe.process.send_signal(number)
        await is_refusing(pipe)
        pipe.process.send_signal(number)
        assert await asyncio.wait_for(pipe.process.wait(), AT_ONCE_S) == 128 + number
        assert is_gone(child)
        assert "Traceback" not in pipe.stderr()


@requirement("SHELL-14", "LINK-09", "QUAL-13")
async def test_a_second_signal_does_not_wait_for_servers_that_do_not_want_to_go(tmp_path: Path) -> None:
    told = json.dumps({"mcpServers": {"hostile": hostile("stubborn")}})
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        await pipe.open()
        assert "hostile__poke" in json.dumps(await pipe.ask("tools/list"))
        family = psutil.Process(pipe.pid).children(recursive=True)
        pipe.process.send_signal(signal.SIGTERM)
        await pipe.stdout.read()  # it has nothing more to say: now it waits for the server
        pipe.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(pipe.process.wait(), AT_ONCE_S / 2) == 128 + signal.SIGTERM
        assert await asyncio.to_thread(outliving, family, AT_ONCE_S) == []


@requirement("SHELL-14")
async def test_a_second_signal_does_not_wait_for_a_server_that_does_not_take_our_goodbye(tmp_path: Path) -> None:
    called = asyncio.Event()

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.method == "DELETE":
            await asyncio.sleep(STOP_S)
        if asked.method != "POST" or "id" not in asked.message:
            return web.Response(status=202 if asked.method == "POST" else 405)
        if asked.about == "tools/call":
            called.set()
            await asyncio.sleep(STOP_S)
        if asked.about == "initialize":
            hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}}
            return asked.result(hello, **{"Mcp-Session-Id": "s-1"})
        if asked.about == "tools/list":
            return asked.result({"tools": [{"name": "poke", "inputSchema": {"type": "object"}}]})
        return asked.error(-32601, "no")

    async with serve(respond) as seen:
        told = json.dumps({"mcpServers": {"slow": {"url": seen.url}}})
        async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
            await pipe.open()
            await pipe.send(call("running", "slow__poke", {}))
            await asyncio.wait_for(called.wait(), STOP_S)
            pipe.process.send_signal(signal.SIGTERM)
            await is_refusing(pipe)
            began = time.monotonic()
            pipe.process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(pipe.process.wait(), AT_ONCE_S) == 128 + signal.SIGTERM
            assert time.monotonic() - began < GOODBYE_SECONDS


@requirement("SHELL-14", "QUAL-12")
async def test_the_end_of_input_is_noticed_behind_more_calls_than_may_run(tmp_path: Path) -> None:
    """Nothing is read then: the end has to be looked for."""
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        waiting = [call(id, "probe__wait", {"token": "x", "seconds": 600}) for id in range(2 * MAX_IN_FLIGHT)]
        await pipe.send(*waiting)
        began = time.monotonic()
        answers = await pipe.rest()
        assert await pipe.end() == 0
        assert time.monotonic() - began < STOP_S
        assert len(answers) >= MAX_IN_FLIGHT
        assert all("shutting down" in answer["error"]["message"] for answer in answers)


@requirement("SHELL-14", "QUAL-12")
def test_the_end_of_input_is_noticed_while_nobody_reads_our_answers(tmp_path: Path) -> None:
    read, write = os.pipe()
    with process_on(tmp_path, stdin=subprocess.PIPE, stdout=write) as process:
        os.close(write)
        assert process.stdin is not None
        fill(process.stdin.fileno(), HELLO, request(2, "tools/list"))
        process.stdin.close()
        assert peak_memory(process.pid) < RSS_LIMIT
        assert process.wait(STOP_S) == 0
    os.close(read)


def fill(pipe: int, first: bytes, again: bytes) -> None:
    """Write until nothing has been taken for a while."""
    os.write(pipe, first)
    os.set_blocking(pipe, False)
    while select.select([], [pipe], [], FULL_S)[1]:
        os.write(pipe, again)


@requirement("SHELL-15", "SHELL-14")
def test_a_shell_pipeline_gets_its_answers(tmp_path: Path) -> None:
    """`echo '…' | weft mcp-server`: the input ends at once, the answers come all the same."""
    asked = HELLO + call(2, "probe__wait", {"token": "piped", "seconds": 0.3}) + request(3, "tools/list")
    ran = subprocess.run(
        MCP_SERVER,
        input=asked,
        capture_output=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        timeout=STOP_S,
        check=True,
    )
    assert sorted(answer["id"] for answer in map(_read, ran.stdout.splitlines())) == [1, 2, 3]
    assert b"piped" in ran.stdout
    assert ran.stderr == b""


@requirement("SHELL-15", "SHELL-14")
def test_files_can_take_the_place_of_the_pipes(tmp_path: Path) -> None:
    """`weft mcp-server < questions > answers`, the last line without its end."""
    count = 500
    asked = HELLO + b"".join(call(id, "probe__echo", {"token": f"t{id}"}) for id in range(2, count))
    (tmp_path / "questions").write_bytes(asked.rstrip(b"\n"))
    with (tmp_path / "questions").open("rb") as source, (tmp_path / "answers").open("wb") as target:
        subprocess.run(
            MCP_SERVER, stdin=source, stdout=target, cwd=tmp_path, env=environment(tmp_path), timeout=STOP_S, check=True
        )
    answers = [_read(raw) for raw in (tmp_path / "answers").read_bytes().splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(1, count))


@requirement("SHELL-14")
@pytest.mark.parametrize("output", ["pipe", "nowhere"])
def test_no_input_at_all_is_the_end_of_input(tmp_path: Path, output: str) -> None:
    ran = subprocess.run(
        MCP_SERVER,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if output == "pipe" else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
        timeout=STOP_S,
        check=False,
    )
    assert (ran.returncode, ran.stdout or b"", ran.stderr) == (0, b"", b"")


@requirement("SHELL-15")
@pytest.mark.parametrize("how", ["Ctrl-D", "SIGTERM"])
def test_a_person_can_try_it_in_a_terminal(tmp_path: Path, how: str) -> None:
    ours, theirs = os.openpty()
    with process_on(tmp_path, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        os.write(ours, HELLO)
        seen = b""
        while b'"result"' not in seen or not seen.endswith(b"\n"):
            seen += os.read(ours, 65_536)
        if how == "Ctrl-D":
            os.write(ours, b"\x04")
        else:
            process.terminate()
        assert process.wait(STOP_S) == 0
    os.close(ours)


@requirement("SHELL-14", "QUAL-13")
def test_it_goes_quietly_when_nobody_reads_its_output(tmp_path: Path) -> None:
    read, write = os.pipe()
    with process_on(tmp_path, stdin=subprocess.PIPE, stdout=write) as process:
        os.close(write)
        stdin = process.stdin
        assert stdin is not None
        stdin.write(HELLO)
        stdin.flush()
        assert os.read(read, 65_536)
        os.close(read)
        try:
            stdin.write(request(2, "ping") * 10)
            stdin.flush()
        except BrokenPipeError:  # it noticed before we could tell it anything
            pass
        assert process.wait(STOP_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@requirement("SHELL-14", "QUAL-13")
def test_a_client_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """Both pipes break at once, with a call in flight that has a process of its own."""
    read, write = os.pipe()
    with process_on(tmp_path, stdin=subprocess.PIPE, stdout=write) as process:
        os.close(write)
        stdin = process.stdin
        assert stdin is not None
        stdin.write(HELLO + call(2, "shell__exec", {"command": "sleep 600"}))
        stdin.flush()
        while not (children := children_named(process.pid, "sleep")):
            stdin.write(request(3, "ping"))
            stdin.flush()
            assert os.read(read, 65_536)
        os.close(read)
        stdin.close()
        assert process.wait(STOP_S) == 0
        assert all(is_gone(child) for child in children)


@requirement("QUAL-12")
def test_a_long_file_waits_for_a_reader_that_stalls(tmp_path: Path) -> None:
    count = 5_000
    asked = b"".join(call(id, "probe__echo", {"token": f"{id}:" + "x" * 2_000}) for id in range(2, count))
    (tmp_path / "questions").write_bytes(HELLO + asked)
    with (
        (tmp_path / "questions").open("rb") as source,
        process_on(tmp_path, stdin=source, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        answers = [_read(process.stdout.readline())]
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(AT_ONCE_S / 3)  # more answers than the pipe holds: it cannot have finished
        assert peak_memory(process.pid) < RSS_LIMIT
        answers += [_read(raw) for raw in process.stdout]
        assert process.wait(STOP_S) == 0
        assert sorted(answer["id"] for answer in answers) == list(range(1, count))


@contextmanager
def process_on(folder: Path, *, stdin: Any, stdout: Any) -> Generator[subprocess.Popen[bytes]]:
    """`weft mcp-server` on descriptors of our choice; killed at the end if it still runs."""
    process = subprocess.Popen(
        MCP_SERVER, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, cwd=folder, env=environment(folder)
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for end in (process.stdin, process.stdout, process.stderr):
            _close(end)


def _close(end: IO[bytes] | None) -> None:
    try:
        if end is not None:
            end.close()
    except BrokenPipeError:
        pass


def _read(raw: bytes) -> Json:
    return json.loads(raw)
