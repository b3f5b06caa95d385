"""Serves from the first caller to the last answer, over stdin and stdout, or over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from clawft.gateway.events import RightsChanged
from clawft.gateway.pipe import PipeCaller
from clawft.link.line_writer import LineWriter
from clawft.link.stdio_in import open_stdio, take_stdio

if TYPE_CHECKING:  # which serves through us
    from clawft.app.application import App

GRACE_SECONDS = 5.0
"""How long running calls may take after we were asked to stop."""
LAST_SECONDS = 4.0
"""How long the last output may take to reach a caller, while the servers end."""
LAST_WORD_SECONDS = 1.0
"""How long it may take to tell a caller over HTTP that its call did not end in time."""

_BACKPRESSURE = "too many requests in flight"


async def serve_stdio(app: App, stop: asyncio.Future[int]) -> int:
    """Serve until stdin ends, nobody reads stdout, or `stop` is done; running calls get some time to end.

    Returns the exit code, that of `stop` if it is done.
    """
    ends = take_stdio()
    await app.begin_serving("mcp-server")
    writer = LineWriter()
    caller = PipeCaller(app.gateway, app.caller, writer.write, writer.unread)
    reader = await open_stdio(ends, caller.accept, writer)
    caller.running.throttle(lambda: reader.hold(_BACKPRESSURE), lambda: reader.let_go(_BACKPRESSURE))
    async with app.editors.let_in():
        await asyncio.wait({reader.ended, writer.broken, stop}, return_when=asyncio.FIRST_COMPLETED)
    code = stop.result() if stop.done() else 0
    app.gateway.closing.set()
    await caller.running.drain(0 if writer.broken.done() else GRACE_SECONDS - reader.late)  # else nobody waits for it
    caller.close()
    await asyncio.gather(writer.finish(LAST_SECONDS), app.stop_servers())
    return code


async def serve_http(
    app: App, host: str, port: int, token: str | None, ready: Callable[[str], None], stop: asyncio.Future[int]
) -> int:
    """Serve until `stop` is done. `ready` is called with the address once clients can connect."""
    from clawft.app.access import Entrance  # stdio needs no HTTP
    from clawft.gateway.http.app import ENDPOINT, HttpApp
    from clawft.link.http_in.server import HttpServer, Limits
    from clawft.link.open_files import room_for

    proofs = app.logins.proofs if app.settings.auth_issuer else None
    entrance = Entrance(app.settings, app.caller, host, token, proofs)
    served = HttpApp(app.gateway, entrance.access, max_body=app.settings.max_body, rate=app.settings.rate)
    usual, most = Limits(), app.settings.max_body
    limits = Limits(
        connections=room_for(usual.connections),
        body_bytes=max(usual.body_bytes, most),  # the application refuses a shorter one, with an error of the protocol
        told_body_bytes=most,
    )
    server = HttpServer(served.serve, limits=limits)
    await app.begin_serving("gateway")
    bound, bound_port = await server.start(host, port)
    url = f"http://{f'[{bound}]' if ':' in bound else bound}:{bound_port}{ENDPOINT}"
    entrance.opened(url)
    ready(url)
    following = asyncio.create_task(entrance.follow(app.settings, partial(app.gateway.events.publish, RightsChanged())))
    async with app.editors.let_in():
        code = await stop
    following.cancel()
    app.gateway.closing.set()
    ends = asyncio.get_running_loop().time() + GRACE_SECONDS + LAST_WORD_SECONDS
    await served.drain(GRACE_SECONDS)  # still listening: load balancers ask whether we are ready
    await server.stop(max(0.0, ends - asyncio.get_running_loop().time()))
    return code
