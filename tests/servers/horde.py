"""One of a horde: a server that takes as much of our room as one server may, on its own. With ten of them it adds up.

usage: python -m tests.servers.horde

The text given to `poke` says what it does.
"""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from tests.servers.hostile import MEGABYTE, Json, Server, raw, send, token_of

ROOM = 15 * MEGABYTE


def block(**members: Any) -> Json:
    return {"content": [members]}


RESULTS: dict[str, Callable[[], Json]] = {
    "text": lambda: block(type="text", text="x" * ROOM),
    "picture": lambda: block(type="image", mimeType="image/png", data="QUJD" * (ROOM // 4)),
    "structure": lambda: {
        "content": [],
        "structuredContent": {"numbers": [0] * 100_000, "text": "x" * (ROOM - MEGABYTE)},
    },
}


QUESTION: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "x" * 3 * MEGABYTE}}],
    "maxTokens": 5,
}


class Horde(Server):
    def call(self, id: object, params: Json) -> None:
        wanted = params["arguments"]["text"]
        if token_of(params) is not None:
            send({"method": "notifications/progress", "params": {"progressToken": token_of(params), "progress": 1}})
        if wanted in RESULTS:
            send({"id": id, "result": RESULTS[wanted]()})
        elif wanted == "error":
            send({"id": id, "error": {"code": -32000, "message": "x" * ROOM}})
        elif wanted == "drip":
            raw(b'{"jsonrpc":"2.0","id":%b,"result":{"content":["' % json.dumps(id).encode() + b"x" * ROOM)
        elif wanted == "deaf":
            time.sleep(600)
        elif wanted == "notices":
            while True:
                send({"method": "notifications/message", "params": {"level": "error", "data": "x" * 3 * MEGABYTE}})
        elif wanted == "questions":
            for number in itertools.count():
                send({"id": f"q{number}", "method": "sampling/createMessage", "params": QUESTION})


if __name__ == "__main__":
    Horde().serve()
