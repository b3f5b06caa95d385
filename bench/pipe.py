"""The load generator for stdin and stdout."""

import os
import select
import time
from typing import Any

from bench.load import ANSWER_S, WARM_S, Bound, Burst, Flight
from bench.messages import FIRST_ID, INITIALIZED, Dialect, Question, WrongAnswer, initialize, request, result_of
from bench.process import Process

PIPE_BYTES = 65_536
"""What the kernel keeps in a pipe. More in flight could leave both sides waiting to write."""
READ_BYTES = 1 << 20
WARM_CALLS = 256


class Pipe:
    """Blocking and single-threaded; bounded by what fits into the pipe."""

    def __init__(self, process: Process, dialect: Dialect, question: Question) -> None:
        self._process = process
        self._dialect = dialect
        self._question = question
        self._to, self._from = process.pipe_fds
        self._ready = select.poll()
        self._ready.register(self._from, select.POLLIN)
        self._rest: list[bytes] = []
        self._next_id = FIRST_ID
        if not dialect.stateless:
            self.ask("initialize", initialize(dialect))
            self._write(INITIALIZED + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        id = self._next_id
        self._next_id += 1
        self._write(request(id, method, self._dialect.params(params)) + b"\n")
        while True:
            for line in self._lines():
                if (result := result_of(line, id)) is not None:
                    return result

    def warm(self, window: int) -> None:
        if window * self._question.size > PIPE_BYTES:
            raise ValueError(f"{window} calls of {self._question.size} bytes do not fit into a pipe")
        self.burst(window, Bound(calls=max(window, WARM_CALLS), seconds=WARM_S))

    def burst(self, window: int, bound: Bound) -> Burst:
        flight = Flight(self._next_id, window, bound)
        while True:
            free = flight.free()
            if free:
                self._write(b"".join([self._question.fill(flight.start()) + b"\n" for _ in range(free)]))
            if not flight.since:
                break
            self._land(flight)
        self._next_id += flight.sent
        return flight.result()

    def close(self) -> None:
        self._process.close_input()

    def _land(self, flight: Flight) -> None:
        lines = self._lines()
        now = time.perf_counter()
        for line in lines:
            id = self._question.answered(line)
            if id is not None and not flight.land(id, now):
                raise WrongAnswer(f"nobody waits for {line[:300]!r}")

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._to, left) :]
        except BrokenPipeError:
            raise self._process.lost("closed its input") from None

    def _lines(self) -> list[bytes]:
        """Whole lines, as soon as there is at least something to read."""
        if not self._ready.poll(ANSWER_S * 1000):
            raise self._process.lost(f"no answer within {ANSWER_S:g} s")
        chunk = os.read(self._from, READ_BYTES)
        if not chunk:
            raise self._process.lost("closed its output")
        self._rest.append(chunk)
        if b"\n" not in chunk:
            return []
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        return [line for line in lines if line]
