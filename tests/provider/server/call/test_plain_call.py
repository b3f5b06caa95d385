"""Calls that need one message and its answer, at a real server: told once, whatever becomes of them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from clawft.errors import ExecutionFailed, JsonRpcFailure, RequestTimeout
from clawft.model import Call, Next, Reply, SilentTalk
from clawft.provider.server import relay
from clawft.provider.server.call.plain_call import PlainCall
from clawft.provider.server.server_provider import ServerProvider
from tests.provider.server.test_server_provider import Heard, call, child, provider, served, text
from tests.requirements import requirement

SECONDS = 10.0
FOLLOWED = b'{"progressToken":"theirs"}'


class Loud(SilentTalk):
    """Of a caller who wants to hear what the server logs."""

    level = "info"


class Told:
    """A receiver: what it was told, and how often."""

    def __init__(self, asked: Call) -> None:
        self.call = asked
        self.times = 0
        self._ended: asyncio.Future[Reply | Next] = asyncio.get_running_loop().create_future()

    def finish_with(self, reply: Reply) -> None:
        self.times += 1
        self._ended.set_result(reply)

    def continue_with(self, rest: Next) -> None:
        self.times += 1
        self._ended.set_result(rest)

    async def reply(self) -> Reply:
        async with asyncio.timeout(SECONDS):
            ended = await self._ended
            return ended if isinstance(ended, Reply) else await ended(self.call)


def sent(one: ServerProvider, asked: Call) -> tuple[PlainCall, Told]:
    told = Told(asked)
    plain = one.start(asked, told)
    assert plain is not None
    return plain, told


@requirement("POOL-24")
async def test_the_answer_of_each_is_its_own(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one = provider(providers, "a")
        all_told = [sent(one, call(one, "echo", token=str(n)))[1] for n in range(20)]
        assert [text(await told.reply()) for told in all_told] == [str(n) for n in range(20)]
        assert {told.times for told in all_told} == {1}
        upstream = mine.find("a")
        assert (upstream.gate.running, len(upstream.flights)) == (0, 0)


@requirement("POOL-24")
async def test_a_server_s_error_is_told_at_once_even_if_all_its_places_are_taken(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one = provider(providers, "a")
        _, told = sent(one, call(one, "refuse", code=-32000, message="no"))
        gate = mine.find("a").gate
        while gate.try_enter():
            continue
        with pytest.raises(JsonRpcFailure, match="no"):
            await told.reply()


@pytest.mark.slow
@requirement("POOL-24")
@pytest.mark.parametrize(("tool", "again"), [("echo", False), ("safe", True)])
async def test_a_lost_call_is_made_again_only_where_that_is_safe(tmp_path: Path, tool: str, again: bool) -> None:
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one = provider(providers, "a")
        _, told = sent(one, call(one, tool, token="t", seconds=0.3))
        pid = mine.server_status("a").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        if again:
            assert text(await told.reply()) == "t"
        else:
            with pytest.raises(ExecutionFailed, match="a:"):
                await told.reply()
        assert told.times == 1


async def test_a_cancelled_call_is_told_nothing_and_the_server_hears_of_it(tmp_path: Path) -> None:
    async with served(tmp_path, child("a", "--log", str(tmp_path / "log"))) as (mine, _, providers):
        one = provider(providers, "a")
        plain, told = sent(one, call(one, "echo", token="t", seconds=0.2))
        plain.cancel()
        plain.cancel()
        assert text(await sent(one, call(one, "echo", token="next", seconds=0.3))[1].reply()) == "next"
        assert told.times == 0
        assert mine.find("a").gate.running == 0
    assert "notifications/cancelled" in (tmp_path / "log").read_text()


async def test_one_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async with served(tmp_path, child("a", timeout_ms=200)) as (_, _, providers):
        one = provider(providers, "a")
        _, told = sent(one, call(one, "echo", token="t", seconds=5))
        with pytest.raises(ExecutionFailed, match=str(RequestTimeout("echo", 200).message)):
            await told.reply()


@pytest.mark.slow
@requirement("SESS-13", "POOL-25")
async def test_its_progress_reaches_the_caller_and_extends_its_time_to_a_hard_limit(tmp_path: Path) -> None:
    async with served(tmp_path, child("a", timeout_ms=300)) as (_, _, providers):
        one, heard = provider(providers, "a"), Heard()
        plain, told = sent(one, call(one, "report", FOLLOWED, heard, steps=4, pause=0.2))
        assert text(await told.reply()) == "done"
        assert [step for step, *_ in heard.steps] == [1, 2, 3, 4]
        _, told = sent(one, call(one, "report", FOLLOWED, heard, steps=100, pause=0.2))
        with pytest.raises(
            ExecutionFailed, match="no answer within 3000 ms, the most that signs of life make of 300 ms"
        ):
            await told.reply()
        assert not len(plain.route.following)


async def test_nobody_follows_one_that_was_cancelled_or_never_left(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (mine, _, providers):
        one, heard = provider(providers, "a"), Heard()
        plain, _ = sent(one, call(one, "report", FOLLOWED, heard, pause=0.2))
        following = plain.route.following
        assert len(following) == 1
        plain.cancel()
        assert not len(following)
        await plain.route.session.link.close()
        asked = call(one, "report", FOLLOWED, heard)
        assert one.start(asked, Told(asked)) is None
        assert not len(following)
        assert mine.find("a").gate.running == 0


async def test_what_a_task_is_needed_for_is_not_taken(tmp_path: Path) -> None:
    async with served(tmp_path, child("a")) as (_, _, providers):
        one = provider(providers, "a")
        asked = call(one, "echo", talk=Loud(), token="t")
        assert one.start(asked, Told(asked)) is None


@requirement("WIRE-21")
@pytest.mark.parametrize(
    ("meta", "token", "end"),
    [
        (b'{"x/y":1e0}', None, b',"_meta":{"x/y":1e0}}}'),
        (b'{"progressToken":"theirs","x/y":1}', 7, b',"_meta":{"x/y":1,"progressToken":7}}}'),
        (b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}', None, b"}}"),
        (b"{}", None, b"}}"),
    ],
)
def test_what_a_caller_says_beside_its_arguments_goes_along(meta: bytes, token: int | None, end: bytes) -> None:
    assert relay.call_end(meta, token) == end
