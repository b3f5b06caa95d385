"""Events that callers may want to know, and their listeners. Delivery is a plain call; a listener never waits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import get_args

from msgspec import Struct

from clawft.model import LogLevel

log = logging.getLogger("clawft.events")


class ListTopic(Enum):
    """Lists that change; the value is their name in methods and filters."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


class ListChanged(Struct, frozen=True):
    """`whose`: only what the caller with this proof has."""

    topic: ListTopic
    whose: str = ""


class ResourceUpdated(Struct, frozen=True):
    uri: str


class TaskChanged(Struct, frozen=True):
    task: str
    principal: str
    payload: bytes


class LogMessage(Struct, frozen=True):
    """A log message of a server that belongs to no call."""

    level: LogLevel
    params: bytes
    principal: str


class ConversationEnded(Struct, frozen=True):
    session: str


class RootsChanged(Struct, frozen=True):
    """The folders of an agent are known now, or are others than before."""


class ElicitationCompleted(Struct, frozen=True):
    """A person has done at an address what they were sent there for."""

    id: str


class RightsChanged(Struct, frozen=True):
    """The rights of people differ from before."""


GatewayEvent = (
    ListChanged
    | ResourceUpdated
    | TaskChanged
    | LogMessage
    | ConversationEnded
    | RootsChanged
    | ElicitationCompleted
    | RightsChanged
)
Listener = Callable[[GatewayEvent], None]

KINDS: tuple[type[GatewayEvent], ...] = get_args(GatewayEvent)


class Events:
    def __init__(self) -> None:
        self._listeners: dict[type[GatewayEvent], dict[int, Listener]] = {kind: {} for kind in KINDS}
        self._next = 0

    def subscribe(self, listener: Listener, *kinds: type[GatewayEvent]) -> Callable[[], None]:
        """Listen until the returned function is called. Without kinds to all of them."""
        self._next += 1
        key = self._next
        heard = [self._listeners[kind] for kind in kinds or KINDS]
        for of_kind in heard:
            of_kind[key] = listener

        def leave() -> None:
            for of_kind in heard:
                of_kind.pop(key, None)

        return leave

    def publish(self, event: GatewayEvent) -> None:
        for listener in list(self._listeners[type(event)].values()):
            try:
                listener(event)
            except Exception:  # one listener that breaks must not keep the news from the others
                log.exception("a listener failed on %s", event)
