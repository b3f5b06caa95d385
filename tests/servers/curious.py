"""A server that asks: plain Python without our package, of one era, over pipes or (with --http) Streamable HTTP.

usage: curious.py --era handshake|stateless [--http] [--aside] [--tasks] [--log FILE]

`--aside`: over HTTP, questions go to the session's own stream instead of that of the call. With --http the address is
printed. `--tasks`: its tools may run as tasks of 2025-11-25. Every tool takes a `token`, names it in each question and
gives it back with the answers.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # takes longer to import than all else: over pipes nobody needs it
    from aiohttp import web

Json = dict[str, Any]
Questions = dict[str, Json]
Asking = Generator[Questions, dict[str, Json], str]

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "curious", "version": "1"}
CAPABILITIES: Json = {"tools": {}, "prompts": {}, "resources": {}}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Your name", "default": "nobody"}},
    "required": ["name"],
}
STATUS = {-32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}


class Refused(Exception):
    """Answered as an error with what it holds."""


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def elicit(message: str) -> Json:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": SCHEMA}}


def said(token: str, *answers: Json) -> str:
    return f"{token}: " + " ".join(json.dumps(answer, sort_keys=True) for answer in answers)


def form(token: str) -> Asking:
    got = yield {"name": elicit(f"Name for {token}?")}
    return said(token, got["name"])


def twice(token: str) -> Asking:
    """Asks twice under one key, another question each time."""
    first = yield {"name": elicit(f"First for {token}?")}
    second = yield {"name": elicit(f"Second for {token}?")}
    return said(token, first["name"], second["name"])


def both(token: str) -> Asking:
    got = yield {"name": elicit(f"Name for {token}?"), "text": sampling(token)}
    return said(token, got["name"], got["text"])


def url(token: str) -> Asking:
    params = {"mode": "url", "message": f"AuthorizedRequest for {token}", "url": f"https://x.example/{token}"}
    if STATE.era == "handshake":
        params["elicitationId"] = token
    got = yield {"visit": {"method": "elicitation/create", "params": params}}
    return said(token, got["visit"])


def visit(token: str) -> Asking:
    """Names one address twice: the person has agreed, but is not there yet."""
    yield from url(token)
    return (yield from url(token))


def sampling(token: str) -> Json:
    messages = [{"role": "user", "content": {"type": "text", "text": f"Complete {token}"}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 10}}


def sample(token: str) -> Asking:
    got = yield {"text": sampling(token)}
    return said(token, got["text"])


def roots(token: str) -> Asking:
    got = yield {"roots": {"method": "roots/list", "params": {}}}
    return said(token, got["roots"])


def endless(token: str) -> Asking:
    for number in itertools.count():
        yield {f"q{number}": elicit(f"And for {token}?")}
    raise AssertionError


def echo(token: str) -> Asking:
    yield from ()
    return token


TOOLS: Mapping[str, Callable[[str], Asking]] = {
    tool.__name__: tool for tool in (form, twice, both, url, visit, sample, roots, endless, echo)
}


# ── the two ways of asking ───────────────────────────────────────────────────────────────────────────────────────────


class State:
    def __init__(self) -> None:
        self.era = "handshake"
        self.log = ""
        self.aside: Callable[[Json], None] | None = None
        self.through_aside = False
        self.tasks = False
        self.waiting: dict[Any, asyncio.Future[Json]] = {}
        self.running: dict[Any, asyncio.Task[None]] = {}
        self.ids = itertools.count(1)
        self.visited: set[str] = set()
        self.beside: asyncio.Future[Json] | None = None

    def note(self, message: Json) -> None:
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(json.dumps(message) + "\n")


STATE = State()
Send = Callable[[Json], None]


async def converse(asking: Asking, send: Send) -> str:
    """By requests of ours, all of one step at once."""
    try:
        step = next(asking)
        while True:
            got = await asyncio.gather(*(request(question, send) for question in step.values()))
            step = asking.send(dict(zip(step, got, strict=True)))
    except StopIteration as done:
        return done.value


async def request(question: Json, send: Send) -> Json:
    id = f"q{next(STATE.ids)}"
    STATE.waiting[id] = asyncio.get_running_loop().create_future()
    out = STATE.aside if STATE.through_aside and STATE.aside else send
    out({"id": id, **question})
    try:
        answer = await STATE.waiting[id]
    except asyncio.CancelledError:
        out({"method": "notifications/cancelled", "params": {"requestId": id}})
        raise
    finally:
        del STATE.waiting[id]
    return answer.get("result") or {"error": answer["error"]}


def replay(asking: Asking, params: Json) -> tuple[str, Json]:
    """By a result that asks: the answers so far are the state, and every round begins anew with them."""
    known: list[dict[str, Json]] = json.loads(base64.b64decode(params.get("requestState") or "W10="))
    fresh: dict[str, Json] = params.get("inputResponses") or {}
    try:
        step = next(asking)
        for round in known:
            step = asking.send(round)
        if fresh.keys() >= step.keys():
            known.append({key: fresh[key] for key in step})
            step = asking.send(known[-1])
    except StopIteration as done:
        return done.value, {}
    state = base64.b64encode(json.dumps(known).encode()).decode()
    return "", {"resultType": "input_required", "inputRequests": step, "requestState": state}


async def asked(asking: Asking, params: Json, send: Send, shape: Callable[[str], Json]) -> Json:
    if STATE.era == "handshake":
        return shape(await converse(asking, send))
    text, wanted = replay(asking, params)
    return wanted or shape(text)


# ── methods ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def text_block(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


async def call(params: Json, send: Send) -> Json:
    token = params.get("arguments", {}).get("token", "")
    name = params["name"]
    if name == "needs_sampling" and STATE.era == "stateless":
        if "sampling" not in params["_meta"][META + "clientCapabilities"]:
            raise Refused({"code": -32021, "message": "no", "data": {"requiredCapabilities": {"sampling": {}}}})
        return text_block("able")
    if name == "log_in":
        return log_in(token)
    if name == "told":
        meta: Json = params.get("_meta") or {}
        return text_block(json.dumps(meta.get(META + "clientCapabilities")))
    if name == "give_up":
        return await give_up(token, send)
    if name == "linger":
        await GO_ON.wait()
        return text_block(token)
    given = await asked(TOOLS[name](token), params, send, text_block)
    if name == "url" and STATE.era == "handshake":
        send({"method": "notifications/elicitation/complete", "params": {"elicitationId": token}})
    return given


def log_in(token: str) -> Json:
    """The error of 2025-11-25 until somebody was sent there."""
    if token not in STATE.visited:
        STATE.visited.add(token)
        wanted = {"mode": "url", "message": "Log in", "url": f"https://x.example/{token}", "elicitationId": token}
        raise Refused({"code": -32042, "message": "log in first", "data": {"elicitations": [wanted]}})
    return text_block(f"{token} is logged in")


async def give_up(token: str, send: Send) -> Json:
    """Ask, and take the question back as soon as anything else is said to us."""
    asking = asyncio.ensure_future(request(elicit(f"Name for {token}?"), send))
    await GO_ON.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    return text_block(f"{token} gave up")


GO_ON = asyncio.Event()


async def result(method: str, params: Json, send: Send) -> Json:
    match method:
        case "initialize" if STATE.era == "handshake":
            able: Json = {**CAPABILITIES, **({"tasks": {"requests": {"tools": {"call": {}}}}} if STATE.tasks else {})}
            return {"protocolVersion": params["protocolVersion"], "capabilities": able, "serverInfo": INFO}
        case "server/discover" if STATE.era == "stateless":
            return {"supportedVersions": [STATELESS], "capabilities": CAPABILITIES}
        case "ping" | "subscriptions/listen":
            return {}
        case "tools/list":
            names = [*TOOLS, "needs_sampling", "log_in", "told", "give_up", "linger"]
            more = {"execution": {"taskSupport": "optional"}} if STATE.tasks else {}
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}, **more} for name in names]}
        case "tools/call":
            return await call(params, send)
        case "prompts/list":
            return {"prompts": [{"name": name, "arguments": [{"name": "token"}]} for name in ("introduce", "log_in")]}
        case "prompts/get":
            token = params.get("arguments", {}).get("token", "")
            if params["name"] == "log_in":
                return as_prompt(log_in(token)["content"][0]["text"])
            return await asked(form(token), params, send, as_prompt)
        case "resources/list":
            return {"resources": [{"uri": "curious://card", "name": "card"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read":
            return await asked(form("card"), params, send, lambda text: as_resource(params["uri"], text))
        case _:
            raise Refused({"code": -32601, "message": f"unknown: {method}"})


def as_prompt(text: str) -> Json:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def as_resource(uri: str, text: str) -> Json:
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


async def answer(message: Json, send: Send) -> Json:
    params: Json = message.get("params") or {}
    try:
        given = await result(message["method"], params, send)
    except Refused as refused:
        return {"id": message["id"], "error": refused.args[0]}
    return {"id": message["id"], "result": {"resultType": "complete", **given} if STATE.era == "stateless" else given}


def take(message: Json) -> bool:
    """Answers to us and notices; False for a request."""
    STATE.note(message)
    if "method" not in message:
        waiter = STATE.waiting.get(message["id"])
        if waiter is not None and not waiter.done():
            waiter.set_result(message)
        return True
    if message["method"] == "notifications/cancelled":
        running = STATE.running.get(message["params"]["requestId"])
        if running is not None:
            running.cancel()
    if message["method"] == "notifications/roots/list_changed":  # the answer shows in the log
        STATE.beside = asyncio.ensure_future(request({"method": "roots/list", "params": {}}, write_line))
    if message.get("params", {}).get("name") == "echo":
        GO_ON.set()
    return "id" not in message


# ── transports ───────────────────────────────────────────────────────────────────────────────────────────────────────


def write_line(message: Json) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


async def serve_stdio() -> None:
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def run(message: Json) -> None:
        write_line(await answer(message, write_line))

    while line := await reader.readline():
        message = json.loads(line)
        if not take(message):
            start(message, run(message))


def start(message: Json, work: Any) -> asyncio.Task[None]:
    task = STATE.running[message["id"]] = asyncio.ensure_future(work)

    def ended(_: object) -> None:
        STATE.running.pop(message["id"], None)

    task.add_done_callback(ended)
    return task


async def frames(queue: asyncio.Queue[Json | None]) -> AsyncGenerator[bytes]:
    while (message := await queue.get()) is not None:
        yield f"data: {json.dumps({'jsonrpc': '2.0', **message})}\r\n\r\n".encode()


async def stream(http: web.Request, queue: asyncio.Queue[Json | None]) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Mcp-Session-Id": "one"})
    await response.prepare(http)
    async for frame in frames(queue):
        await response.write(frame)
    return response


async def take_http(http: web.Request) -> web.StreamResponse:
    from aiohttp import web

    if http.method != "POST":
        return await take_stream(http)
    message: Json = json.loads(await http.read())
    if STATE.era == "handshake" and message.get("method") == "server/discover":
        return web.Response(status=400, text="not initialized")
    if take(message):
        return web.Response(status=202)
    queue: asyncio.Queue[Json | None] = asyncio.Queue()
    if STATE.era == "handshake" and message["method"] in ("tools/call", "prompts/get", "resources/read"):

        async def run() -> None:
            queue.put_nowait(await answer(message, queue.put_nowait))
            queue.put_nowait(None)

        start(message, run())
        return await stream(http, queue)
    said = await answer(message, queue.put_nowait)
    status = STATUS.get(said["error"]["code"], 200) if "error" in said and STATE.era == "stateless" else 200
    return web.json_response({"jsonrpc": "2.0", **said}, status=status, headers={"Mcp-Session-Id": "one"})


async def take_stream(http: web.Request) -> web.StreamResponse:
    from aiohttp import web

    if http.method != "GET" or STATE.era == "stateless":
        return web.Response(status=405)
    queue: asyncio.Queue[Json | None] = asyncio.Queue()
    STATE.aside = queue.put_nowait
    return await stream(http, queue)


async def serve_http() -> None:
    from aiohttp import web

    app = web.Application()
    app.router.add_route("*", "/mcp", take_http)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/mcp", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["handshake", "stateless"], required=True)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    STATE.era, STATE.log, STATE.through_aside, STATE.tasks = options.era, options.log, options.aside, options.tasks
    asyncio.run(serve_http() if options.http else serve_stdio())


if __name__ == "__main__":
    main()
