"""The least an echo server can do, checks and guards left out: what a Python MCP server cannot get below.

usage: floor.py [--tools N] [--more BYTES] [--image] [--marks FOLDER]
Blocking reads from stdin, one write to stdout for all that was read. floor_http.py is the same behind a port.
Behind a gateway it is the upstream: with so many tools, with answers so much longer than the text (as an image block,
which nobody cuts, if asked to), and with a file of its own in FOLDER once it was spoken to.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

READ_BYTES = 1 << 20
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
FILTER = {"type": "object", "properties": {"limit": {"type": "integer"}, "tags": {"type": "array"}}}
NOT_FOUND = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"Method not found"}}'


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def tools(count: int) -> list[Mapping[str, object]]:
    echo: Mapping[str, object] = {
        "name": "echo",
        "description": "Return the text that was sent.",
        "inputSchema": SCHEMA,
    }
    others: list[Mapping[str, object]] = [
        {
            "name": f"find_{at:03d}",
            "description": f"Find records of kind {at} by limit and tags.",
            "inputSchema": FILTER,
        }
        for at in range(1, count)
    ]
    return [echo, *others]


class Arguments(Struct, frozen=True):
    text: Raw = Raw(b'""')


class Params(Struct, frozen=True):
    arguments: Arguments = Arguments()
    protocolVersion: str = ""  # noqa: N815 - the wire's word


class Request(Struct):
    method: str = ""
    id: Raw = Raw(b"")
    params: Params = Params()


read = msgspec.json.Decoder(Request).decode
LIST = msgspec.json.encode({"tools": tools(int(option("--tools", "1"))), "resultType": "complete"})
MORE = b"x" * int(option("--more", "0"))
BLOCK = b'"type":"image","mimeType":"image/png","data"' if "--image" in sys.argv else b'"type":"text","text"'
ECHO = b'{"content":[{%b:%%b%b"}],"isError":false,"resultType":"complete"}' % (BLOCK, MORE)
MARKS = option("--marks", "")


def answer(line: bytes) -> bytes:
    """The response, or nothing for a notification."""
    request = read(line)
    if not request.id:
        return b""
    found = result(request)
    if not found:
        return NOT_FOUND % bytes(request.id)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request.id, found)


def result(request: Request) -> bytes:
    """Nothing for what it does not know."""
    if request.method == "tools/call":
        return ECHO % bytes(request.params.arguments.text)[:-1]  # its closing quote comes after what is added
    if request.method == "tools/list":
        return LIST
    if request.method == "initialize":
        return initialize(request.params.protocolVersion)
    return b"{}" if request.method == "ping" else b""


def initialize(version: str) -> bytes:
    if MARKS:
        (Path(MARKS) / os.urandom(8).hex()).touch()  # a process id may be the same in every sandbox
    return msgspec.json.encode(
        {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "floor", "version": "1"}}
    )


def on_pipes() -> None:
    rest = b""
    while chunk := os.read(0, READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        answers = [told for line in lines if line and (told := answer(line))]
        if answers:
            write(b"\n".join(answers) + b"\n")


def write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    on_pipes()
