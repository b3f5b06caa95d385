"""A real child on the other end of the link."""

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.errors import (
    LinkClosed,
    LinkError,
    MessageTooLong,
    ProcessExited,
    ProtocolFailure,
    RequestTimeout,
    SpawnFailed,
)
from clawft.link import process, stream
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.process import Launch, StderrTail
from clawft.link.stream import StreamLink
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from tests.requirements import requirement
from tests.servers.weft import outliving
from tests.upstream.support import until

pytestmark = pytest.mark.slow  # processes that take their time

HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")
PATIENCE_S = 20.0
SHORT_S = 0.3


class Listener:
    def __init__(self) -> None:
        self.heard: list[Request | Notification] = []
        self.lost: asyncio.Future[LinkError] = asyncio.get_running_loop().create_future()

    def incoming(self, message: Request | Notification, stream: int | None) -> None:
        self.heard.append(message)


def launch(*options: str, env: dict[str, str] | None = None, cwd: str = ".") -> Launch:
    return Launch(sys.executable, (HONEST, *options), env or {}, cwd)


@asynccontextmanager
async def opened(what: Launch, **options: Any) -> AsyncGenerator[tuple[StreamLink, Listener]]:
    link, listener = StreamLink(what, **options), Listener()
    async with asyncio.timeout(PATIENCE_S):
        await link.open(listener.incoming, listener.lost.set_result)
        try:
            yield link, listener
        finally:
            await link.close()


def call(tool: str, **arguments: Any) -> OutgoingRequest:
    return OutgoingRequest("tools/call", json.dumps({"name": tool, "arguments": arguments}).encode())


async def text(link: StreamLink, outgoing: OutgoingRequest) -> str:
    answer = await link.request(outgoing)
    assert isinstance(answer, Response)
    return json.loads(answer.result)["content"][0]["text"]


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


@requirement("LINK-03", "LINK-04", "S2-P2-01", "S2-P2-02")
async def test_a_request_is_answered_and_the_child_is_gone_after_closing() -> None:
    async with opened(launch()) as (link, _):
        assert await text(link, call("echo", token="one")) == "one"
        assert link.child is not None
        pid = link.child.pid
    assert gone(pid)
    await link.close()  # twice is once


@requirement("S2-P2-03", "SESS-15")
async def test_many_requests_at_once_each_get_their_own_answer() -> None:
    async with opened(launch()) as (link, _):
        asked = [call("echo", token=str(n), seconds=(n % 5) / 50) for n in range(100)]
        assert await asyncio.gather(*(text(link, each) for each in asked)) == [str(n) for n in range(100)]


@requirement("LINK-05", "LINK-06", "F9b-T23", "F9b-T24", "S2-P2-07", "SEC-A01", "POOL-21")
async def test_a_child_sees_only_what_it_is_given_in_its_folder_and_its_own_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OUR_SECRET", "hunter2")
    async with opened(launch(env={"GIVEN": "yes"}, cwd=str(tmp_path))) as (link, _):
        seen = json.loads(await text(link, call("where")))
    assert seen["cwd"] == str(tmp_path)
    assert seen["group"]
    assert set(seen["env"]) - {"LC_CTYPE"} == {"PATH", "HOME", "GIVEN"}


@requirement("SEC-A04", "LINK-03")
async def test_no_shell_reads_the_arguments(tmp_path: Path) -> None:
    async with opened(launch("--child", f"{tmp_path}/$HOME;x")) as (link, _):
        await text(link, call("echo", token=""))
        assert (tmp_path / "$HOME;x").exists()


@requirement("LINK-08", "S2-P2-05", "LINK-07")
async def test_when_the_child_dies_everyone_who_waits_hears_how_and_its_last_words() -> None:
    async with opened(launch("--die-on", "ping")) as (link, listener):
        waiting = [asyncio.ensure_future(link.request(call("echo", seconds=60))) for _ in range(3)]
        with pytest.raises(ProcessExited, match=r"status 3.*these are my last words"):
            await link.request(OutgoingRequest("ping"))
        for each in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(each, ProcessExited)
        assert isinstance(await listener.lost, ProcessExited)
        with pytest.raises(ProcessExited):
            await link.request(OutgoingRequest("ping"))


@requirement("LINK-08")
async def test_a_killed_child_is_reaped_and_named() -> None:
    async with opened(launch()) as (link, listener):
        assert link.child is not None
        os.kill(link.child.pid, signal.SIGKILL)
        with pytest.raises(ProcessExited, match="SIGKILL"):
            await link.request(call("echo", seconds=60))
        await listener.lost
        assert gone(link.child.pid)


@requirement("LINK-09", "S2-P2-06", "S2-P2-09")
async def test_a_child_that_ignores_everything_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "STOP_SECONDS", SHORT_S)
    below = tmp_path / "child"
    async with opened(launch("--ignore-eof", "--ignore-term", "--child", str(below))) as (link, _):
        await text(link, call("echo", token=""))
        grandchild = psutil.Process(int(below.read_text()))
        assert link.child is not None
        before = asyncio.get_running_loop().time()
        await link.close()
        assert 2 * SHORT_S <= asyncio.get_running_loop().time() - before < 3 * SHORT_S
        assert gone(link.child.pid)
        assert outliving([grandchild], PATIENCE_S) == []


@requirement("POOL-21", "LINK-09")
async def test_what_a_child_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    below = tmp_path / "child"
    async with opened(launch("--child", str(below))) as (link, _):
        await text(link, call("echo", token=""))
        grandchild = psutil.Process(int(below.read_text()))
    assert outliving([grandchild], PATIENCE_S) == []


@requirement("LINK-09")
async def test_nothing_is_left_open() -> None:
    us = psutil.Process()
    async with opened(launch()) as (link, _):
        await text(link, call("echo", token=""))
    before = us.num_fds()
    async with opened(launch()) as (link, _):
        await text(link, call("echo", token=""))
    await asyncio.sleep(0)  # transports close in the next turn
    assert us.num_fds() <= before


@requirement("LINK-10")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/no/such/thing", "does not exist"),
        ("no-such-thing", "PATH"),
        (HONEST, "not executable"),
        (os.path.dirname(HONEST), "is a folder"),
    ],
)
async def test_a_command_that_cannot_run_is_refused_by_its_path(command: str, why: str) -> None:
    with pytest.raises(SpawnFailed, match=why):
        async with opened(Launch(command)):
            pass


@requirement("LINK-10", "POOL-13")
@pytest.mark.parametrize(("lacking", "passing"), [(errno.EMFILE, True), (errno.EAGAIN, True), (errno.EACCES, False)])
async def test_what_a_machine_lacks_now_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, lacking: int, passing: bool
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(lacking, os.strerror(lacking))

    monkeypatch.setattr(subprocess, "Popen", full)
    with pytest.raises(SpawnFailed, match=os.strerror(lacking)) as refused:
        async with opened(launch()):
            pass
    assert refused.value.passing is passing


@requirement("SESS-13", "S2-P2-04", "S4-TR-02", "LINK-11")
async def test_a_silent_request_ends_at_its_deadline_and_the_server_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with opened(launch("--log", str(log))) as (link, _):
        with pytest.raises(RequestTimeout) as late:
            await link.request(call("echo", seconds=SHORT_S * 2), Deadline("echo", SHORT_S))
        assert late.value.ms == int(SHORT_S * 1000)
        assert await text(link, call("echo", token="next", seconds=SHORT_S * 2)) == "next"
        assert link.faults.unasked == 0  # the late answer is no fault of the server's
    said = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}} in said


@requirement("SESS-14")
async def test_cancelling_the_wait_cancels_the_request_but_never_initialize(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with opened(launch("--log", str(log), "--mute", "initialize")) as (link, _):
        for outgoing in (OutgoingRequest("initialize", b"{}"), call("echo", seconds=60)):
            waiting = asyncio.ensure_future(link.request(outgoing))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await text(link, call("echo", token=""))
    said = [json.loads(line) for line in log.read_text().splitlines()]
    cancels = [each["params"]["requestId"] for each in said if each["method"] == "notifications/cancelled"]
    assert cancels == [2]


@requirement("LINK-11")
async def test_half_a_line_holds_up_nobody_for_longer_than_their_deadline() -> None:
    async with opened(launch()) as (link, _):
        with pytest.raises(RequestTimeout):
            await link.request(call("half"), Deadline("half", SHORT_S))
        with pytest.raises(RequestTimeout):
            await link.request(call("echo"), Deadline("echo", SHORT_S))


@requirement("LINK-11")
async def test_an_answer_above_the_limit_is_an_error_and_the_link_lives_on() -> None:
    async with opened(launch(), limit=10_000) as (link, _):
        with pytest.raises(MessageTooLong):
            await link.request(call("long", letters=20_000))
        assert await text(link, call("echo", token="fine")) == "fine"


@requirement("WIRE-08", "WIRE-05")
async def test_an_answer_above_the_limit_fails_nobody_but_the_one_who_asked() -> None:
    async with opened(launch(), limit=10_000) as (link, _):
        other = asyncio.ensure_future(text(link, call("echo", token="fine", seconds=0.5)))
        await asyncio.sleep(0)
        with pytest.raises(MessageTooLong):
            await link.request(call("long", letters=20_000))
        assert await other == "fine"


@requirement("SESS-07")
async def test_an_error_without_an_id_answers_the_only_open_request() -> None:
    async with opened(launch("--nameless-errors")) as (link, _):
        assert isinstance(await link.request(OutgoingRequest("server/discover")), Failure)


@requirement("LINK-07")
async def test_stderr_is_kept_within_bounds_and_handed_on() -> None:
    heard: list[bytes] = []
    async with opened(launch("--talkative", "200000"), said=heard.append) as (link, _):
        await text(link, call("echo", token=""))
        assert link.child is not None
        await until(lambda: sum(map(len, heard)) > 200_000)
        assert len(link.child.stderr.text()) <= process.STDERR_BYTES


@requirement("LINK-07")
def test_a_tail_keeps_the_end() -> None:
    tail = StderrTail(12)
    tail.add(b"one two")
    assert tail.text() == "one two"
    for piece in (b"first ", b"second", b" third"):
        tail.add(piece)
    assert tail.text() == "third"
    assert tail.text(4) == ""
    tail.add(b"x" * 50 + b" is it")
    assert tail.text() == "is it"


@requirement("LINK-07", "CONF-14")
def test_a_tail_has_no_half_of_a_secret() -> None:
    """Nobody would recognise it, and take it out."""
    tail = StderrTail()
    tail.add(b"key=0123456789abcdef and then")
    told = {tail.text(room) for room in range(1, 40)}
    assert told == {"", "then", "and then", "key=0123456789abcdef and then"}


@requirement("LINK-04")
async def test_a_child_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_UNREAD_BYTES", 3 * 1024 * 1024)
    sleeper = Launch(sys.executable, ("-c", "import time; time.sleep(300)"))
    async with opened(sleeper) as (link, listener):
        big = OutgoingRequest("tools/call", b'{"x":"' + b"y" * 1024 * 1024 + b'"}')
        waiting = [asyncio.ensure_future(link.request(big)) for _ in range(8)]
        assert "does not read" in str(await listener.lost)
        assert all(isinstance(each, LinkClosed) for each in await asyncio.gather(*waiting, return_exceptions=True))


@requirement("LINK-04")
async def test_a_call_that_was_not_read_says_so_when_its_time_is_up() -> None:
    sleeper = Launch(sys.executable, ("-c", "import time; time.sleep(300)"))
    async with opened(sleeper) as (link, _):
        big = OutgoingRequest("tools/call", b'{"x":"' + b"y" * 3 * 1024 * 1024 + b'"}')
        with pytest.raises(RequestTimeout, match=r"poke: no answer within 200 ms, and \d+ bytes wait on its input"):
            await link.request(big, Deadline("poke", 0.2))


@requirement("LINK-04")
async def test_lines_that_are_no_messages_are_skipped_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_BAD_LINES", 50)
    noise = "import sys\nfor _ in range(100): print('noise')\nsys.stdout.flush()\nimport time; time.sleep(60)"
    async with opened(Launch(sys.executable, ("-c", noise))) as (_, listener):
        told = "was stopped: it wrote 50 lines to stdout that are not messages, the last 'noise'"
        assert str(await listener.lost).endswith(told), "it was us who ended it, and why"


LOGGING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print("10:00 asked for", asked["method"], flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""


@requirement("LINK-04")
async def test_a_child_that_logs_between_its_answers_is_never_stopped_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_BAD_LINES", 10)
    async with opened(Launch(sys.executable, ("-c", LOGGING))) as (link, listener):
        for _ in range(50):
            assert isinstance(await link.request(OutgoingRequest("ping")), Response)
        assert not listener.lost.done()
        assert link.faults.unreadable == 50


@requirement("LINK-08", "QUAL-03")
async def test_a_child_that_ends_in_the_middle_of_its_answer_has_ended() -> None:
    """And has not answered with something that nobody can read."""
    dying = (
        """import os, sys; sys.stdin.readline(); os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{"to'); os._exit(3)"""
    )
    async with opened(Launch(sys.executable, ("-c", dying))) as (link, _):
        with pytest.raises(ProcessExited, match="exited with status 3"):
            await link.request(OutgoingRequest("tools/list"))


BATCH = """
import json, sys
id = json.loads(sys.stdin.readline())["id"]
print(json.dumps([{"jsonrpc": "2.0", "id": id, "result": {}}]), flush=True)
sys.stdin.read()
"""
ASKING = """
import json, sys
id = json.loads(sys.stdin.readline())["id"]
print(json.dumps({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": [1]}), flush=True)
heard = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": id, "result": heard}), flush=True)
sys.stdin.read()
"""


@requirement("WIRE-22", "QUAL-03")
async def test_an_answer_in_a_batch_that_may_not_be_one_fails_at_once() -> None:
    async with opened(Launch(sys.executable, ("-c", BATCH))) as (link, _):
        link.settled("2025-11-25")
        with pytest.raises(ProtocolFailure, match="the answer is not a message"):
            await link.request(OutgoingRequest("tools/call"), Deadline("call", PATIENCE_S))


@requirement("QUAL-03")
async def test_a_question_that_cannot_be_read_is_answered() -> None:
    """A server that waits for the answer would wait for ever."""
    async with opened(Launch(sys.executable, ("-c", ASKING))) as (link, _):
        answer = await link.request(OutgoingRequest("tools/call"), Deadline("call", PATIENCE_S))
        assert isinstance(answer, Response)
        heard = json.loads(answer.result)
        assert (heard["id"], heard["error"]["code"]) == ("q", -32600)


@requirement("LINK-05")
async def test_a_link_that_is_closed_under_a_call_says_whose_it_is() -> None:
    async with opened(launch(), name="crm") as (link, _):
        running = asyncio.ensure_future(link.request(call("wait", seconds=60)))
        await asyncio.sleep(0)
        await link.close()
        with pytest.raises(LinkClosed, match="the link to crm was closed because it is being stopped or restarted"):
            await running


@pytest.mark.parametrize("step", range(1, 5))
async def test_whoever_stops_waiting_for_a_link_to_open_leaves_no_pipe(step: int) -> None:
    """A child that was started has three; not all are taken yet."""
    link, listener = StreamLink(launch()), Listener()
    opening = asyncio.ensure_future(link.open(listener.incoming, listener.lost.set_result))
    for _ in range(step):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    await link.close()
    if link.child is not None:
        pipes = link.child.pipes
        assert all(pipe is None or pipe.closed for pipe in (pipes.stdin, pipes.stdout, pipes.stderr))
