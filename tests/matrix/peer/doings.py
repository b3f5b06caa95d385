"""The tools: each shows one thing that must cross the gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tests.matrix.peer import shapes
from tests.matrix.peer.shapes import LEVELS, META, Json, Refused, text

if TYPE_CHECKING:  # the server imports us
    from tests.matrix.peer.server import Asked, Server


async def echo(server: Server, asked: Asked) -> Json:
    """The token, and the `_meta` it came with."""
    return {**text(str(asked.arguments.get("token"))), "_meta": {"vendor/back": asked.meta.get("vendor/there")}}


async def report(server: Server, asked: Asked) -> Json:
    """Progress in three steps, each naming the token; then wait for the gate, if there is one."""
    asked.report(asked.arguments["token"])
    if gate := asked.arguments.get("gate"):
        await server.gate(gate).wait()
    return text(asked.arguments["token"])


async def hold(server: Server, asked: Asked) -> Json:
    """Leave a mark when it begins, is cancelled, or ends because the gate was opened."""
    mark = asked.arguments["mark"]
    server.marks.append(f"began {mark}")
    try:
        await server.gate(asked.arguments.get("gate", mark)).wait()
    except asyncio.CancelledError:
        server.marks.append(f"cancelled {mark}")
        raise
    server.marks.append(f"ended {mark}")
    return text(mark)


async def marks(server: Server, asked: Asked) -> Json:
    return text(json.dumps(server.marks))


async def finish(server: Server, asked: Asked) -> Json:
    server.gate(asked.arguments["gate"]).set()
    return text("opened")


async def say(server: Server, asked: Asked) -> Json:
    """One log message of each level; which of them go out is for the caller, or the session, to say."""
    level = asked.meta.get(META + "logLevel") if server.stateless else server.level
    for each in LEVELS:
        if level and LEVELS.index(each) >= LEVELS.index(level):
            told = {"level": each, "logger": "peer", "data": asked.arguments["token"]}
            asked.notify("notifications/message", told)
    return text("said")


async def change(server: Server, asked: Asked) -> Json:
    server.changed(asked.arguments["what"])
    return text("changed")


async def touch(server: Server, asked: Asked) -> Json:
    server.updated(asked.arguments["uri"])
    return text("touched")


async def seen(server: Server, asked: Asked) -> Json:
    """Every request so far that holds the word, or is of the method."""
    word, method = asked.arguments.get("word", ""), asked.arguments.get("method", "")
    found = [each for each in server.seen if word in json.dumps(each["params"]) and method in each["method"]]
    return text(json.dumps([each for each in found if each["params"].get("name") != "seen"]))


async def blocks(server: Server, asked: Asked) -> Json:
    return {"content": [{"type": "text", "text": "a"}, shapes.SOUND, shapes.LINK, {"type": "widget", "n": 1}]}


async def refuse(server: Server, asked: Asked) -> Json:
    raise Refused(asked.arguments["code"], "refused", asked.arguments.get("data"))


async def fail(server: Server, asked: Asked) -> Json:
    return {**text("it failed"), "isError": True}


async def structured(server: Server, asked: Asked) -> Json:
    return {"content": [], "structuredContent": [1, 2] if server.stateless else {"n": 1}}


async def where(server: Server, asked: Asked) -> Json:
    return text(json.dumps({"arguments": asked.arguments, "headers": asked.headers}))


Doing = Callable[["Server", "Asked"], Awaitable[Json]]
_ALL: tuple[Doing, ...] = (
    echo, report, hold, marks, finish, say, change, touch, seen, blocks, refuse, fail, structured, where,
)  # fmt: skip
DOINGS: dict[str, Doing] = {getattr(doing, "__name__", ""): doing for doing in _ALL}
