"""Tells failures of a foreign function from the end of the task it ran in.

A function may raise anything. A cancelled future it waited for, for instance, is common in asyncio and looks like the
cancelling of the call; and some libraries raise what `except Exception` does not catch.
"""

import asyncio
from typing import Any

from clawft.model import RunEnded


def is_failure(ended: BaseException) -> bool:
    """True if only the call has failed; otherwise the exception has to be raised again."""
    if isinstance(ended, Exception | SystemExit):
        return True
    if isinstance(ended, KeyboardInterrupt | RunEnded):
        return False
    me = _current_task()
    if me is None:
        return False  # nobody runs this coroutine any more: it is being closed
    return not (isinstance(ended, asyncio.CancelledError) and me.cancelling())


def failure_text(failure: BaseException) -> str:
    """The class of the exception, and its message if it has one."""
    kind = type(failure).__name__
    text = str(failure) or ("something it waited for was cancelled" if _is_cancelling(failure) else "")
    return f"{kind}: {text}" if text else kind


def _is_cancelling(failure: BaseException) -> bool:
    return isinstance(failure, asyncio.CancelledError)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
