"""The result of a tool, shown to a person; and the one line on stderr that says a call is still running."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from clawft.cli.screen import is_terminal, one_line, paint, safe, tell_for_now, width
from clawft.cli.screen.table import cut
from clawft.model import LogLevel, SilentTalk
from clawft.provider import texts

QUIET_SECONDS = 1.0
"""A faster call shows no progress line."""
TICK_SECONDS = 0.2
PROGRESS_WANTED = b'{"progressToken":"weft"}'
"""The member of a request that asks for progress. Servers that report it have more time for their answer."""

T = TypeVar("T")


def texts_of(content: Sequence[Mapping[str, Any]], structured: Any = None) -> Iterator[str]:
    """One text per content block; what is no text is summarised."""
    return texts.texts_of(content, structured, "; --json shows all of it")


def print_text(text: str, *, error: bool = False) -> None:
    """As it is into a pipe; at a terminal without anything that could steer it, an error broken between words."""
    stream = sys.stderr if error else sys.stdout
    shown = safe(text) if stream.isatty() else text
    if error:
        from clawft.cli.screen.paragraph import folded  # only if something went wrong

        shown = folded(shown, width(stream))
    print(shown, file=stream, end="" if shown.endswith("\n") else "\n")


class WaitingTalk(SilentTalk):
    """A Talk that shows progress on stderr, on one line that is gone when the call ends. Questions are declined.

    `quiet`: nothing is shown, as in a pipe.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._is_seen = is_terminal(sys.stderr) and not quiet
        self._said = ""
        self._shown = False
        self._paused = False
        self._started = time.monotonic()

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        share = f"{progress / total:.0%}" if total else f"{progress:g}"
        self._said = f", {share} {one_line(message)}"

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        if self._is_seen:
            self._clear()
            text = data if isinstance(data, str) else msgspec.json.encode(data, enc_hook=str).decode()
            print(paint(f"{level}: {one_line(text)}", "dim", sys.stderr), file=sys.stderr)

    async def during(self, work: Awaitable[T]) -> T:
        """Wait for the work, ticking meanwhile if somebody is looking."""
        if not self._is_seen:
            return await work
        ticking = asyncio.create_task(self._tick())
        try:
            return await work
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})
            self._clear()

    def pause(self) -> None:
        """Clear the line and show nothing until `resume`, while a person reads something else."""
        self._clear()
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    async def _tick(self) -> None:
        await asyncio.sleep(QUIET_SECONDS)
        while True:
            if self._paused:
                await asyncio.sleep(TICK_SECONDS)
                continue
            seconds = time.monotonic() - self._started
            line = f"{self._what} … {seconds:.0f} s{self._said}".rstrip()
            tell_for_now(cut(line, width(sys.stderr) - 1))
            self._shown = True
            await asyncio.sleep(TICK_SECONDS)

    def _clear(self) -> None:
        if self._shown:
            tell_for_now()
            self._shown = False
