"""A line that came alone is answered at once; lines that come together are answered together."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from clawft.link.direct_write import LONGEST, write_directly
from clawft.link.line_reader import LineReader
from clawft.link.line_writer import LineWriter
from clawft.wire.framing import TooLong
from tests.gateway.support import turns
from tests.requirements import requirement

Answer = Callable[[LineWriter, bytes], None]


class Beside:
    """Both pipes of somebody who answers each line while it is handed over, and what was out before that ended."""

    def __init__(self, answer: Answer) -> None:
        self._source, self.into = os.pipe()
        self.out, self._sink = os.pipe()
        os.set_blocking(self.out, False)
        self.writer = LineWriter()
        self._answer = answer
        self.seen: list[bytes] = []
        self.whole = b""

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._output, _ = await loop.connect_write_pipe(lambda: self.writer, os.fdopen(self._sink, "wb", 0))
        self.writer.attach(self._output)
        reader = LineReader(self._accept)
        self._input, _ = await loop.connect_read_pipe(lambda: reader, os.fdopen(self._source, "rb", 0))

    def _accept(self, line: bytes | TooLong) -> None:
        assert isinstance(line, bytes)
        self._answer(self.writer, line)
        self.seen.append(self.read())

    def read(self) -> bytes:
        try:
            found = os.read(self.out, 1_000_000)
        except BlockingIOError:
            return b""
        self.whole += found
        return found

    def read_on(self) -> bytes:
        """All there was until now."""
        self.read()
        return self.whole

    async def say(self, lines: bytes, answers: int) -> bytes:
        """What has not been read before so many lines were answered."""
        os.write(self.into, lines)
        await turns(lambda: len(self.seen) >= answers)
        for _ in range(20):
            await asyncio.sleep(0)
        return self.read()

    def close(self) -> None:
        for transport in (self._output, self._input):
            transport.close()
        for descriptor in (self.into, self.out):
            os.close(descriptor)


@asynccontextmanager
async def beside(answer: Answer) -> AsyncGenerator[Beside]:
    both = Beside(answer)
    await both.open()
    try:
        yield both
    finally:
        both.close()


def echo(writer: LineWriter, line: bytes) -> None:
    writer.write(line)


@requirement("LINK-04")
async def test_the_answer_to_a_lone_line_does_not_wait_for_the_rest_of_the_turn() -> None:
    async with beside(echo) as both:
        assert await both.say(b"one\n", 1) == b""
        assert both.seen == [b"one\n"]


@requirement("LINK-04")
async def test_answers_to_lines_that_came_together_are_written_together() -> None:
    async with beside(echo) as both:
        assert await both.say(b"one\ntwo\nthree\n", 3) == b"one\ntwo\nthree\n"
        assert both.seen == [b"", b"", b""]


def twice(writer: LineWriter, line: bytes) -> None:
    writer.write(line + b" 1")
    writer.write(line + b" 2")


@requirement("LINK-04", "WIRE-06")
async def test_what_follows_the_first_answer_is_collected_and_comes_after_it() -> None:
    async with beside(twice) as both:
        assert await both.say(b"one\n", 1) == b"one 2\n"
        assert both.seen == [b"one 1\n"]


@requirement("WIRE-06", "AC-12")
async def test_a_lone_answer_is_one_line_whatever_is_inside() -> None:
    async with beside(lambda writer, line: writer.write(b"pretty\r\n" + line)) as both:
        await both.say(b"one\n", 1)
        assert both.seen == [b"pretty  one\n"]


@requirement("LINK-04")
@pytest.mark.parametrize("first", [b"x" * LONGEST, b"x" * 300_000])
async def test_a_large_answer_and_the_one_behind_it_keep_their_order(first: bytes) -> None:
    """The second would find room in the pipe, while the first waits in the transport."""
    answers = [first, b"small"]
    async with beside(lambda writer, line: writer.write(answers.pop(0))) as both:
        os.write(both.into, b"one\n")
        await turns(lambda: both.seen)
        os.write(both.into, b"two\n")
        await turns(lambda: both.read_on().endswith(b"small\n"))
        assert both.whole == first + b"\nsmall\n"


@requirement("SHELL-14")
async def test_nothing_is_written_to_a_pipe_that_was_closed() -> None:
    """Its number may be another file's by then."""
    source, sink = os.pipe()
    other = os.dup(sink)
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(LineWriter, os.fdopen(sink, "wb", 0))
    assert write_directly(b"one\n", other, transport)
    transport.abort()
    assert not write_directly(b"two\n", other, transport)
    os.close(other)
    async with asyncio.timeout(5):
        assert await asyncio.to_thread(os.read, source, 100) == b"one\n"
        assert await asyncio.to_thread(os.read, source, 100) == b""
    os.close(source)
