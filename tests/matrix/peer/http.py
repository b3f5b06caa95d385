"""The server over Streamable HTTP: sessions and a stream aside, or one POST after the other."""

import asyncio
import json
from typing import Any

from aiohttp import web

from tests.matrix.peer.server import Asked, Server
from tests.matrix.peer.shapes import Json

SESSION = "the-only-session"


class Stream:
    """An event stream, begun with the first message on it."""

    def __init__(self, http: web.Request) -> None:
        self._http = http
        self._queue: asyncio.Queue[Json] = asyncio.Queue()

    def send(self, message: Json) -> None:
        self._queue.put_nowait(message)

    async def open(self) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(self._http)
        return response

    async def until(self, answer: "asyncio.Task[Json]") -> web.StreamResponse:
        """JSON if the answer comes first, else everything in order, the answer last."""
        response: web.StreamResponse | None = None
        while True:
            said = asyncio.ensure_future(self._queue.get())
            await asyncio.wait({said, answer}, return_when=asyncio.FIRST_COMPLETED)
            if said.done():
                response = response or await self.open()
                await write(response, said.result())
                continue
            said.cancel()
            if response is None:
                return whole(answer.result())
            await write(response, answer.result())
            return response

    async def forever(self) -> web.StreamResponse:
        response = await self.open()
        while True:
            await write(response, await self._queue.get())


async def write(response: web.StreamResponse, message: Json) -> None:
    await response.write(f"data: {json.dumps({'jsonrpc': '2.0', **message})}\r\n\r\n".encode())


STATUS = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}


def whole(answer: Json) -> web.Response:
    status = STATUS.get(answer["error"]["code"], 200) if "error" in answer else 200
    return web.json_response({"jsonrpc": "2.0", **answer}, status=status)


class EgressProxy:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._running: dict[Any, asyncio.Task[Json]] = {}

    async def take(self, http: web.Request) -> web.StreamResponse:
        if http.method == "POST":
            return await self._post(http, json.loads(await http.read()))
        if self._server.stateless:
            return web.Response(status=405)
        if http.method == "GET":
            stream = Stream(http)
            self._server.aside = stream
            return await stream.forever()
        return web.Response(status=204)

    async def _post(self, http: web.Request, message: Json) -> web.StreamResponse:
        if "id" not in message or "method" not in message:
            self._notice(message)
            return web.Response(status=202)
        if not self._server.stateless and message["method"] == "server/discover":
            return web.Response(status=400, text="not initialized")
        if self._server.stateless and message["method"] == "initialize":
            return web.Response(status=400, text="there is no initialize")
        stream = Stream(http)
        answer = asyncio.ensure_future(self._server.answer(Asked(message, stream, http.headers)))
        self._running[message["id"]] = answer
        answer.add_done_callback(lambda _: self._running.pop(message["id"], None))
        try:
            response = await stream.until(answer)
        except asyncio.CancelledError:
            if self._server.stateless:
                answer.cancel()
            raise
        if message["method"] == "initialize":
            response.headers["Mcp-Session-Id"] = SESSION
        return response

    def _notice(self, message: Json) -> None:
        if "method" not in message:
            self._server.answered(message)
        if message.get("method") == "notifications/cancelled" and not self._server.stateless:
            answer = self._running.get(message["params"]["requestId"])
            if answer is not None:
                answer.cancel()


async def serve_http(server: Server) -> None:
    app = web.Application()
    app.router.add_route("*", "/mcp", EgressProxy(server).take)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/mcp", flush=True)
    await asyncio.Event().wait()
