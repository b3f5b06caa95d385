"""How the C library gives memory back to the system: by default at once, and every large message asks for it again."""

from __future__ import annotations

import sys
from functools import cache

KEEP_BYTES = 4 * 1024 * 1024
"""Free memory that stays ours."""
LARGE_BLOCK = 2 * 1024 * 1024
"""From this size on a block is fetched from the system by itself, and leaves no hole behind."""

_TRIM_THRESHOLD = -1  # the numbers of mallopt(3)
_MMAP_THRESHOLD = -3


@cache
def keep_large_blocks() -> None:
    """Once, with the first large message: they then cost a third less. Only glibc knows this; elsewhere nothing."""
    if sys.platform != "linux":
        return
    import ctypes  # dear at start, and most programs never see a large message

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_TRIM_THRESHOLD, KEEP_BYTES)
    mallopt(_MMAP_THRESHOLD, LARGE_BLOCK)
