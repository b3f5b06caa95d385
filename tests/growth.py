"""How the time of something grows with its size: seen on a busy machine too, because only our own time is counted."""

import gc
import time
from collections.abc import Callable

FACTOR = 4
SLACK = 2
"""Linear is `FACTOR` times the time, quadratic `FACTOR` times that; between the two is room for caches and chance."""
UNSEEN_S = 0.002
"""Below this a clock says nothing."""
TRIES = 6


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether `FACTOR` times as much takes about `FACTOR` times as long; one try that shows it is proof enough."""
    work(size)
    return any(_is_linear(work, size) for _ in range(TRIES))


def _is_linear(work: Callable[[int], object], size: int) -> bool:
    """The small one is tried twice: too long a time of it would prove what is not so, one of the large cannot."""
    small = min(_seconds(work, size) for _ in range(2))
    return _seconds(work, size * FACTOR) <= max(small, UNSEEN_S) * FACTOR * SLACK


def _seconds(work: Callable[[int], object], size: int) -> float:
    """Of this process alone, without the collector: that looks through whatever other tests have left, too."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work(size)
        return time.process_time() - began
    finally:
        gc.enable()
