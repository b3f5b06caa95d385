"""The life of a server as a table: everything that may happen, and nothing else."""

from __future__ import annotations

from enum import Enum

from clawft.errors import ClawftError


class State(Enum):
    DISABLED = "disabled"
    PENDING = "pending"
    CONNECTED = "connected"
    NEEDS_AUTH = "needs-auth"
    DEGRADED = "degraded"
    FAILED = "failed"


class Event(Enum):
    ENABLE = "enable"
    OPENED = "opened"
    MISSED = "missed"
    RECOVERED = "recovered"
    LOST = "lost"
    RESTED = "rested"
    """Closed because it was idle and its place was wanted; the next call opens it again."""
    CHALLENGED = "challenged"
    GAVE_UP = "gave up"
    DISABLE = "disable"


MOVES = {
    State.DISABLED: {Event.ENABLE: State.PENDING, Event.DISABLE: State.DISABLED},
    State.PENDING: {
        Event.OPENED: State.CONNECTED,
        Event.LOST: State.PENDING,
        Event.RESTED: State.PENDING,
        Event.CHALLENGED: State.NEEDS_AUTH,
        Event.GAVE_UP: State.FAILED,
        Event.DISABLE: State.DISABLED,
    },
    State.CONNECTED: {
        Event.MISSED: State.DEGRADED,
        Event.RECOVERED: State.CONNECTED,
        Event.LOST: State.PENDING,
        Event.RESTED: State.PENDING,
        Event.CHALLENGED: State.NEEDS_AUTH,
        Event.DISABLE: State.DISABLED,
    },
    State.DEGRADED: {
        Event.MISSED: State.DEGRADED,
        Event.RECOVERED: State.CONNECTED,
        Event.LOST: State.PENDING,
        Event.RESTED: State.PENDING,
        Event.CHALLENGED: State.NEEDS_AUTH,
        Event.DISABLE: State.DISABLED,
    },
    State.NEEDS_AUTH: {Event.ENABLE: State.PENDING, Event.DISABLE: State.DISABLED},
    State.FAILED: {Event.ENABLE: State.PENDING, Event.DISABLE: State.DISABLED},
}


class IllegalMove(ClawftError):
    """A bug of ours."""


def move(state: State, event: Event) -> State:
    try:
        return MOVES[state][event]
    except KeyError:
        raise IllegalMove(f"{state.value} cannot take {event.value}") from None
