"""What a provider says that it has: nothing if it breaks while it is asked, so that the others' are not hidden."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
log = logging.getLogger("clawft.gateway")


def listed_by(owner: str, things: str, ask: Callable[[], Sequence[T]]) -> tuple[T, ...]:
    try:
        return tuple(ask())
    except (Exception, SystemExit):
        log.exception("the provider %s could not list its %s", owner, things)
        return ()
