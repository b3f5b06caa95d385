"""A server in plain Python, of either era, in whose lists every member that the protocol knows is wrong once.

usage: mutant.py handshake|stateless

Beside them are a tool `say` that gives back, as its result, the JSON it is called with; and `ask`, which asks it first.
"""

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any, cast

Json = dict[str, Any]
Path = tuple[str | int, ...]

JUNK: list[Any] = [None, True, -1, 1.5, 10**400, "", "x", [], {}, [None], [5], ["x"], [{}], {"x": 5}]
DEEP: Any = json.loads("[" * 250 + "]" * 250)
"""Allowed, and more than some clients read."""
REGARD = {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
ICONS = [{"src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "light"}]
DESCRIBED: Json = {"title": "t", "description": "d", "icons": ICONS, "_meta": {"a/b": 1}}
STRING = {"type": "string", "title": "t", "pattern": "^x$", "default": "x"}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": STRING, "b": {"$ref": "#/$defs/q"}},
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"q": {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["x"]}]}},
}
HINTS = {"title": "t", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
KEPT: Json = {**DESCRIBED, "name": "n", "mimeType": "text/plain", "annotations": REGARD}
WHOLE: dict[str, Json] = {
    "tools": {
        **DESCRIBED,
        "name": "NAME",
        "inputSchema": SCHEMA,
        "outputSchema": SCHEMA,
        "annotations": HINTS,
        "execution": {"taskSupport": "optional"},
    },
    "resources": {**KEPT, "uri": "mutant://NAME", "size": 5},
    "resourceTemplates": {**KEPT, "uriTemplate": "mutant://NAME/{x}"},
    "prompts": {
        **DESCRIBED,
        "name": "NAME",
        "arguments": [{"name": "a", "title": "t", "description": "d", "required": True}],
    },
}
"""By the member of the list it stands in: one of each with all that it may have."""
OBJECT = {"type": "object"}
TOOLS: list[Json] = [
    {"name": "say", "inputSchema": OBJECT},
    {"name": "ask", "inputSchema": OBJECT},
    {"name": "loose", "inputSchema": {"type": "object", "properties": {"any": True, "no": False}}},
]
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """To every member and item of it."""
    for key, inner in inside(value):
        yield (*at, key)
        yield from paths(inner, (*at, key))


def inside(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from cast("Json", value).items()
    elif isinstance(value, list):
        yield from enumerate(cast("list[Any]", value))


def changed(whole: Any, at: Path, *values: Any) -> Any:
    """A copy with another value there, or without any."""
    copied = copy.deepcopy(whole)
    where = copied
    for key in at[:-1]:
        where = where[key]
    if values:
        where[at[-1]] = values[0]
    else:
        del where[at[-1]]
    return copied


def mutations(whole: Json) -> list[Json]:
    """The whole one, and all those in which one thing is wrong; each with a name of its own."""
    wrong = [changed(whole, at, junk) for at in paths(whole) for junk in JUNK]
    missing = [changed(whole, at) for at in paths(whole)]
    deep = changed(whole, ("_meta", "a/b"), DEEP)
    all = [whole, *wrong, *missing, deep]
    named = (json.dumps(one).replace("NAME", f"m{number}") for number, one in enumerate(all))
    return [json.loads(one) for one in named]


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────────────────

STATELESS = "2026-07-28"
CAPABILITIES: Json = {"tools": {}, "resources": {}, "prompts": {}}


def write(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Mutant:
    def __init__(self, era: str) -> None:
        self._is_stateless = era == "stateless"
        self._own: Json = {"resultType": "complete"} if self._is_stateless else {}
        self._asking: dict[str, object] = {}
        """Which call each question is of."""

    def take(self, message: Json) -> None:
        if "method" not in message:
            self._answer(self._asking.pop(message["id"]), text(json.dumps(message.get("result", message.get("error")))))
        elif "id" in message:
            self._answer_to(message["id"], str(message["method"]), message.get("params") or {})

    def _answer_to(self, id: object, method: str, params: Json) -> None:
        if method in LISTS:
            member = LISTS[method]
            items = [*(TOOLS if member == "tools" else []), *mutations(WHOLE[member])]
            self._answer(id, {member: items, "ttlMs": 0, "cacheScope": "private"})
        elif method == "tools/call" and params["name"] == "ask":
            self._ask(id, params)
        elif method == "tools/call":
            self._answer(id, params["arguments"]["result"])
        elif method == "initialize" and not self._is_stateless:
            told = {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "mutant", "version": "1"}}
            self._answer(id, {**told, "capabilities": CAPABILITIES})
        elif method == "server/discover" and self._is_stateless:
            self._answer(id, {"supportedVersions": [STATELESS], "capabilities": CAPABILITIES})
        elif method == "ping":
            self._answer(id, {})
        else:
            write({"id": id, "error": {"code": -32601, "message": "no such method"}})

    def _ask(self, id: object, params: Json) -> None:
        question = {"method": params["arguments"]["method"], "params": params["arguments"]["params"]}
        if not self._is_stateless:
            own = f"question about {id}"
            self._asking[own] = id
            write({"id": own, **question})
        elif "inputResponses" in params:
            self._answer(id, text(json.dumps(params["inputResponses"]["k"])))
        else:
            write({"id": id, "result": {"resultType": "input_required", "inputRequests": {"k": question}}})

    def _answer(self, id: object, result: Json) -> None:
        write({"id": id, "result": {**self._own, **result}})


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


if __name__ == "__main__":
    mutant = Mutant(sys.argv[1])
    for line in sys.stdin:
        mutant.take(json.loads(line))
