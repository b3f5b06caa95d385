"""How much load, and what came of it: the words both load generators share."""

import time
from statistics import median
from typing import Any, Protocol

from msgspec import Struct

ANSWER_S = 30.0
"""No answer for so long means there will be none. FastMCP with 20 servers needs some seconds for one."""
WARM_S = 0.3


class Bound(Struct, frozen=True):
    """A burst ends at whichever comes first; what is in flight then is still waited for."""

    calls: int
    seconds: float


class Burst(Struct, frozen=True):
    calls: int
    seconds: float
    p50_us: float


class Client(Protocol):
    """A way to talk to one contender."""

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of one request."""
        ...

    def warm(self, window: int) -> None:
        """Get ready for `window` calls in flight, so that nothing but calls falls into the burst."""
        ...

    def burst(self, window: int, bound: Bound) -> Burst:
        """Keep `window` calls in flight; every answer is checked."""
        ...

    def close(self) -> None: ...


class Flight:
    """The calls in flight and how long each took."""

    def __init__(self, first_id: int, window: int, bound: Bound) -> None:
        self.first_id = first_id
        self.sent = 0
        self.window = window
        self.bound = bound
        self.since: dict[int, float] = {}
        self.took: list[float] = []
        self.began = time.perf_counter()

    def free(self) -> int:
        """How many more calls may start now."""
        if time.perf_counter() - self.began >= self.bound.seconds:
            return 0
        return min(self.window - len(self.since), self.bound.calls - self.sent)

    def start(self) -> int:
        """One more call: its id."""
        id = self.first_id + self.sent
        self.sent += 1
        self.since[id] = time.perf_counter()
        return id

    def land(self, id: int, now: float) -> bool:
        """False if nobody waits for this id."""
        began = self.since.pop(id, None)
        if began is None:
            return False
        self.took.append(now - began)
        return True

    def result(self) -> Burst:
        return Burst(len(self.took), time.perf_counter() - self.began, median(self.took) * 1e6)
