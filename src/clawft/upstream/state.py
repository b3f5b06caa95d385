"""The life of a server as a table: everything that may happen, and nothing else."""

from __future__ import annotations

from enum import Enum

from clawft.errors import ClawftError


class ServerState(Enum):
    DISABLED = "disabled"
    PENDING = "pending"
    CONNECTED = "connected"
    NEEDS_AUTH = "needs-auth"
    DEGRADED = "degraded"
    FAILED = "failed"


class ServerEvent(Enum):
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


DOWN = (ServerState.FAILED, ServerState.NEEDS_AUTH)
"""States of a server that nobody can use. It may be tried again all the same, and stays in one until that succeeds."""

MOVES = {
    ServerState.DISABLED: {ServerEvent.ENABLE: ServerState.PENDING, ServerEvent.DISABLE: ServerState.DISABLED},
    ServerState.PENDING: {
        ServerEvent.OPENED: ServerState.CONNECTED,
        ServerEvent.LOST: ServerState.PENDING,
        ServerEvent.RESTED: ServerState.PENDING,
        ServerEvent.CHALLENGED: ServerState.NEEDS_AUTH,
        ServerEvent.GAVE_UP: ServerState.FAILED,
        ServerEvent.DISABLE: ServerState.DISABLED,
    },
    ServerState.CONNECTED: {
        ServerEvent.MISSED: ServerState.DEGRADED,
        ServerEvent.RECOVERED: ServerState.CONNECTED,
        ServerEvent.LOST: ServerState.PENDING,
        ServerEvent.RESTED: ServerState.PENDING,
        ServerEvent.CHALLENGED: ServerState.NEEDS_AUTH,
        ServerEvent.DISABLE: ServerState.DISABLED,
    },
    ServerState.DEGRADED: {
        ServerEvent.MISSED: ServerState.DEGRADED,
        ServerEvent.RECOVERED: ServerState.CONNECTED,
        ServerEvent.LOST: ServerState.PENDING,
        ServerEvent.RESTED: ServerState.PENDING,
        ServerEvent.CHALLENGED: ServerState.NEEDS_AUTH,
        ServerEvent.DISABLE: ServerState.DISABLED,
    },
    ServerState.NEEDS_AUTH: {
        ServerEvent.ENABLE: ServerState.PENDING,
        ServerEvent.OPENED: ServerState.CONNECTED,
        ServerEvent.CHALLENGED: ServerState.NEEDS_AUTH,
        ServerEvent.LOST: ServerState.PENDING,
        ServerEvent.DISABLE: ServerState.DISABLED,
    },
    ServerState.FAILED: {
        ServerEvent.ENABLE: ServerState.PENDING,
        ServerEvent.OPENED: ServerState.CONNECTED,
        ServerEvent.CHALLENGED: ServerState.NEEDS_AUTH,
        ServerEvent.GAVE_UP: ServerState.FAILED,
        ServerEvent.DISABLE: ServerState.DISABLED,
    },
}


class IllegalMove(ClawftError):
    """A bug of ours."""


def move(state: ServerState, event: ServerEvent) -> ServerState:
    try:
        return MOVES[state][event]
    except KeyError:
        raise IllegalMove(f"{state.value} cannot take {event.value}") from None
