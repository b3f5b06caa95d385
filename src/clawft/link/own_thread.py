"""Blocking work that may never end: in a daemon thread of its own, so that nobody has to wait for it at exit.

Threads of a pool would not do: the program waits for them when it ends, and a few that hang would use them up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


def _nothing() -> None:
    pass


async def run_in_own_thread(work: Callable[[], T], name: str, ended: Callable[[], None] = _nothing) -> T:
    """The result of the work, or its error. `ended` is called when it has ended, even if nobody waits for
    it any more.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            resolve = partial(done.set_result, work())
        except Exception as failed:  # noqa: BLE001 - it is raised in whoever waits
            resolve = partial(done.set_exception, failed)
        try:
            loop.call_soon_threadsafe(finish, resolve)
        except RuntimeError:  # the loop has ended meanwhile
            ended()

    def finish(resolve: Callable[[], None]) -> None:
        ended()
        if not done.done():
            resolve()

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done
