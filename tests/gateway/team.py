"""People with tokens of a real provider on one real gateway: what each asks, in the stateless dialect."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from clawft.auth.vault import Vault
from tests.auth.logins import logged_in
from tests.servers.idp import Idp, idp
from tests.servers.pipe import STATELESS, modern_meta
from tests.servers.weft import Served, gateway

SOON_S = 30.0

RULES = """
[gateway.auth]
issuer = "{issuer}"
scopes = ["api.read"]
grants = [
  {{ group = "dev", allow = ["memory__*", "file__read"] }},
  {{ group = "ops", allow = ["shell__*", "memory__list"], deny = ["shell__kill"] }},
]
[tools]
deny = ["file__write"]
"""

Json = dict[str, Any]


class Team:
    def __init__(self, provider: Idp, served: Served, tokens: Mapping[str, str]) -> None:
        self.provider, self.served, self.tokens = provider, served, tokens

    def _headers(self, token: str, method: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": STATELESS,
            "Mcp-Method": method,
        }

    async def post(self, token: str, method: str, params: Json | None = None) -> tuple[int, Mapping[str, str], Json]:
        headers = self._headers(token, method)
        if params and ("name" in params or "uri" in params):
            headers["Mcp-Name"] = params.get("name") or params["uri"]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": modern_meta()}}
        async with (
            aiohttp.ClientSession() as client,
            client.post(self.served.url, json=body, headers=headers) as answer,
        ):
            text = await answer.text()
            return answer.status, dict(answer.headers), json.loads(text) if text.startswith("{") else {"text": text}

    @asynccontextmanager
    async def listening(self, person: str) -> AsyncGenerator[aiohttp.StreamReader]:
        """Everything a listen of this person hears, once it is acknowledged."""
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        params = {"notifications": wanted, "_meta": modern_meta()}
        body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
        headers = self._headers(self.tokens[person], "subscriptions/listen")
        async with (
            aiohttp.ClientSession() as client,
            client.post(self.served.url, json=body, headers=headers) as answer,
        ):
            assert await next_notice(answer.content) == "notifications/subscriptions/acknowledged"
            yield answer.content

    async def names(self, person: str) -> set[str]:
        _, _, told = await self.post(self.tokens[person], "tools/list")
        assert told["result"]["cacheScope"] == "private"
        return {tool["name"] for tool in told["result"]["tools"]}

    async def call(self, person: str, tool: str, **arguments: Any) -> Json:
        return (await self.post(self.tokens[person], "tools/call", {"name": tool, "arguments": arguments}))[2]


async def next_notice(stream: aiohttp.StreamReader) -> str:
    """The method of the next message of a stream; empty at the end."""
    async with asyncio.timeout(SOON_S):
        async for line in stream:
            if line.startswith(b"data:"):
                return json.loads(line[5:]).get("method", "")
    return ""


@asynccontextmanager
async def team(
    folder: Path,
    *options: str,
    rules: str = RULES,
    names: tuple[str, ...] = ("ada", "bob"),
    lifetime: int = 3600,
    exchanged: int = 3600,
) -> AsyncGenerator[Team]:
    provider = idp(lifetime, exchanged)
    (folder / "home").mkdir()
    (folder / "home" / "config.toml").write_text(rules.format(issuer=provider.issuer))
    with gateway(folder, *options) as served:
        tokens = {
            person: (
                await logged_in(provider, Vault(folder / person), resource=served.url, person=person)
            ).tokens.access_token
            for person in names
        }
        yield Team(provider, served, tokens)
