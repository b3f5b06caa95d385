"""What is ours, or our caller's, and no server may ever see: the token of the front, and our environment."""

import json
import os
from pathlib import Path

import pytest
from aiohttp import web

from tests.requirements import requirement
from tests.security.siege import honest
from tests.security.test_hostile_sites import with_vice
from tests.servers.raw_http import Answer, ask, modern, modern_call
from tests.servers.web import Asked, serve
from tests.servers.weft import gateway

pytestmark = pytest.mark.slow


def with_token(folder: Path) -> dict[str, str]:
    token = (folder / "home" / "gateway.token").read_text()
    return {"Authorization": f"Bearer {token}", "Cookie": f"t={token}", "X-Forwarded-Access-Token": token}


@requirement("OAUTH-21", "LINK-16")
async def test_the_token_of_a_caller_reaches_no_server(tmp_path: Path) -> None:
    async def poked(asked: Asked) -> web.StreamResponse:
        return asked.result({"content": [{"type": "text", "text": "poked"}]})

    async with serve(with_vice(poked)) as site:
        told = json.dumps({"mcpServers": {"site": {"url": site.url}}})
        with gateway(tmp_path, "--mcp-config", told) as served:
            headers = with_token(tmp_path)
            answer = await _until_poked(served.port, headers)
            assert answer.json()["result"]["content"][0]["text"] == "poked"
    sent = json.dumps([dict(asked.headers) for asked in site.asked])
    assert "poke" in json.dumps([asked.message for asked in site.asked])
    assert headers["X-Forwarded-Access-Token"] not in sent
    assert "uthorization" not in sent


async def _until_poked(port: int, headers: dict[str, str]) -> Answer:
    """The server is started with the first look at its tools."""
    while b"site__poke" not in (await ask(port, modern(port, 1, "tools/list", headers=headers))).body:
        pass
    return await ask(port, modern_call(port, 2, "site__poke", {}, headers))


@requirement("POOL-21")
async def test_what_our_environment_holds_reaches_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_OF_OURS", "canary")
    assert os.environ["A_SECRET_OF_OURS"] == "canary"
    with gateway(tmp_path, "--no-auth", "--mcp-config", json.dumps({"mcpServers": {"honest": honest()}})) as served:
        while b"honest__env" not in (await ask(served.port, modern(served.port, 1, "tools/list"))).body:
            pass
        told = await ask(served.port, modern_call(served.port, 2, "honest__env", {"name": "A_SECRET_OF_OURS"}))
    assert told.json()["result"]["content"][0]["text"] == "(unset)"
