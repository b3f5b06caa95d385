"""Lets functions in worker threads talk to the caller, by way of the event loop, which owns the connection."""

import asyncio
from collections.abc import Mapping
from typing import Any

from clawft.model import LogLevel, Question, Talk


class FromThread:
    """A Talk for a function in a worker thread. It cannot ask questions: waiting for answers takes an async tool."""

    __slots__ = ("_loop", "_talk")

    def __init__(self, talk: Talk, loop: asyncio.AbstractEventLoop) -> None:
        self._talk = talk
        self._loop = loop

    @property
    def level(self) -> str:
        return self._talk.level

    @property
    def carried(self) -> bytes:
        return self._talk.carried

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self._loop.call_soon_threadsafe(self._talk.progress, progress, total, message)

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        self._loop.call_soon_threadsafe(self._talk.log, level, data, logger)

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        raise RuntimeError("only an async tool can ask; write it as `async def`")

    def detach(self) -> None:
        self._talk.detach()  # touches no connection; if it ends the run, it must end the function that called it

    def hang_up(self, retry_ms: int) -> None:
        self._loop.call_soon_threadsafe(self._talk.hang_up, retry_ms)
