"""News of a task: small ones at once, large ones beside the loop, and of many large ones the last."""

import asyncio
import threading
from functools import partial

from clawft.gateway.task.task_news import TaskNews
from clawft.link.share.large_messages import LARGE_WORK
from tests.requirements import requirement

pytestmark = requirement("RES-12", "QUAL-12")

PATIENCE_S = 20.0
LARGE = b"\xc3\xa9" * LARGE_WORK


class Listener:
    """Tells what it heard, and in which thread it was made ready."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.threads: list[threading.Thread] = []
        self.told = asyncio.Event()
        self.began, self.go_on = threading.Event(), threading.Event()
        self.retelling = TaskNews("server", partial(partial, self._finish), self._hear)

    def _finish(self, shape: bytes) -> bytes:
        self.threads.append(threading.current_thread())
        self.began.set()
        if len(shape) > LARGE_WORK:
            self.go_on.wait(PATIENCE_S)
        return shape[-1:]

    def _hear(self, shape: bytes) -> None:
        self.heard.append(shape)
        self.told.set()

    async def until_heard(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.heard) < count:
                self.told.clear()
                await self.told.wait()


async def test_small_news_are_told_at_once() -> None:
    listener = Listener()
    listener.retelling.hear(b"1")
    listener.retelling.hear(b"2")
    assert listener.heard == [b"1", b"2"]
    assert listener.threads == [threading.main_thread()] * 2


async def test_large_ones_are_made_ready_beside_the_loop_and_the_last_is_told_in_any_case() -> None:
    listener = Listener()
    listener.retelling.hear(LARGE + b"1")
    assert await asyncio.to_thread(listener.began.wait, PATIENCE_S)
    for shape in (LARGE + b"2", LARGE + b"3", b"4"):
        listener.retelling.hear(shape)
    assert listener.heard == []
    listener.go_on.set()
    await listener.until_heard(2)
    assert listener.heard == [b"1", b"4"]
    assert threading.main_thread() not in listener.threads
    listener.retelling.hear(b"5")
    assert listener.heard[-1] == b"5"


async def test_who_has_left_is_told_nothing() -> None:
    listener = Listener()
    listener.retelling.hear(LARGE)
    listener.retelling.end()
    listener.go_on.set()
    await asyncio.sleep(0)
    other = Listener()
    other.go_on.set()
    other.retelling.hear(LARGE)
    await other.until_heard(1)
    assert listener.heard == []
