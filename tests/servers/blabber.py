"""A server that repeats the secrets it was given wherever it may, in every spelling programs use."""

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

Json = dict[str, Any]
NAMES = ("ODD", "LONG")


def spellings(secret: str) -> Iterator[str]:
    yield from secret.splitlines()
    yield from (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret))
    yield from (quote(secret), quote(secret, safe="!*'()"), _lower(quote(secret, safe="")), _lower(quote_plus(secret)))
    yield from (quote(secret, safe=""" "!$%&'()*,/:;=?@[]"""), secret.encode().hex())
    yield from (
        base64.b64encode(secret.encode()).decode(),
        *base64.encodebytes(secret.encode()).decode().splitlines()[:-1],
    )


def _lower(spelled: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), spelled)


def everything() -> list[str]:
    return [spelled for name in NAMES for spelled in spellings(os.environ[name])]


def answer(message: Json) -> Json:
    match message["method"]:
        case "initialize":
            revision = message["params"]["protocolVersion"]
            info = {"name": os.environ["ODD"], "version": "1"}
            return {
                "result": {
                    "protocolVersion": revision,
                    "capabilities": {"tools": {}, "resources": {}},
                    "serverInfo": info,
                }
            }
        case "tools/list":
            return {"result": {"tools": [{"name": "tell", "inputSchema": {"type": "object"}}]}}
        case "resources/list":
            return {"result": {"resources": [{"uri": "x:y", "name": "y"}]}}
        case "tools/call" | "resources/read":
            said = everything()
            return {"error": {"code": -32000, "message": f"refused: {' '.join(said)}", "data": said}}
        case "server/discover" | "resources/templates/list":
            return {"error": {"code": -32601, "message": "an old server"}}
        case _:
            return {"result": {}}


def main() -> None:
    for said in everything():
        print("I know", said, file=sys.stderr, flush=True)
    for line in sys.stdin:
        message: Json = json.loads(line)
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)


if __name__ == "__main__":
    main()
