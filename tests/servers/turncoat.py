"""A server that says of itself what a file says at the moment, and can be made to end or to announce a change."""

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def send(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(method: str, params: Json, said: Json) -> Json:
    match method:
        case "initialize":
            about = {"serverInfo": {"name": "turncoat", "version": "1"}, "instructions": said["instructions"]}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, **about}
        case "tools/list":
            return {"tools": [said["tool"]]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "it ran"}]}
        case _:
            return {}


def main(file: Path) -> None:
    for line in sys.stdin:
        message: Json = json.loads(line)
        params: Json = message.get("params") or {}
        if params.get("arguments") == {"end": True}:
            sys.exit(0)
        if params.get("arguments") == {"tell": True}:
            send({"method": "notifications/tools/list_changed"})
        if "id" in message and message["method"] == "server/discover":
            send({"id": message["id"], "error": {"code": -32601, "message": "an old server"}})
        elif "id" in message:
            send({"id": message["id"], "result": answer(message["method"], params, json.loads(file.read_text()))})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
