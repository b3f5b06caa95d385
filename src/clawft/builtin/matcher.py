"""Runs a regular expression in a child process, which is killed when its time is up: patterns can hang."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from clawft.errors import ExecutionFailed, InvalidArguments

CHILD = Path(__file__).with_name("matcher_child.py")


class FoundLine(NamedTuple):
    number: int
    """The number of the line, from 0."""
    start: int
    """The offset of its first byte."""


class Matcher:
    """A child that matches a pattern: `with Matcher(pattern, limit, seconds) as find_lines: find_lines(content)`.

    All calls together have `seconds`; then the child is killed and the search fails with a message that says so.
    """

    def __init__(self, pattern: str, limit: int, seconds: float) -> None:
        self._pattern = pattern
        self._limit = limit
        self._seconds = seconds

    def __enter__(self) -> "Matcher":
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(CHILD), str(self._limit + 1), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        )
        self._clock = threading.Timer(self._seconds, self._child.kill)
        self._clock.daemon = True
        self._clock.start()
        try:
            self(self._pattern.encode())
        except BaseException:
            self._end()
            raise
        return self

    def __call__(self, content: bytes) -> list[FoundLine]:
        try:
            answer = self._ask(content)
        except BrokenPipeError:
            answer = b""
        if answer.startswith(b"!"):
            raise InvalidArguments(f"search: the pattern is wrong: {answer[1:].decode().strip()}")
        if not answer.endswith(b"\n"):
            raise self._lost()
        numbers = iter(map(int, answer.split()))
        return [FoundLine(number, start) for number, start in zip(numbers, numbers, strict=True)]

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _ask(self, content: bytes) -> bytes:
        to, back = self._pipes()
        to.write(len(content).to_bytes(4, "big"))
        to.write(content)
        to.flush()
        return back.readline()

    def _lost(self) -> ExecutionFailed:
        if self._clock.is_alive():
            return ExecutionFailed("search: the process that matches the pattern ended by itself")
        reason = f"search: the pattern took longer than {self._seconds:g} s"
        return ExecutionFailed(reason, hint="simplify it, or name a folder or a glob")

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        to, back = self._child.stdin, self._child.stdout
        if to is None or back is None:
            raise ExecutionFailed("search: the child process has no pipes")
        return to, back

    def _end(self) -> None:
        self._clock.cancel()
        self._child.kill()
        self._child.wait()
        to, back = self._pipes()
        back.close()
        try:
            to.close()
        except BrokenPipeError:
            pass  # what was still buffered for a killed child
