"""Runs a builder's process and passes on its output line by line."""

import re
from collections.abc import Callable

from msgspec import Struct

from clawft.builtin import process
from clawft.builtin.process import ProcessStart

MAX_LINE_BYTES = 1024 * 1024
"""The longest line that is kept whole; of a longer one the beginning is kept."""

Hear = Callable[[str], None]
"""Called with each line, without its end."""

_END = re.compile(rb"\r\n|\n|\r")


class BuilderExit(Struct, frozen=True):
    exit_code: int | None
    """None if it was ended by a signal."""
    timed_out: bool = False


async def run_lines(start: ProcessStart, stdout: Hear, stderr: Hear, secret: str = "") -> BuilderExit:
    """Run to the end, with `secret` masked in every line. Raises OSError if it cannot be started."""
    out, err = LineCutter(stdout, secret), LineCutter(stderr, secret)
    try:
        ended = await process.run(start, out.add, err.add)
    finally:
        out.end()
        err.end()
    by_signal = ended.timed_out or ended.status < 0  # at its deadline we sent it a signal, even if a cell reports 143
    return BuilderExit(None if by_signal else ended.status, ended.timed_out)


class LineCutter:
    """Cuts a stream into lines. A carriage return ends one too, as progress bars are drawn with it."""

    def __init__(self, hear: Hear, secret: str = "") -> None:
        self._hear = hear
        self._secret = secret
        self._line = bytearray()
        self._held = b""
        """A carriage return at the very end, whose line feed may still come."""

    def add(self, data: bytes) -> None:
        data = self._held + data
        self._held = b"\r" if data.endswith(b"\r") else b""
        first, *others = _END.split(data.removesuffix(b"\r"))
        self._grow(first)
        for piece in others:
            self._tell()
            self._grow(piece)

    def end(self) -> None:
        if self._line:
            self._tell()

    def _grow(self, piece: bytes) -> None:
        self._line += piece[: MAX_LINE_BYTES - len(self._line)]

    def _tell(self) -> None:
        text = self._line.decode("utf-8", "replace")
        self._line.clear()
        self._hear(text.replace(self._secret, "[secret]") if self._secret else text)
