"""Too much of everything over stdio: answered or refused, once each, within bounded memory."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import PATIENCE_S, Json, Pipe, call, cancelled, mcp_server, modern_meta, text_of
from tests.servers.weft import RSS_LIMIT

pytestmark = pytest.mark.slow

MANY = 10_000
SHORT = 16 * 1024
"""A reader with so little room stops reading by itself after twice as much."""
STALL_S = 1.5
"""How long we watch a writer that must not get on."""


def _many(value: bytes) -> bytes:
    """Fifteen megabytes of the same tiny value."""
    return b",".join([value] * (15_000_000 // (len(value) + 1)))


def _call_with(arguments: bytes) -> bytes:
    params = b'{"name":"probe__echo","arguments":%b}' % arguments
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params


def small_call(id: int) -> bytes:
    return call(id, "probe__echo", {"token": f"t{id}"})


async def read_answers(pipe: Pipe, count: int) -> list[Json]:
    async with asyncio.timeout(3 * PATIENCE_S):
        return [await pipe.read() for _ in range(count)]


async def send_and_read(pipe: Pipe, lines: list[bytes], answers: int) -> list[Json]:
    """Both at once, as a client that does not wait for answers does."""
    _, found = await asyncio.gather(pipe.send(*lines), read_answers(pipe, answers))
    return found


@requirement("WIRE-08", "QUAL-12")
async def test_an_endless_line_is_refused_once_and_the_next_message_answered(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        for _ in range(50):
            await pipe.send(b"x" * 1_000_000)
        refused = await pipe.read()
        assert refused["id"] is None
        assert "too long" in refused["error"]["message"]
        await pipe.send(b"\n")
        pipe.others.clear()
        await pipe.is_well()
        assert pipe.others == []
        assert pipe.peak() < RSS_LIMIT


SWELLING: dict[str, Callable[[], bytes]] = {  # made when needed: collecting tests should not take 90 MB
    "arguments": lambda: _call_with(b'{"token":[%b]}' % _many(b"[]")),
    "unknown arguments": lambda: _call_with(b'{"token":"a","zz":[%b]}' % _many(b"{}")),
    "beside the params": lambda: b'{"jsonrpc":"2.0","id":1,"method":"ping","x":[%b]}' % _many(b"[]"),
    "params twice": lambda: b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":[%b]},"params":{}}' % _many(b"[]"),
    "a batch": lambda: b"[%b]" % _many(b"1"),
    "an answer": lambda: b'{"jsonrpc":"2.0","id":1,"result":[%b]}\n' % _many(b"1") + small_call(2).rstrip(),
}
"""Short to write, large as objects: fifteen megabytes that could become a gigabyte."""


@requirement("QUAL-12")
@pytest.mark.parametrize("case", SWELLING)
async def test_a_message_that_swells_stays_within_memory(tmp_path: Path, case: str) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open("2025-03-26")  # the one revision that knows batches
        await pipe.send(SWELLING[case]() + b"\n")
        assert await pipe.read()
        await pipe.is_well()
        assert pipe.peak() < RSS_LIMIT


@requirement("WIRE-08")
async def test_a_message_of_a_megabyte_passes_both_ways(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, "--no-builtin") as pipe:
        await pipe.open()
        token = "m" * 1_000_000
        await pipe.send(call(1, "probe__wait", {"token": token, "seconds": 0}))
        assert text_of(await pipe.answer(1))
        assert pipe.peak() < RSS_LIMIT


@requirement("WIRE-05", "SHELL-12", "QUAL-12")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_ten_thousand_requests_at_once_are_answered_once_each(tmp_path: Path, era: str) -> None:
    async with mcp_server(tmp_path) as pipe:
        meta: Json = {"_meta": modern_meta()} if era == "stateless" else {}
        if era == "handshake":
            await pipe.open()
        lines = [call(id, "probe__echo", {"token": f"t{id}"}, **meta) for id in range(MANY)]
        answers = await send_and_read(pipe, lines, MANY)
        assert Counter(answer["id"] for answer in answers) == Counter(range(MANY))
        for answer in answers:
            if "error" in answer:
                assert "busy" in answer["error"]["message"]
            else:
                assert answer["result"]["structuredContent"] == {"token": f"t{answer['id']}"}
        assert any("result" in answer for answer in answers)
        assert pipe.peak() < RSS_LIMIT


@requirement("QUAL-12", "WIRE-05")
async def test_a_reader_that_stalls_stops_the_writer_and_loses_nothing(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, longest=SHORT) as pipe:
        await pipe.open()
        padding = "p" * 2_000
        lines = [call(id, "probe__echo", {"token": f"{id}:{padding}"}) for id in range(MANY)]
        pipe.stdin.write(b"".join(lines))
        sending = asyncio.create_task(pipe.stdin.drain())
        done, _ = await asyncio.wait({sending}, timeout=STALL_S)
        assert not done, "weft took everything from a client that reads nothing"
        assert pipe.peak() < RSS_LIMIT
        answers = await read_answers(pipe, MANY)
        await sending
        assert Counter(answer["id"] for answer in answers) == Counter(range(MANY))
        assert all(str(answer["id"]) == token_of(answer) for answer in answers if "result" in answer)
        assert pipe.peak() < RSS_LIMIT
        await pipe.is_well()


def token_of(answer: Json) -> str:
    return answer["result"]["structuredContent"]["token"].partition(":")[0]


@requirement("WIRE-05")
async def test_ten_thousand_cancels_harm_nobody(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(call("slow", "probe__wait", {"token": "slow", "seconds": 1}))
        await pipe.send(*(cancelled(id) for id in range(MANY)))
        await pipe.is_well()
        assert text_of(await pipe.answer("slow")) == "slow"
        assert pipe.others == []


@requirement("WIRE-05", "QUAL-13")
async def test_a_thousand_calls_are_cancelled_and_nothing_more_is_said_about_them(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        ids = range(1_000)
        await pipe.send(*(call(id, "probe__wait", {"token": "never", "seconds": 600}) for id in ids))
        await pipe.is_well()
        await pipe.send(*(cancelled(id) for id in ids))
        await pipe.is_well()
        await pipe.send(*(small_call(id) for id in ids))
        answers = await read_answers(pipe, len(ids))
        assert {answer["result"]["structuredContent"]["token"] for answer in answers} == {f"t{id}" for id in ids}
        assert pipe.others == []
        assert await pipe.rest() == []


@requirement("WIRE-04", "WIRE-05")
async def test_an_id_in_flight_cannot_be_used_again(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(call(7, "probe__wait", {"token": "first", "seconds": 0.5}), small_call(7), small_call(8))
        refused, *answers = await read_answers(pipe, 3)
        assert refused["error"]["code"] == -32600
        assert {token for answer in answers for token in [text_of(answer)] if answer["id"] == 7} == {"first"}
        await pipe.send(small_call(7))
        assert (await pipe.answer(7))["result"]["structuredContent"] == {"token": "t7"}


@requirement("QUAL-12")
async def test_a_tool_that_floods_a_reader_that_stalls_stays_within_memory(tmp_path: Path) -> None:
    """Progress that nobody reads is left out; the answer comes all the same."""
    async with mcp_server(tmp_path, longest=SHORT) as pipe:
        await pipe.open()
        flood = {"count": 20_000, "size": 4_000}
        await pipe.send(call("flood", "probe__flood", flood, _meta={"progressToken": "p"}))
        with pytest.raises(TimeoutError):  # time to flood in, while nobody reads
            await asyncio.wait_for(pipe.process.wait(), STALL_S)
        assert text_of(await pipe.answer("flood")) == "flooded"
        assert pipe.peak() < RSS_LIMIT
        await pipe.is_well()
