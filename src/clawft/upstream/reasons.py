"""Why a server is not there, as it is told and logged."""

from __future__ import annotations

from clawft.errors import NotConnected
from clawft.store.concealed_secrets import conceal
from clawft.upstream.state import ServerState

MAX_ERROR_CHARS = 2_000
"""Of why a server is not there, as it is told."""


def not_connected(name: str, state: ServerState, why: str) -> NotConnected:
    command = "reconnect" if state is ServerState.FAILED else "status"
    return NotConnected(f"{name} is not connected: {why}", hint=f"weft servers {command} {name}")


def not_ready(seconds: float, step: str) -> str:
    """For a server that is still expected and has said nothing wrong."""
    return f"not ready after {seconds:.3g} s" + (f": no answer to {step} yet" if step else "")


def no_slot(name: str, seconds: float, limit: int) -> NotConnected:
    return NotConnected(
        f"{name} is not connected: no connection became free within {seconds:.3g} s (limit: {limit})",
        hint="try again when calls have ended, or raise pool.max_connections in config.toml",
    )


def words_of(error: Exception) -> str:
    return words(str(error))


def words(said: str) -> str:
    """Cut and without secrets: a server may send megabytes, and repeat the key it was given."""
    return conceal(said[: 2 * MAX_ERROR_CHARS])[:MAX_ERROR_CHARS]
