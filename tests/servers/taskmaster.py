"""A stdio MCP server that makes a task of each call, and then tells of it whatever it likes.

usage: python -m tests.servers.taskmaster stateless|handshake

The text of a call says what `tasks/get` (or, of 2025-11-25, `tasks/result`) answers; see the tables.
Any other text is an honest task that never ends.
"""

import sys
from collections.abc import Callable
from typing import Any

from tests.servers.hostile import MEGABYTE, Json, Server, send, text
from tests.servers.rogue_offers import Modern

STAMP = "2026-01-01T00:00:00Z"
TIMES: Json = {"ttlMs": 60_000, "pollIntervalMs": 10, "createdAt": STAMP, "lastUpdatedAt": STAMP}
STOLEN = "the result of somebody else"
NOVEL = "n" * (3 * MEGABYTE)


def shape(id: str, status: Any, **more: Any) -> Json:
    return {"resultType": "complete", "taskId": id, "status": status, **TIMES, **more}


SHAPES: dict[str, Callable[[str], Any]] = {
    "another": lambda id: shape("other", "completed", result=text(STOLEN)),
    "list": lambda id: [],
    "text": lambda id: "working",
    "nothing": lambda id: None,
    "empty": lambda id: {},
    "nameless": lambda id: {"status": "completed", "result": text(STOLEN), **TIMES},
    "id of another kind": lambda id: shape(id, "completed", result=text(STOLEN)) | {"taskId": 5},
    "status of another kind": lambda id: shape(id, 5),
    "status nobody knows": lambda id: shape(id, "dancing"),
    "no result": lambda id: shape(id, "completed"),
    "result of another kind": lambda id: shape(id, "completed", result=5),
    "result is a task": lambda id: shape(id, "completed", result={**shape("u", "working"), "resultType": "task"}),
    "error of another kind": lambda id: shape(id, "failed", error="boom"),
}
"""What no task looks like."""
LARGE: dict[str, Callable[[str], Json]] = {
    "novel": lambda id: shape(id, "working", statusMessage=NOVEL),
    "novel of an error": lambda id: shape(id, "failed", error={"code": 1, "message": NOVEL, "data": NOVEL}),
    "novel of a result": lambda id: shape(id, "completed", result=text(NOVEL)),
    "novel of a member": lambda id: shape(id, "working", novel=NOVEL),
}
KEY = "AKIAIOSFODNN7EXAMPLE"
KEYS: dict[str, Callable[[str], Json]] = {
    "key in a result": lambda id: shape(id, "completed", result=text(f"it is {KEY}, ok")),
    "key in an error": lambda id: shape(id, "failed", error={"code": 1, "message": f"it is {KEY}", "data": [KEY]}),
}
"""Tasks that bring what has the shape of a secret."""
ENDLESS, SLOW = "asks without end", "slow to hear answers"
"""Tasks that ask: something new each time, and the same until it was looked at for some time after its answer."""
UNHEARD = 5
RESULTS: dict[str, Any] = {
    "list": [],
    "number": 5,
    "task": {"task": shape("u", "working")},
    "another": {**text(STOLEN), "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "other"}}},
}


def asking(id: str, key: str) -> Json:
    form = {"type": "object", "properties": {"word": {"type": "string"}}}
    question = {"method": "elicitation/create", "params": {"mode": "form", "message": key, "requestedSchema": form}}
    return shape(id, "input_required", inputRequests={key: question})


class Taskmaster(Modern):
    """Of the extension: followed by `tasks/get`."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._looks = 0

    def capabilities(self) -> Json:
        return {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}

    def call(self, id: object, params: Json) -> None:
        task = f"t{len(self._kinds)}"
        self._kinds[task] = params["arguments"]["text"]
        send({"id": id, "result": shape(task, "working") | {"resultType": "task"}})

    def other(self, message: Json) -> None:
        if message.get("method") == "tasks/update":
            return send({"id": message["id"], "result": {"resultType": "complete"}})
        if message.get("method") != "tasks/get":
            return super().other(message)
        task = message["params"]["taskId"]
        if self._kinds[task] in (ENDLESS, SLOW):
            return send({"id": message["id"], "result": self._ask(task)})
        told = (SHAPES | LARGE | KEYS).get(self._kinds[task])
        send({"id": message["id"], "result": told(task) if told is not None else shape(task, "working")})

    def _ask(self, task: str) -> Json:
        self._looks += 1
        if self._kinds[task] == ENDLESS:
            return asking(task, f"question {self._looks}")
        return asking(task, "the word") if self._looks < UNHEARD else shape(task, "completed", result=text("heard"))


class Elder(Server):
    """Of 2025-11-25: asked for a task, and then for its result."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def capabilities(self) -> Json:
        return {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}

    def tools(self) -> list[Any]:
        return [{**super().tools()[0], "execution": {"taskSupport": "required"}}]

    def call(self, id: object, params: Json) -> None:
        task = f"t{len(self._kinds)}"
        self._kinds[task] = params["arguments"]["text"]
        times = {"ttl": 60_000, "createdAt": STAMP, "lastUpdatedAt": STAMP}
        send({"id": id, "result": {"task": {"taskId": task, "status": "working", **times}}})

    def other(self, message: Json) -> None:
        if message.get("method") != "tasks/result":
            return super().other(message)
        kind = self._kinds[message["params"]["taskId"]]
        if kind in RESULTS:
            send({"id": message["id"], "result": RESULTS[kind]})


if __name__ == "__main__":
    {"stateless": Taskmaster, "handshake": Elder}[sys.argv[1]]().serve()
