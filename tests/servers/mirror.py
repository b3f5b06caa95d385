"""A server in plain Python, of either era, that shows what reached it and says whatever it is told to say.

usage: mirror.py handshake|stateless

Tools: `show` gives back the params it was called with, as text; `say` writes the lines it is given, with its own id and
progress token in the place of `$ID` and `$TOKEN`, and then answers with its `result`, or with as many letters as
`long` says; `later` answers when `say` was called the next time; `ask` (of the handshake era) sends a request with the
`method` and the `params` it is given, and gives the answer back as text. The prompt `show` and the resource
`mirror://show` are like the tool, and so is the completion of an argument, whose value is what reached it; those called
`refuse`, and the completion of that word, answer with `ERROR`. Each tool names a page, which is not listed.
"""

import json
import sys
from typing import Any

Json = dict[str, Any]
STATELESS = sys.argv[1] == "stateless"
ERROR = {"code": -31999, "message": "not me", "data": {"n": 1.5, "list": [None]}}
EXTENSIONS: Json = {"com.example/x": {"n": 1.5}, "io.modelcontextprotocol/tasks": {}}
SUPPORTED: Json = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {}}
INFO = {"name": "mirror", "version": "1"}
KEPT = {"ttlMs": 0, "cacheScope": "private"} if STATELESS else {}
MORE = {"x-more": {"n": 1.5}, "further": [None]}
TOOLS = ("show", "say", "later", "ask")
waiting: list[Any] = []


def send(message: str) -> None:
    sys.stdout.write(message + "\n")
    sys.stdout.flush()


def give(id: Any, result: Json) -> None:
    kind = {"resultType": "complete"} if STATELESS else {}
    send(json.dumps({"jsonrpc": "2.0", "id": id, "result": {**kind, **result}}))


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def say(id: Any, params: Json) -> None:
    token = json.dumps(params.get("_meta", {}).get("progressToken"))
    arguments: Json = params["arguments"]
    for line in arguments.get("lines", []):
        send(line.replace("$ID", json.dumps(id)).replace("$TOKEN", token))
    if "long" in arguments:
        give(id, text("x" * arguments["long"]))
    if "result" in arguments:
        give(id, arguments["result"])
    while waiting:
        give(waiting.pop(), text("at last"))


def call(id: Any, params: Json) -> None:
    match params["name"]:
        case "say":
            say(id, params)
        case "later":
            waiting.append(id)
        case "ask":
            send(json.dumps({"jsonrpc": "2.0", "id": f"about {id}", **params["arguments"]}))
        case _:
            give(id, text(json.dumps(params)))


def tool(name: str) -> Json:
    return {"name": name, "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": f"ui://{name}"}}}


def offered(method: str) -> Json | None:
    match method:
        case "initialize" if not STATELESS:
            return {"protocolVersion": "2025-11-25", "capabilities": SUPPORTED, "serverInfo": INFO}
        case "server/discover" if STATELESS:
            supported = {**SUPPORTED, "extensions": EXTENSIONS}
            return {"supportedVersions": ["2026-07-28"], "capabilities": supported, **KEPT}
        case "tools/list":
            return {"tools": [tool(name) for name in TOOLS]}
        case "prompts/list":
            return {"prompts": [{"name": each} for each in ("show", "refuse")]}
        case "resources/list":
            return {"resources": [{"uri": f"mirror://{each}", "name": each} for each in ("show", "refuse")]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case _:
            return None


def answer(id: Any, method: str, params: Json) -> None:
    listed, shown = offered(method), json.dumps(params)
    if listed is not None:
        give(id, listed)
    elif method == "tools/call":
        call(id, params)
    elif "refuse" in shown:
        send(json.dumps({"jsonrpc": "2.0", "id": id, "error": ERROR}))
    elif method == "prompts/get":
        give(id, {"messages": [{"role": "user", "content": {"type": "text", "text": shown}}]})
    elif method == "resources/read":
        give(id, {"contents": [{"uri": params["uri"], "text": shown}], **KEPT})
    elif method == "completion/complete":
        give(id, {"completion": {"values": [shown], "total": None, **MORE}, "_meta": {"v/r": 1}, **MORE})
    elif method in ("logging/setLevel", "ping") and not STATELESS:
        give(id, {})
    else:
        send(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}}))


for line in sys.stdin:
    message: Json = json.loads(line)
    if "method" in message and "id" in message:
        answer(message["id"], message["method"], message.get("params") or {})
    elif "method" not in message:
        told = {key: message[key] for key in ("result", "error") if key in message}
        give(int(message["id"].removeprefix("about ")), text(json.dumps(told)))
