"""How a server is, and its life as a table: everything that may happen, and nothing else."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

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


OPEN = (ServerState.CONNECTED, ServerState.DEGRADED)
"""States of a server that has a session for calls."""
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


class Condition(Struct, frozen=True):
    """How a server is, and why: one value, replaced whenever something happens to the server."""

    since: float
    """When it came into its state, by the monotonic clock."""
    state: ServerState = ServerState.DISABLED
    error: str = ""
    """Why it is not there, or not well; empty while nothing is wrong."""
    last_loss: str = ""
    """Why the last session was lost; the server may be back since."""
    step: str = ""
    """The step we wait for while a session is being opened."""
    challenge: str = ""
    """The challenge with which the server asked for a login the last time."""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def after(self, event: ServerEvent, now: float) -> Condition:
        """The very same one after a failed try of a server that is down. Raises IllegalMove."""
        state = move(self.state, event)
        if state is self.state and state in DOWN:
            return self
        return replace(self, state=state, since=now)

    def with_error(self, error: str) -> Condition:
        return replace(self, error=error)

    def at_step(self, step: str) -> Condition:
        return replace(self, step=step)

    def lost(self, why: str, challenge: str | None) -> Condition:
        """`challenge`: of a server that needs a login; None leaves the last one."""
        known = self.challenge if challenge is None else challenge
        return replace(self, error=why, last_loss=why, challenge=known)
