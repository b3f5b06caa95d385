"""A server that lists as much as a server may, in one of several ways. With ten of them it adds up.

usage: python -m tests.servers.greedy KIND
"""

import sys
from collections.abc import Callable
from typing import Any

from tests.servers.hostile import Json, Server, send

TINY = 9_000
LARGE = 2_200
"""Of three kilobytes each: nearly all that one server may have."""
WORDS = "x" * 3_000
HIDDEN = "\u200b\u202e" * 200
SCHEMA: Json = {"type": "object"}
MEMBERS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def item(name: str, words: str) -> Json:
    """As a tool, a prompt, a resource or a template: the others' members are no matter to anyone."""
    uris = {"uri": f"greedy://{name}", "uriTemplate": f"greedy://{name}/{{n}}"}
    return {"name": name, "description": words, "inputSchema": SCHEMA, **uris}


KINDS: dict[str, Callable[[int], list[Json]]] = {
    "large": lambda _: [item(f"t{n}", WORDS) for n in range(LARGE)],
    "many": lambda _: [item(f"t{n}", "tiny") for n in range(TINY)],
    "odd": lambda _: [item(f"an odd name: {n}", "tiny") for n in range(TINY)],
    "hidden": lambda _: [item(f"t{n}", HIDDEN) for n in range(LARGE)],
    "restless": lambda time: [item(f"t{n}-{time}", WORDS) for n in range(LARGE)],
    "fickle": lambda time: [item(f"t{n}-{time}", "tiny") for n in range(TINY)],
    "modest": lambda _: [item(f"t{n}", "modest") for n in range(100)],
}


class Greedy(Server):
    """Who is `restless` or `fickle` has another list each time, and says so after each."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._asked = 0

    def capabilities(self) -> Json:
        return {part: {"listChanged": True} for part in ("tools", "prompts", "resources")}

    def take(self, message: Json) -> None:
        member = MEMBERS.get(message.get("method", ""))
        if member is None:
            super().take(message)
            return
        self._asked += 1
        poke: list[Any] = self.tools() if member == "tools" else []
        send({"id": message["id"], "result": {member: [*poke, *KINDS[self._kind](self._asked)]}})
        if self._kind in ("restless", "fickle"):
            send({"method": "notifications/tools/list_changed"})


if __name__ == "__main__":
    Greedy(sys.argv[1]).serve()
