"""The gateway inside an ASGI application you already have: serve `app` with any ASGI server, MCP is at /mcp.

Answers on loopback names only and asks for no token. For anything else name your hosts and a token:
`gateway.asgi(hosts={"mcp.example.com"}, token=…)`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from clawft import Gateway, tool

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[Any], Awaitable[None]]


@tool(read_only=True)
async def stock(item: str) -> dict[str, int]:
    """How many pieces of an item are left."""
    return {"left": len(item) * 7}


gateway = Gateway(stock)
mcp = gateway.asgi(path="/mcp")


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["path"].startswith("/mcp"):
        await mcp(scope, receive, send)
    else:
        await page(send)


async def lifespan(receive: Receive, send: Send) -> None:
    """Closing the gateway writes what the audit still holds."""
    while True:
        kind = (await receive())["type"]
        if kind == "lifespan.shutdown":
            await gateway.close()
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def page(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"the application that was here before"})
