"""An MCP server that knows each person by name: it takes tokens meant for it, and has other tools for everybody.

It keeps every Authorization header it was sent. `whoami` says whom the token names, `only_<name>` is there for that
person alone, and the resource `ledger://balance` reads differently for each of them.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web

from tests.servers.web import Asked, Web, serve

REVISION = "2025-11-25"
PATIENCE_S = 30.0


class Ledger:
    def __init__(self) -> None:
        self.issuer = ""
        self.web = Web()
        self.sessions: dict[str, str] = {}
        """Whose each is."""
        self.crossed: list[str] = []
        """Requests that came with one person's token to another's session."""
        self.more: dict[str, list[str]] = {}
        """Further tools, by person."""
        self.refuses: set[str] = set()
        """Tokens that are not taken, though they are good."""
        self._keys: jwt.PyJWKClient | None = None
        self._streams: dict[str, asyncio.Queue[str]] = {}
        self._news = asyncio.Event()

    @property
    def url(self) -> str:
        return self.web.url

    @property
    def tokens(self) -> list[str]:
        return [asked.headers.get("Authorization", "").removeprefix("Bearer ") for asked in self.web.asked]

    def person_of(self, token: str) -> str:
        if self._keys is None:
            self._keys = jwt.PyJWKClient(f"{self.issuer}/jwks")
        key = self._keys.get_signing_key_from_jwt(token)
        return jwt.decode(token, key, algorithms=["RS256"], issuer=self.issuer, audience=self.url)["sub"]

    def tools_of(self, person: str) -> list[str]:
        return ["whoami", f"only_{person}", *self.more.get(person, [])]

    async def heard_by(self, person: str) -> None:
        """Back when this person's session listens."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(self.sessions[session] == person for session in self._streams):
                self._news.clear()
                await self._news.wait()

    def tell_changed(self, person: str) -> None:
        for session, whose in self.sessions.items():
            if whose == person and session in self._streams:
                self._streams[session].put_nowait("notifications/tools/list_changed")

    async def respond(self, asked: Asked) -> web.StreamResponse:
        token = asked.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            person = "" if token in self.refuses else await asyncio.to_thread(self.person_of, token)
        except jwt.PyJWTError:
            person = ""
        if not person:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        session = asked.headers.get("Mcp-Session-Id", "")
        if session and self.sessions.get(session) != person:
            self.crossed.append(f"{person} in the session of {self.sessions.get(session)}")
        if asked.method == "GET":
            return await self._listen(asked, session)
        return self._answer(asked, person) if asked.method == "POST" else web.Response(status=200)

    def _answer(self, asked: Asked, person: str) -> web.Response:
        params: dict[str, Any] = asked.message.get("params", {})
        match asked.about:
            case "initialize":
                session = f"session-{len(self.sessions)}"
                self.sessions[session] = person
                capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
                told = {"protocolVersion": REVISION, "capabilities": capabilities, "serverInfo": _INFO}
                return asked.result(told, **{"Mcp-Session-Id": session})
            case "tools/list":
                schema = {"type": "object"}
                return asked.result({"tools": [{"name": n, "inputSchema": schema} for n in self.tools_of(person)]})
            case "tools/call":
                text = f"{person} called {params['name']}"
                return asked.result({"content": [{"type": "text", "text": text}]})
            case "resources/list":
                return asked.result({"resources": [{"uri": "ledger://balance", "name": f"balance of {person}"}]})
            case "resources/templates/list":
                return asked.result({"resourceTemplates": []})
            case "resources/read":
                return asked.result({"contents": [{"uri": "ledger://balance", "text": f"{person} has 7"}]})
            case "prompts/list":
                return asked.result({"prompts": [{"name": f"ask_{person}"}]})
            case "prompts/get":
                text = {"type": "text", "text": f"for {person}"}
                return asked.result({"messages": [{"role": "user", "content": text}]})
            case _ if "id" not in asked.message:
                return web.Response(status=202)
            case _:
                return asked.error(-32601, "unknown method")

    async def _listen(self, asked: Asked, session: str) -> web.StreamResponse:
        events = await asked.stream()
        queue = self._streams[session] = asyncio.Queue[str]()
        self._news.set()
        while True:
            await events.send({"jsonrpc": "2.0", "method": await queue.get()})


_INFO = {"name": "ledger", "version": "1"}


@asynccontextmanager
async def ledger() -> AsyncGenerator[Ledger]:
    made = Ledger()
    async with serve(made.respond) as served:
        made.web = served
        yield made
