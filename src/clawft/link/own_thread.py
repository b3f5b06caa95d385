"""Work that may block for as long as a stranger likes: in a thread of its own, which nobody waits for at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


def _nothing() -> None:
    pass


async def apart(work: Callable[[], T], name: str, over: Callable[[], None] = _nothing) -> T:
    """What the work gives, or raises. `over` is called when it has ended, even if nobody waits any more."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            told = partial(done.set_result, work())
        except Exception as failed:  # noqa: BLE001 - whoever waits is told, whatever it is
            told = partial(done.set_exception, failed)
        try:
            loop.call_soon_threadsafe(end, told)
        except RuntimeError:  # the loop has ended meanwhile
            over()

    def end(told: Callable[[], None]) -> None:
        over()
        if not done.done():
            told()

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done
