"""Our own stdin and stdout as a link: real pipes, without a process around them."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import IO

import pytest

from clawft.gateway import pipe
from clawft.gateway.pipe import PipeCaller
from clawft.link.line_reader import LineReader
from clawft.link.line_writer import PAUSE_READING_ABOVE, LineWriter
from clawft.model import Call, Caller, Reply
from clawft.wire.framing import HEAD_BYTES, TooLong
from tests.gateway.support import Demo, serving, turns
from tests.requirements import requirement


@asynccontextmanager
async def reading(accept: list[bytes | TooLong], limit: int = 1000) -> AsyncGenerator[tuple[LineReader, IO[bytes]]]:
    """A reader at one end of a pipe, the other end to write to."""
    out, into = os.pipe()
    loop = asyncio.get_running_loop()
    transport, reader = await loop.connect_read_pipe(lambda: LineReader(accept.append, limit), os.fdopen(out, "rb", 0))
    writing = os.fdopen(into, "wb", 0)
    try:
        yield reader, writing
    finally:
        writing.close()
        transport.close()
        async with asyncio.timeout(5):
            await reader.ended


@asynccontextmanager
async def writing() -> AsyncGenerator[tuple[LineWriter, int]]:
    """A writer at one end of a pipe, the descriptor of the other end."""
    out, into = os.pipe()
    writer = LineWriter()
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: writer, os.fdopen(into, "wb", 0))
    writer.attach(transport)
    try:
        yield writer, out
    finally:
        await writer.finish(1)
        async with asyncio.timeout(5):
            await writer.broken


def taken(descriptor: int) -> bytes:
    found = os.read(descriptor, 1_000_000)
    os.close(descriptor)
    return found


@requirement("WIRE-06", "WIRE-07", "SHELL-14")
async def test_lines_arrive_and_the_end_is_noticed() -> None:
    lines: list[bytes | TooLong] = []
    async with reading(lines) as (reader, other):
        other.write(b'{"a":1}\r\n\n' + b"x" * 1500 + b"\nla")
        other.write(b"st")
        other.close()
        async with asyncio.timeout(5):
            await reader.ended
    assert lines == [b'{"a":1}', TooLong(b"x" * HEAD_BYTES), b"last"]


@requirement("WIRE-06", "AC-12")
async def test_each_message_is_one_line_whatever_is_inside() -> None:
    async with writing() as (writer, other):
        writer.write(b'{"a":1}')
        writer.write(b'{"pretty":\r\n  [1,\n2]}')
        assert writer.unread() > 0
        await writer.finish(1)
        assert taken(other) == b'{"a":1}\n{"pretty":    [1, 2]}\n'
        assert writer.unread() == 0


@requirement("WIRE-08", "SHELL-12")
async def test_who_does_not_read_is_not_read_from() -> None:
    """Above the bound lines wait, and go on in order once there is room again."""
    lines: list[bytes | TooLong] = []
    async with writing() as (writer, other), reading(lines) as (reader, source):
        writer.throttle(reader)
        for _ in range(40):
            writer.write(b"x" * 65_536)
        await turns(lambda: writer.unread() > PAUSE_READING_ABOVE)
        source.write(b"one\ntwo\n")
        for _ in range(20):
            await asyncio.sleep(0)
        assert lines == []
        async with asyncio.timeout(5):
            while len(lines) < 2:
                assert await asyncio.to_thread(os.read, other, 65_536)
        assert lines == [b"one", b"two"]
        os.close(other)


@requirement("SHELL-14")
async def test_a_reader_that_is_gone_breaks_nothing() -> None:
    async with writing() as (writer, other):
        os.close(other)
        async with asyncio.timeout(5):
            while not writer.broken.done():
                writer.write(b"anyone?")
                await asyncio.sleep(0)
        writer.write(b"anyone?")
        assert writer.unread() == 0


async def reports(call: Call) -> Reply:
    call.talk.progress(1, 2)
    call.talk.progress(2, 2)
    return Reply.text("done")


REPORTING = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__reports","_meta":{"progressToken":7}}}',
)


def reporting(written: list[bytes]) -> PipeCaller:
    caller = PipeCaller(serving(Demo().add("reports", reports)), Caller(), written.append)
    for line in REPORTING:
        caller.accept(line)
    return caller


@requirement("RES-11")
async def test_an_answer_goes_out_a_moment_after_the_progress_of_its_call() -> None:
    """The official TypeScript clients drop the progress that they read together with the answer."""
    written: list[bytes] = []
    caller = reporting(written)
    await turns(lambda: len(written) == 4)
    assert [b"progressToken" in message for message in written] == [False, True, True, False]
    caller.close()


@requirement("RES-11", "SHELL-14")
async def test_an_answer_that_waits_behind_progress_is_written_before_we_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "HOLD_SECONDS", 3600)
    written: list[bytes] = []
    caller = reporting(written)
    await caller.running.drain(1)
    assert [b"progressToken" in message for message in written] == [False, True, True]
    caller.close()
    assert b"done" in written[-1]


@requirement("SHELL-01", "WIRE-06", "WIRE-21")
async def test_a_provider_may_answer_in_pretty_json() -> None:
    async def pretty(call: Call) -> Reply:
        return Reply(b'{\n  "content": [\r\n {"type": "text", "text": "a\\nb"}\n  ]\n}')

    async with writing() as (writer, other):
        caller = PipeCaller(serving(Demo().add("pretty", pretty)), Caller(), writer.write, writer.unread)
        for line in (
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo__pretty"}}',
        ):
            caller.accept(line)
        await caller.running.drain(1)
        caller.close()
        await writer.finish(1)
        lines = taken(other).splitlines()
    assert len(lines) == 2
    assert b'"text": "a\\nb"' in lines[1]
