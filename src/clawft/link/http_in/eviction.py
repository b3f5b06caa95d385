"""Chooses the connection to close when all places are taken and one more comes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING

from clawft.link.http_in.head import Limits
from clawft.link.share.unread_output import IDLE_SECONDS

if TYPE_CHECKING:  # which asks for its place
    from clawft.link.http_in.protocol import Connection

NOT_APPLICABLE = -1.0


class Place(Enum):
    """The place of a connection among all others."""

    NONE = "none"
    WAITING = "waiting"
    """A connection without a place, which may get one in a moment."""
    OWN = "own"
    GUEST = "guest"
    """One of the last places; a request that takes long loses it."""
    LEAVING = "leaving"
    """A connection chosen to be closed that is not gone yet. There is no way back from here."""


def to_close(connections: Iterable[Connection], now: float, limits: Limits) -> Connection | None:
    """The connection that has been without a whole request for longest; else one that only listens; else the guest
    whose request takes longest, so that calls that never end do not shut out those that are done at once.
    """
    return (
        _longest(connections, lambda each: seconds_without_request(each, now), limits.give_way_seconds)
        or _longest(connections, lambda each: seconds_listening(each, now), limits.give_way_seconds)
        or _longest(connections, lambda each: seconds_overstayed(each, now), limits.guest_seconds)
    )


def _longest(
    connections: Iterable[Connection], seconds_of: Callable[[Connection], float], least: float
) -> Connection | None:
    longest = max(connections, key=seconds_of, default=None)
    return longest if longest is not None and seconds_of(longest) >= least else None


def seconds_without_request(connection: Connection, now: float) -> float:
    """A connection whose client has not taken its last answer yet is given more time."""
    if connection.is_ending or connection.place is Place.LEAVING:
        return NOT_APPLICABLE
    current = connection.current
    if current is None:
        return connection.timestamps.idle_for(now) - (IDLE_SECONDS if connection.has_unsent_bytes else 0.0)
    return now - current.began if connection.waits_for_body_of(current) else NOT_APPLICABLE


def seconds_listening(connection: Connection, now: float) -> float:
    """How long it has listened for notifications: whoever does that can come again."""
    current = connection.current
    if current is None or not current.listens or connection.place is Place.LEAVING:
        return NOT_APPLICABLE
    return now - current.began


def seconds_overstayed(connection: Connection, now: float) -> float:
    """How long the request of a guest has taken; the client may have disconnected already."""
    current = connection.current
    if connection.place is not Place.GUEST or current is None or not current.whole or connection.close_deadline:
        return NOT_APPLICABLE
    return now - current.began
