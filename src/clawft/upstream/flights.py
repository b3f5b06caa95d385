"""Calls in flight at one server, and which of them a question of the server belongs to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from clawft.errors import RequestTimeout
from clawft.link.deadline import Deadline
from clawft.model import Call, Question

UNCLEAR = "unclear"
"""Several agents have calls in flight, and nothing tells which of them the question is for."""
GIVEN_UP = (asyncio.CancelledError, RequestTimeout)
"""How a call ends that its caller or its deadline has given up."""
LEFT_SECONDS = 60.0
"""How long a server may still want to know something for a call that was given up."""
MAX_LEFT = 64
"""People of whom that is remembered."""


class QuestionTaker(Protocol):
    async def ask(self, question: Question) -> Mapping[str, Any]: ...


class Flight(Deadline):
    """One call at the server, and how long it may take. Hardly any call is ever asked something: until then all that
    is known of its questions stands in the class.
    """

    asked = 0
    """All questions it ever had."""
    waiting = 0
    """The questions that are open."""
    guessed = False
    """Whether some question was ascribed to it only because all calls in flight were of the same agent."""
    opened: QuestionTaker | None = None
    """Holds the call open while its agent answers with a later request."""
    answering: set[asyncio.Future[Any] | None] | None = None
    """The tasks that answer its questions."""
    taken_over_by: Flight | None = None
    """The call that has taken over its open questions."""

    def __init__(self, call: Call, what: str, seconds: float, hard_seconds: float | None = None) -> None:
        self.call = call
        self._what = what
        self._seconds = seconds
        self._hard = hard_seconds or seconds

    @property
    def conversation(self) -> tuple[str, str, str]:
        """The key that tells agents apart; without a session, the name their client gives."""
        caller = self.call.caller
        return caller.principal, caller.session, caller.client

    def finish_questions(self, others: Collection[Flight]) -> None:
        """The call is over: cancel its questions, or hand those that may be another call's to that call."""
        successor = self.successor(others)
        for task in tuple(self.answering or ()):
            if task is None or task.done():
                continue
            if successor is None:
                task.cancel()
            else:
                self.taken_over_by = successor
                successor.take_over(task)

    def successor(self, others: Collection[Flight]) -> Flight | None:
        """A call of the same agent to which a question may belong that was ascribed to this one."""
        if not self.guessed:
            return None
        same = (flight for flight in others if flight.conversation == self.conversation)
        return next((flight for flight in same if (flight.opened is None) == (self.opened is None)), None)

    def take_over(self, answering: asyncio.Future[Any]) -> None:
        """Take over a question of another call. The deadline stands still until it is answered."""
        self.guessed = True
        self.answering = {*(self.answering or ()), answering}
        self.waiting += 1
        self.hold()
        answering.add_done_callback(self._answered)

    def _answered(self, _: object) -> None:
        self.waiting -= 1
        self.release()


class AbandonedCalls:
    """The people whose calls were given up lately: their servers may still ask something for one."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def note(self, flight: Flight) -> None:
        person = flight.conversation[0]
        self._until.pop(person, None)
        self._until[person] = time.monotonic() + LEFT_SECONDS
        if len(self._until) > MAX_LEFT:
            del self._until[next(iter(self._until))]

    def people(self) -> set[str]:
        now = time.monotonic()
        return {person for person, until in self._until.items() if until > now}


def whose(flights: Collection[Flight], stream: int | None, left: Collection[str] = ()) -> Flight | str | None:
    """The call a question belongs to: UNCLEAR if that cannot be told, None if to none.

    The stream it came on says it. Without one (a pipe has none) it must come from one agent: which of its calls it is
    then matters little, as the same agent answers. Calls that wait for an answer already are not the first to ask
    again; but a question is never shown to another person for that reason, nor because the call of the one it was for
    was given up: `left` are people of whom that is so.
    """
    if stream is not None:
        return next((flight for flight in flights if flight.stream == stream), None)
    if flights and len({flight.conversation[0] for flight in flights}.union(left)) > 1:
        return UNCLEAR
    moving = [flight for flight in flights if not flight.waiting] or list(flights)
    if len({flight.conversation for flight in moving}) > 1:
        return UNCLEAR
    return moving[0] if moving else None
