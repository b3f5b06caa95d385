"""Calls in flight at one server, and the decision whose question a question is. The decision is pure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from clawft.link.patience import Patience
from clawft.model import Call, Question

UNCLEAR = "unclear"
"""Several agents have calls in flight, and nothing tells whose question this is."""


class Opened(Protocol):
    async def ask(self, question: Question) -> Mapping[str, Any]: ...


class Flight:
    """One call at the server. `waiting` counts its open questions, `asked` all it ever had."""

    __slots__ = ("answering", "asked", "call", "opened", "patience", "waiting")

    def __init__(self, call: Call, patience: Patience) -> None:
        self.call = call
        self.patience = patience
        self.asked = 0
        self.waiting = 0
        self.opened: Opened | None = None
        """Who holds the call open while its agent answers with a later request."""
        self.answering: set[asyncio.Task[Any] | None] | None = None
        """Whoever answers its questions; made with the first, as hardly any call has one."""

    @property
    def conversation(self) -> tuple[str, str]:
        return self.call.caller.principal, self.call.caller.session

    def land(self) -> None:
        """The call is over: what it asked is no longer of interest."""
        for task in tuple(self.answering or ()):
            if task is not None:
                task.cancel()


def whose(flights: Collection[Flight], stream: int | None) -> Flight | str | None:
    """The call a question belongs to: UNCLEAR if that cannot be told, None if to none.

    The stream it came on says it. Without one (a pipe has none) it must come from one agent: which of its calls it is
    then matters little, as the same agent answers. Calls that wait for an answer already are not the first to ask
    again; but a question is never shown to another person for that reason.
    """
    if stream is not None:
        return next((flight for flight in flights if flight.patience.stream == stream), None)
    if len({flight.conversation[0] for flight in flights}) > 1:
        return UNCLEAR
    moving = [flight for flight in flights if not flight.waiting] or list(flights)
    if len({flight.conversation for flight in moving}) > 1:
        return UNCLEAR
    return moving[0] if moving else None
