"""usage: python -m tests.matrix.peer --era handshake|stateless [--http]; with --http the address is printed."""

import argparse
import asyncio
import json
import sys
from typing import Any

from tests.matrix.peer.server import Asked, Server
from tests.matrix.peer.shapes import Json


class Stdout:
    def send(self, message: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


async def serve_stdio(server: Server) -> None:
    out = server.aside = Stdout()
    running: dict[Any, asyncio.Task[None]] = {}
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def answer(asked: Asked) -> None:
        out.send(await server.answer(asked))

    while line := await reader.readline():
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            task = running.get(message["params"]["requestId"])
            if task is not None:
                task.cancel()
        elif "method" not in message:
            server.answered(message)
        elif "id" in message:
            task = asyncio.ensure_future(answer(Asked(message, out, {})))
            running[message["id"]] = task
            task.add_done_callback(lambda _, id=message["id"]: running.pop(id, None))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["handshake", "stateless"], required=True)
    parser.add_argument("--http", action="store_true")
    options = parser.parse_args()
    server = Server(stateless=options.era == "stateless")
    if options.http:
        from tests.matrix.peer.http import serve_http  # takes longer to import than all else: only who needs it does

        asyncio.run(serve_http(server))
    else:
        asyncio.run(serve_stdio(server))


if __name__ == "__main__":
    main()
