"""Follows the state of a server's task, for an agent that follows its call as a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from clawft.errors import ClawftError, JsonRpcFailure, ProtocolFailure
from clawft.model import BackgroundTalk, Call
from clawft.upstream.interest.interest import Interest
from clawft.wire import tasks

POLL_SECONDS = 0.5
SHORTEST_POLL_SECONDS = 0.02
LONGEST_POLL_SECONDS = 5.0
LAST_LOOK_SECONDS = 1.0
"""Time for a server to report how its task has ended, after its result."""

Look = Callable[[], Awaitable[bytes]]
"""Asks the server for the task."""


def is_background(call: Call) -> bool:
    return isinstance(call.talk, BackgroundTalk)


def wish(call: Call) -> dict[str, int]:
    """How long a server of 2025-11-25 is asked to keep its task."""
    talk = call.talk
    return {"ttl": talk.wished_ms} if isinstance(talk, BackgroundTalk) and talk.wished_ms is not None else {}


def tell(call: Call, shape: bytes) -> None:
    """Report the state, which was decoded before, to an agent that follows the call."""
    if isinstance(call.talk, BackgroundTalk):
        call.talk.stands(tasks.standing(shape))


def pause(shape: bytes) -> float:
    """Seconds until the task is asked for again."""
    poll_ms = tasks.standing(shape).poll_ms
    return min(max(POLL_SECONDS if poll_ms is None else poll_ms / 1000, SHORTEST_POLL_SECONDS), LONGEST_POLL_SECONDS)


@asynccontextmanager
async def followed(call: Call, interest: Interest, shape: bytes, look: Look) -> AsyncGenerator[None]:
    """While the result of a 2025-11-25 task is awaited, report its state: as notified, as polled, and at the end."""
    news = _News(call, shape, look)
    release = interest.watch(interest.tasks, news.id, news.hear)
    asking = asyncio.get_running_loop().create_task(news.keep_asking())
    try:
        yield
        await news.ask_at_last()
    except JsonRpcFailure:
        await news.ask_at_last()
        raise
    finally:
        release()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


class _News:
    def __init__(self, call: Call, shape: bytes, look: Look) -> None:
        self.id = tasks.read(shape).task_id
        self._call = call
        self._look = look
        self._shape = shape
        self.hear(shape)

    def hear(self, shape: bytes) -> None:
        """Report a new state; states of other tasks are ignored."""
        try:
            tasks.read(shape, self.id)
        except ProtocolFailure:
            return
        self._shape = shape
        tell(self._call, shape)

    async def keep_asking(self) -> None:
        """Poll until the task is over."""
        try:
            while not self._is_over():
                await asyncio.sleep(pause(self._shape))
                self.hear(await self._look())
        except ClawftError:
            return  # the result is awaited all the same

    async def ask_at_last(self) -> None:
        if self._is_over():
            return
        try:
            async with asyncio.timeout(LAST_LOOK_SECONDS):
                self.hear(await self._look())
        except (TimeoutError, ClawftError):
            return  # the result is there without it

    def _is_over(self) -> bool:
        return tasks.standing(self._shape).status in tasks.FINAL
