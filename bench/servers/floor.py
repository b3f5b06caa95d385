"""The least an echo server can do, checks and guards left out: what a Python MCP server cannot get below.

usage: floor.py
Blocking reads from stdin, one write to stdout for all that was read. floor_http.py is the same behind a port.
"""

import os

import msgspec
from msgspec import Raw, Struct

READ_BYTES = 1 << 20
TOOL = {
    "name": "echo",
    "description": "Return the text that was sent.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


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
LIST = msgspec.json.encode({"tools": [TOOL], "resultType": "complete"})


def answer(line: bytes) -> bytes:
    """The response, or nothing for a notification."""
    request = read(line)
    if not request.id:
        return b""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request.id, result(request))


def result(request: Request) -> bytes:
    if request.method == "tools/call":
        text = request.params.arguments.text
        return b'{"content":[{"type":"text","text":%b}],"isError":false,"resultType":"complete"}' % text
    if request.method == "initialize":
        return msgspec.json.encode(
            {
                "protocolVersion": request.params.protocolVersion,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "1"},
            }
        )
    return LIST


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
