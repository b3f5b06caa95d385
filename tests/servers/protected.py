"""A protected MCP server of the official SDK, in a process of its own: `python tests/servers/protected.py ISSUER PORT`.

It takes JWTs of the issuer that are meant for it, and says on stdout which requests carried what.
"""

import asyncio
import functools
import os
import sys
import threading
from typing import Any

from tests.servers.idp import free_port
from tests.servers.lasting import Lasting, Seen


class Protected(Seen):
    def __init__(self, url: str, server: Lasting) -> None:
        super().__init__(server)
        self.url = url


@functools.cache
def _running(issuer: str) -> tuple[str, Lasting]:
    port = str(free_port())
    return f"http://127.0.0.1:{port}/mcp", Lasting((sys.executable, "-m", "tests.servers.protected", issuer, port))


def protected(issuer: str) -> Protected:
    return Protected(*_running(issuer))


def say_again() -> None:
    for line in sys.stdin:
        print(line, end="", flush=True)
    os._exit(0)


def main(issuer: str, port: str) -> None:
    import jwt
    import uvicorn
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.mcpserver import MCPServer
    from pydantic import AnyHttpUrl

    url = f"http://127.0.0.1:{port}/mcp"

    class Verifier:
        keys = jwt.PyJWKClient(f"{issuer}/jwks")

        def _claims(self, token: str) -> dict[str, Any]:
            key = self.keys.get_signing_key_from_jwt(token)
            return jwt.decode(token, key, algorithms=["RS256"], issuer=issuer, audience=url)

        async def verify_token(self, token: str) -> AccessToken | None:
            try:
                claims = await asyncio.to_thread(self._claims, token)
            except jwt.PyJWTError as wrong:
                print("BAD", type(wrong).__name__, flush=True)
                return None
            print("GOOD", claims["sub"], flush=True)
            scopes = str(claims.get("scope", "")).split()
            return AccessToken(
                token=token, client_id=claims["client_id"], scopes=scopes, expires_at=claims["exp"], resource=url
            )

    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(url),
        required_scopes=["api.read"],
        validate_token_resource=True,
    )
    server = MCPServer("protected", token_verifier=Verifier(), auth=settings)

    def hello() -> str:
        """Say hello from behind the lock."""
        return "hello from behind the lock"

    server.tool()(hello)
    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] != "/mcp" and "well-known" not in scope["path"]:
            print("ASKED", scope["method"], scope["path"], flush=True)
        await inner(scope, receive, send)

    config = uvicorn.Config(app, host="127.0.0.1", port=int(port), log_level="error")
    running = uvicorn.Server(config)

    async def serve() -> None:
        task = asyncio.create_task(running.serve())
        while not running.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.05)
        print("READY", flush=True)
        threading.Thread(target=say_again, daemon=True).start()
        await task

    asyncio.run(serve())


if __name__ == "__main__":
    main(*sys.argv[1:])
