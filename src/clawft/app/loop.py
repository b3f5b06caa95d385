"""The event loop of the process, and the signals that end it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from clawft.errors import ClawftError

GC_THRESHOLDS = (10_000, 10, 5)
"""Calls make many short-lived objects and hardly any cycles: the default collects far too often. But not much more
seldom than this: memory held by cycles only grows.
"""

THREADS_SECONDS = 1.0
"""How long work in threads may still take when all else has ended."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C, which differs from that after SIGTERM."""

FEWEST_FILES = 32
MORE_FILES = "ulimit -n 1024"

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop if it is installed. Raises ClawftError if no loop can be made."""
    try:
        _check_open_files()
    except ClawftError:
        work.close()  # or Python would complain of it
        raise
    gc.freeze()  # objects made at start-up stay for good
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    try:
        import uvloop  # not on every system
    except ImportError:
        return asyncio.run(_with_own_threads(work))
    return uvloop.run(_with_own_threads(work))


async def _with_own_threads(work: Coroutine[Any, Any, T]) -> T:
    asyncio.get_running_loop().set_default_executor(LeavableThreads())
    return await work


class LeavableThreads(ThreadPoolExecutor):
    """The threads of the loop, which are not waited for at exit: a disk that hangs must not keep us."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        ends = time.monotonic() + THREADS_SECONDS
        for thread in self._threads if wait else ():
            thread.join(max(0.0, ends - time.monotonic()))


def _check_open_files() -> None:
    """Raises ClawftError if too few files may be open: the loop would fail with unclear errors."""
    if sys.platform == "win32":
        return
    most = os.sysconf("SC_OPEN_MAX")
    if 0 <= most < FEWEST_FILES:
        raise ClawftError(f"the system lets us open {most} files, and {FEWEST_FILES} are needed", hint=MORE_FILES)


def stop_signal(at_once: Callable[[], None] = lambda: None) -> asyncio.Future[int]:
    """Done at the first SIGTERM or SIGINT, or when our terminal closes, with the exit code for an orderly end.

    The second signal ends us at once, after `at_once`.
    """
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()

    def on_signal(number: int) -> None:
        if stop.done():
            at_once()
            threading.excepthook = _nobody_listens
            sys.exit(128 + number)
        stop.set_result(INTERRUPTED if number == signal.SIGINT else 0)

    for number in _ending():
        try:
            loop.add_signal_handler(number, on_signal, number)
        except NotImplementedError:  # Windows: Ctrl-C arrives as KeyboardInterrupt
            continue
    return stop


def _ending() -> Iterator[signal.Signals]:
    """The signals that end us. SIGHUP does not if we were started by `nohup`."""
    yield from (signal.SIGTERM, signal.SIGINT)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        yield signal.SIGHUP


def _nobody_listens(ended: threading.ExceptHookArgs) -> None:
    """Ignores exceptions in threads that outlive the loop when we end at once."""
