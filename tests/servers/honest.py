"""A small MCP server for the tests of our client side: plain Python, handshake era (or what it is told), over pipes.

usage: honest.py [--ignore-eof] [--ignore-term] [--child FILE] [--mute METHOD] [--late SECONDS] [--tools N]
                 [--era handshake|stateless|both] [--die-on METHOD] [--nameless-errors] [--talkative BYTES]

Tools: `echo` gives its token back after `seconds`; `safe` the same, read-only; `report` sends progress first; `die`
ends the process; `change` changes the list of tools; `refuse` answers with the error it is given; `raw` answers with
that result; `half` writes half a line and no more; `long` answers with so many letters; `where` tells its folder and
environment.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
Json = dict[str, Any]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for flag in ("--ignore-eof", "--ignore-term", "--nameless-errors", "--odd-version", "--no-capabilities"):
        parser.add_argument(flag, action="store_true")
    for text in ("--child", "--mute", "--die-on", "--log", "--version"):
        parser.add_argument(text, default="")
    parser.add_argument("--era", default="handshake")
    parser.add_argument("--late", type=float, default=0.0)
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--talkative", type=int, default=0)
    return parser.parse_args()


OPTIONS = options()
WRITING = threading.Lock()
EXTRA: list[str] = [f"more_{number}" for number in range(OPTIONS.tools)]
LISTENING: list[Any] = []


def say(message: Json) -> None:
    with WRITING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name: str, **annotations: bool) -> Json:
    return {
        "name": name,
        "description": name,
        "inputSchema": {"type": "object"},
        "annotations": annotations,
        "x-vendor": [1.50, {"kept": True}],
    }


def tools() -> list[Json]:
    names = ("echo", "report", "die", "change", "refuse", "raw", "half", "long", "where")
    return [tool("safe", readOnlyHint=True), *map(tool, (*names, *EXTRA))]


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


def call(params: Json) -> Json | None:
    arguments: Json = params.get("arguments") or {}
    match params["name"]:
        case "echo" | "safe":
            time.sleep(arguments.get("seconds", 0))
            return text(str(arguments.get("token")))
        case "report":
            report(params, arguments)
            return text("done")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "change":
            EXTRA.append(f"new_{len(EXTRA)}")
            say({"method": "notifications/tools/list_changed", "params": subscribed()})
            return text("changed")
        case "raw":
            return arguments["result"]
        case "half":
            with WRITING:
                sys.stdout.write('{"jsonrpc":"2.0","id":')
                sys.stdout.flush()
                time.sleep(arguments.get("seconds", 60))
            return None
        case "long":
            return text("x" * arguments["letters"])
        case "where":
            return text(json.dumps({"cwd": os.getcwd(), "env": dict(os.environ), "group": os.getpgrp() == os.getpid()}))
        case name:
            return text(name)


def subscribed() -> Json:
    return {"_meta": {META + "subscriptionId": LISTENING[-1]}} if LISTENING else {}


def report(params: Json, arguments: Json) -> None:
    meta: Json = params.get("_meta") or {}
    token = meta.get("progressToken")
    for step in range(arguments.get("steps", 3)):
        if token is not None:
            told = {"progressToken": token, "progress": step + 1, "total": 3, "message": f"step {step + 1}"}
            say({"method": "notifications/progress", "params": told})
        time.sleep(arguments.get("pause", 0.01))


def capabilities() -> Json:
    if OPTIONS.no_capabilities:
        return {}
    return {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "completions": {}}


def hello(params: Json) -> Json:
    version = "1999-01-01" if OPTIONS.odd_version else OPTIONS.version or params["protocolVersion"]
    return {
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": {"name": "honest", "version": "1"},
        "instructions": "be kind",
    }


def result(method: str, params: Json) -> Json | None:  # noqa: PLR0912 - one branch per method
    match method:
        case "initialize" if OPTIONS.era != "stateless":
            return hello(params)
        case "server/discover" if OPTIONS.era != "handshake":
            return {"supportedVersions": [STATELESS], "capabilities": capabilities(), "resultType": "complete"}
        case "ping":
            return {}
        case "tools/list":
            page = int(params.get("cursor") or 0)
            listed = tools()
            more = {"nextCursor": str(page + 4)} if page + 4 < len(listed) else {}
            return {"tools": listed[page : page + 4], **more}
        case "tools/call":
            if params["name"] == "refuse":
                raise Refused(params["arguments"])
            return call(params)
        case "resources/list":
            return {"resources": [{"uri": "honest://note", "name": "note", "x-vendor": 1.50}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "honest://page/{n}", "name": "page"}]}
        case "resources/read":
            if params["uri"] == "honest://page/0":
                raise Refused({"code": -32002, "message": "no page 0"})
            return {"contents": [{"uri": params["uri"], "text": "read"}], "x-vendor": 1}
        case "prompts/list":
            return {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}
        case "prompts/get":
            return {
                "messages": [{"role": "user", "content": {"type": "text", "text": json.dumps(params["arguments"])}}]
            }
        case "completion/complete":
            more = [params["context"]] if "context" in params else []
            return {"completion": {"values": [params["argument"]["value"] + "!", *map(json.dumps, more)], "total": 9}}
        case "subscriptions/listen":
            return None
        case _:
            raise Refused({"code": -32601, "message": f"unknown: {method}"})


class Refused(Exception):
    """Answered as an error with what it holds."""


def answer(request: Json) -> None:
    params: Json = request.get("params") or {}
    meta: Json = params.get("_meta") or {}
    modern = META + "protocolVersion" in meta
    try:
        answered = result(request["method"], params)
    except Refused as refused:
        say({"id": None if OPTIONS.nameless_errors else request["id"], "error": refused.args[0]})
        return
    if isinstance(answered, dict) and modern:  # the tool `raw` may have been given anything
        answered = {"resultType": "complete", **answered}
    if answered is not None:
        say({"id": request["id"], "result": answered})


def take(message: Json) -> None:
    if OPTIONS.log:
        with Path(OPTIONS.log).open("a") as file:
            file.write(json.dumps(message) + "\n")
    method = message.get("method", "")
    if method == OPTIONS.die_on:
        print("these are my last words", file=sys.stderr, flush=True)
        os._exit(3)
    if "id" not in message or method == OPTIONS.mute or not method:
        return
    if method == "subscriptions/listen":
        LISTENING.append(message["id"])
        told = {"_meta": {META + "subscriptionId": message["id"]}, "notifications": {"toolsListChanged": True}}
        say({"method": "notifications/subscriptions/acknowledged", "params": told})
    if method == "tools/call":
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    else:
        answer(message)


def main() -> None:
    if OPTIONS.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if OPTIONS.child:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], stdin=subprocess.DEVNULL)
        Path(OPTIONS.child).write_text(str(child.pid))
    if OPTIONS.talkative:
        print("e" * OPTIONS.talkative, file=sys.stderr, flush=True)
    time.sleep(OPTIONS.late)
    for line in sys.stdin:
        take(json.loads(line))
    while OPTIONS.ignore_eof:
        time.sleep(1)


if __name__ == "__main__":
    main()
