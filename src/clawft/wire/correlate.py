"""Matches answers to open requests by id. Ids grow and are never reused, and an answer is delivered once. Pure."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from clawft.errors import ClawftError
from clawft.wire.jsonrpc.messages import NULL

Slot = TypeVar("Slot")
Answer = TypeVar("Answer")
Answer_contra = TypeVar("Answer_contra", contravariant=True)

MAX_GIVEN_UP = 256
"""Requests nobody waits for any more whose answers are still expected; the oldest are forgotten first."""


class Waiter(Protocol[Answer_contra]):
    """Whoever wants to know the answer to one request, told once. A future is one."""

    def done(self) -> bool: ...

    def set_result(self, answer: Answer_contra, /) -> None: ...

    def set_exception(self, error: ClawftError, /) -> None: ...


class OpenRequests(Generic[Slot]):
    """Open requests by their id. Unknown and second answers are counted, late ones are not: none is delivered."""

    def __init__(self, after: int = 0) -> None:
        """The first id is the one `after` this number."""
        self._slots: dict[bytes, Slot] = {}
        self._after = self._last = after
        self._given_up: dict[bytes, None] = {}
        self.dropped = 0
        """How many answers came to no request of ours."""

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def settled(self) -> int:
        """How many have been answered, or given up."""
        return self._last - self._after - len(self._slots)

    def open(self, slot: Slot) -> int:
        self.open_as(slot)
        return self._last

    def open_as(self, slot: Slot) -> bytes:
        """The id of a new request, as it stands in a message. The slot gets its answer."""
        self._last += 1
        id = b"%d" % self._last
        self._slots[id] = slot
        return id

    def take(self, id: bytes) -> Slot | None:
        """The waiter of this answer, exactly once."""
        slot = self._slots.pop(id, None)
        if slot is None:
            self._drop(id)
        return slot

    def take_failed(self, id: bytes) -> Slot | None:
        """The waiter of this error. One without an id is about the only open request, if there is but one."""
        return self.drain()[0] if id == NULL and len(self._slots) == 1 else self.take(id)

    def close(self, id: int | bytes) -> None:
        """Nobody waits any more; a late answer will be dropped, and is no fault of whoever gives it."""
        id = id if isinstance(id, bytes) else b"%d" % id
        if self._slots.pop(id, None) is not None:
            self._given_up[id] = None
            if len(self._given_up) > MAX_GIVEN_UP:
                del self._given_up[next(iter(self._given_up))]

    def _drop(self, id: bytes) -> None:
        if id in self._given_up:
            del self._given_up[id]
        else:
            self.dropped += 1

    def drain(self) -> list[Slot]:
        """The link is gone: take out everyone who waits."""
        slots = list(self._slots.values())
        self._slots.clear()
        return slots


class OpenAnswers(OpenRequests[Waiter[Answer]]):
    """Requests whose answers are waited for by somebody, who may have gone meanwhile."""

    def fill(self, id: bytes, answer: Answer) -> bool:
        """False if nobody waits for it."""
        waiter = self.take(id)
        if waiter is None or waiter.done():
            return False
        waiter.set_result(answer)
        return True

    def fail(self, id: bytes, error: ClawftError) -> bool:
        """Whoever waits for this answer waits for no other. False if nobody does."""
        waiter = self.take(id)
        if waiter is None or waiter.done():
            return False
        waiter.set_exception(error)
        return True

    def fail_all(self, error: ClawftError) -> None:
        """Fail everyone who waits: no more answers will come."""
        for waiter in self.drain():
            if not waiter.done():
                waiter.set_exception(error)
