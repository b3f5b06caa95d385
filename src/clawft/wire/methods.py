"""Every method of every revision: who sends it, in which era, and what the stateless headers mirror."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

from clawft.model import Era

BOTH = frozenset(Era)
OLD = frozenset({Era.HANDSHAKE})
NEW = frozenset({Era.STATELESS})


SERVED: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
}
"""The server capabilities that we declare in both eras."""


class Sender(Enum):
    CLIENT = "client"
    SERVER = "server"
    EITHER = "either"


class Method(Struct, frozen=True):
    name: str
    sender: Sender
    eras: frozenset[Era]
    answered: bool = True
    named_by: str = ""
    """The parameter that the `Mcp-Name` header mirrors."""
    asks: bool = False
    """Whether it may be answered with `input_required`."""
    cached: bool = False
    """Whether its stateless result carries `ttlMs` and `cacheScope`."""


def _client(name: str, eras: frozenset[Era], *, named_by: str = "", asks: bool = False, cached: bool = False) -> Method:
    return Method(name, Sender.CLIENT, eras, named_by=named_by, asks=asks, cached=cached)


def _notice(name: str, sender: Sender, eras: frozenset[Era]) -> Method:
    return Method(f"notifications/{name}", sender, eras, answered=False)


METHODS = {
    method.name: method
    for method in (
        _client("initialize", OLD),
        _client("server/discover", NEW, cached=True),
        Method("ping", Sender.EITHER, OLD),
        _client("tools/list", BOTH, cached=True),
        _client("tools/call", BOTH, named_by="name", asks=True),
        _client("resources/list", BOTH, cached=True),
        _client("resources/templates/list", BOTH, cached=True),
        _client("resources/read", BOTH, named_by="uri", asks=True, cached=True),
        _client("resources/subscribe", OLD),
        _client("resources/unsubscribe", OLD),
        _client("prompts/list", BOTH, cached=True),
        _client("prompts/get", BOTH, named_by="name", asks=True),
        _client("completion/complete", BOTH),
        _client("logging/setLevel", OLD),
        _client("subscriptions/listen", NEW),
        _client("tasks/get", BOTH, named_by="taskId"),
        _client("tasks/cancel", BOTH, named_by="taskId"),
        _client("tasks/update", NEW, named_by="taskId"),
        _client("tasks/result", OLD),
        _client("tasks/list", OLD),
        Method("roots/list", Sender.SERVER, OLD),
        Method("sampling/createMessage", Sender.SERVER, OLD),
        Method("elicitation/create", Sender.SERVER, OLD),
        _notice("initialized", Sender.CLIENT, OLD),
        _notice("roots/list_changed", Sender.CLIENT, OLD),
        _notice("cancelled", Sender.EITHER, BOTH),
        _notice("progress", Sender.EITHER, BOTH),
        _notice("message", Sender.SERVER, BOTH),
        _notice("tools/list_changed", Sender.SERVER, BOTH),
        _notice("prompts/list_changed", Sender.SERVER, BOTH),
        _notice("resources/list_changed", Sender.SERVER, BOTH),
        _notice("resources/updated", Sender.SERVER, BOTH),
        _notice("elicitation/complete", Sender.SERVER, OLD),
        _notice("tasks/status", Sender.SERVER, OLD),
        _notice("tasks", Sender.SERVER, NEW),
        _notice("subscriptions/acknowledged", Sender.SERVER, NEW),
    )
}


def names_by_header(method: str) -> str:
    """The parameter that `Mcp-Name` mirrors for this method, or nothing."""
    found = METHODS.get(method)
    return found.named_by if found else ""
