"""What came out of a function that is not ours: its own failure, or the end of the task it ran in?

A function may let out whatever there is. That something it waited for was cancelled, say, is everyday work in asyncio,
and looks like the cancelling of the call; and some libraries leave by exceptions that no `except Exception` sees.
"""

import asyncio
from typing import Any

from clawft.model import RunEnded


def is_failure(ended: BaseException) -> bool:
    """True if the call has failed and all else goes on; what is none has to be raised again."""
    if isinstance(ended, Exception | SystemExit):
        return True
    if isinstance(ended, KeyboardInterrupt | RunEnded):
        return False
    me = _current_task()
    if me is None:
        return False  # nobody runs us any more: what waited here is thrown away
    return not (isinstance(ended, asyncio.CancelledError) and me.cancelling())


def failure_text(failure: BaseException) -> str:
    """Its class, and its message where it has one."""
    kind = type(failure).__name__
    said = str(failure) or ("something it waited for was cancelled" if _is_cancelling(failure) else "")
    return f"{kind}: {said}" if said else kind


def _is_cancelling(failure: BaseException) -> bool:
    return isinstance(failure, asyncio.CancelledError)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
