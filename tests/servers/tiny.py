"""A tiny honest MCP server in plain Python, without our package: both eras, over stdin and stdout.

usage: tiny.py [--era both|handshake|stateless] [--title TEXT] [--say TEXT] [--crash] [--mute] [--describe FILE]
               [--also FILE] [--linger FILE]

`--describe` takes the description of `echo` and of its prompt from a file, `--say` writes a line to stderr at the
start, `--crash` ends at once with status 3, `--mute` reads and never answers, `--also` has the tools
a file names as JSON (or defines), which say their name, `--linger` stays at the end of its input until the file is
there, and leaves `<file>.seen`.
Tools: `echo` gives its text and the server's title back, `pid` which process it is (when it began: in a
sandbox all have the same number), `env` one variable, `hold` waits until the
file it names is there (and leaves `<file>.waiting` first, and says so to who wants to hear of its progress).
Prompts: `hello`. Resources: `tiny://note`.
"""

import argparse
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
PAUSE_S = 0.01
PATIENCE_S = 60.0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="both")
    parser.add_argument("--title", default="tiny")
    parser.add_argument("--say", default="")
    parser.add_argument("--describe", default="")
    parser.add_argument("--crash", action="store_true")
    parser.add_argument("--mute", action="store_true")
    parser.add_argument("--also", default="")
    parser.add_argument("--linger", default="")
    return parser.parse_args()


OPTIONS = options()
CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}
INFO = {"name": f"tiny-{OPTIONS.title}", "version": "1.2.3"}
WRITING = threading.Lock()
BEGAN = time.time_ns()


def tool(name: str, *properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in properties}}
    return {"name": name, "description": f"The {name} of {OPTIONS.title}.", "inputSchema": schema}


def also(told: Any) -> dict[str, Any]:
    return tool(told) if isinstance(told, str) else told


ALSO: list[Any] = json.loads(Path(OPTIONS.also).read_text()) if OPTIONS.also else []
TOOLS = [tool("echo", "text"), tool("pid"), tool("env", "name"), tool("hold", "file"), *map(also, ALSO)]


if OPTIONS.describe:
    TOOLS[0]["description"] = Path(OPTIONS.describe).read_text()


def call(name: str, arguments: dict[str, Any], token: object = None) -> str:
    match name:
        case "echo":
            return f"{OPTIONS.title}: {arguments.get('text', '')}"
        case "pid":
            return str(BEGAN)
        case "env":
            return os.environ.get(str(arguments.get("name")), "(unset)")
        case "hold":
            return hold(Path(str(arguments["file"])), token)
        case _ if name in ALSO:
            return f"called {name}"
        case _:
            raise KeyError(name)


def hold(file: Path, token: object) -> str:
    file.with_name(f"{file.name}.waiting").touch()
    if token is not None:
        told = {"progressToken": token, "progress": 1, "total": 4, "message": "waiting for\nthe file"}
        write({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    wait_for(file)
    return f"{OPTIONS.title} held on"


def wait_for(file: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not file.exists() and time.monotonic() < end:
        time.sleep(PAUSE_S)


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize" if OPTIONS.era != "stateless":
            return {"protocolVersion": HANDSHAKE, "capabilities": CAPABILITIES, "serverInfo": INFO}
        case "server/discover" if OPTIONS.era != "handshake":
            about = {"io.modelcontextprotocol/serverInfo": INFO}
            return {"supportedVersions": [STATELESS], "capabilities": CAPABILITIES, "_meta": about}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            meta: dict[str, Any] = params.get("_meta") or {}
            said = call(params["name"], params.get("arguments") or {}, meta.get("progressToken"))
            return {"content": [{"type": "text", "text": said}]}
        case "prompts/list":
            return {"prompts": [{"name": "hello", "description": TOOLS[0]["description"]}]}
        case "prompts/get":
            return {"messages": [{"role": "user", "content": {"type": "text", "text": f"hello {OPTIONS.title}"}}]}
        case "resources/list":
            return {"resources": [{"uri": "tiny://note", "name": "note"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": f"note of {OPTIONS.title}"}]}
        case _:
            raise KeyError(method)


def answer(request: dict[str, Any]) -> None:
    params: dict[str, Any] = request.get("params") or {}
    meta: dict[str, Any] = params.get("_meta") or {}
    modern = "io.modelcontextprotocol/protocolVersion" in meta
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        reply["result"] = result(request["method"], params) | ({"resultType": "complete"} if modern else {})
    except KeyError as unknown:
        reply["error"] = {"code": -32601, "message": f"unknown: {unknown}"}
    write(reply)


def write(message: dict[str, Any]) -> None:
    with WRITING:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def main() -> int:
    if OPTIONS.say:
        print(OPTIONS.say, file=sys.stderr, flush=True)
    if OPTIONS.crash:
        return 3
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request and not OPTIONS.mute:
            threading.Thread(target=answer, args=(request,), daemon=True).start()
    if OPTIONS.linger:
        wait_for(Path(OPTIONS.linger))
        Path(f"{OPTIONS.linger}.seen").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
