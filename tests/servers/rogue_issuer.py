"""A protected server and its authorization server in one; a test can replace each of its answers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl

from aiohttp import web

from tests.servers.pipe import Json

Answer = Json | Callable[["Asked"], web.Response]
"""A document, or how to answer."""


class Asked:
    def __init__(self, http: web.Request, body: bytes) -> None:
        self.path = http.path
        self.body = body
        self.form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        self.token = http.headers.get("Authorization", "").removeprefix("Bearer ")


class Rogue:
    def __init__(self, site: str, answers: Mapping[str, Answer]) -> None:
        self.site = site
        self.server = f"{site}/mcp"
        self.asked: list[Asked] = []
        self.before: dict[str, Callable[[], Awaitable[None]]] = {}
        """What an answer waits for."""
        self._answers: dict[str, Answer] = {
            "/mcp": self.wants_login,
            "/.well-known/oauth-protected-resource/mcp": {"resource": self.server, "authorization_servers": [site]},
            "/.well-known/oauth-authorization-server": self.metadata(),
            "/register": {"client_id": "me"},
            "/token": {"access_token": "good", "token_type": "Bearer"},
            **answers,
        }

    def metadata(self) -> Json:
        return {
            "issuer": self.site,
            "authorization_endpoint": f"{self.site}/authorize",
            "token_endpoint": f"{self.site}/token",
            "registration_endpoint": f"{self.site}/register",
            "device_authorization_endpoint": f"{self.site}/device",
            "code_challenge_methods_supported": ["S256"],
        }

    def tell(self, member: str, value: object) -> None:
        """Of itself, from now on."""
        self._answers["/.well-known/oauth-authorization-server"] = {**self.metadata(), member: value}

    def replace(self, path: str, answer: Answer) -> None:
        self._answers[path] = answer

    def wants_login(self, asked: Asked) -> web.Response:
        place = f"{self.site}/.well-known/oauth-protected-resource/mcp"
        return web.Response(status=401, headers={"WWW-Authenticate": f'Bearer resource_metadata="{place}"'})

    def asked_at(self, path: str) -> list[Asked]:
        return [each for each in self.asked if each.path == path]

    async def answer(self, http: web.Request) -> web.StreamResponse:
        asked = Asked(http, await http.read())
        self.asked.append(asked)
        if http.path in self.before:
            await self.before[http.path]()
        found = self._answers.get(http.path)
        if found is None:
            return web.Response(status=404)
        return found(asked) if callable(found) else web.json_response(found)


@asynccontextmanager
async def rogue_issuer(answers: Mapping[str, Answer]) -> AsyncGenerator[Rogue]:
    made: list[Rogue] = []

    async def take(http: web.Request) -> web.StreamResponse:
        return await made[0].answer(http)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", take)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made.append(Rogue(f"http://127.0.0.1:{runner.addresses[0][1]}", answers))
        yield made[0]
    finally:
        await runner.cleanup()
