"""A stdio MCP server whose answers have 15 MB of something that is dear to look through; plain Python.

usage: bulk.py

The tool `poke` is told where it is, and what it is, in its `text`: "text hidden", say.
"""

import json
import sys
from typing import Any

Json = dict[str, Any]

SIZE = 15_000_000
UNITS = {
    "plain": b"x",
    "hidden": "\u200b\u202e".encode(),
    "escaped": b"\\u200b\\u202e",
    "deleted": b"x\x7f",
    "joined": b"\\u00e9\\u200d",
    "backslashes": b"\\\\" * 30_000 + b"x",
    "quotes": b'\\"',
    "dashes": "—“”".encode(),
    "letters": b"QUJD",
    "keys": b"ghp_" + b"a" * 36 + b" ",
}
PLACES = {
    "text": b'{"content":[{"type":"text","text":"%b"}]}',
    "picture": b'{"content":[{"type":"image","mimeType":"image/png","data":"%b"}]}',
    "beside": b'{"content":[{"type":"text","text":"x"}],"_meta":{"a":"%b"}}',
    "structure": b'{"content":[],"structuredContent":{"a":"%b"}}',
    "resource": b'{"content":[{"type":"resource","resource":{"uri":"x:y","text":"%b"}}]}',
}
SAID: Json = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "bulk", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "poke", "inputSchema": {"type": "object"}}]},
}


def result_of(request: Json) -> bytes:
    if request["method"] != "tools/call":
        return json.dumps(SAID.get(request["method"], {})).encode()
    place, unit = request["params"]["arguments"]["text"].split()[:2]
    return PLACES[place] % (UNITS[unit] * (SIZE // len(UNITS[unit])))


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            id = json.dumps(request["id"]).encode()
            sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id, result_of(request)))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
