"""The gateway inside an ASGI application you already have: serve `app` with any ASGI server, MCP is at /mcp."""

from clawft import Gateway, tool


@tool(read_only=True)
async def stock(item: str) -> dict[str, int]:
    """How many pieces of an item are left."""
    return {"left": len(item) * 7}


mcp = Gateway(stock).asgi(path="/mcp", hosts=None)


async def app(scope, receive, send):
    if scope["path"].startswith("/mcp"):
        await mcp(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"the application that was here before"})
