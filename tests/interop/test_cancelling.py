"""What an agent says when it takes a call back reaches the server, whichever way the call went."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from clawft.wire.cancel import cancel_details
from tests.requirements import requirement
from tests.servers.pipe import Json, mcp_server, modern_meta, notification, request

pytestmark = [pytest.mark.slow, requirement("SESS-14", "WIRE-21")]  # processes

SERVERS = Path(__file__).parents[1] / "servers"
PATIENCE_S = 20.0
SAID: Json = {"reason": "the person pressed stop", "x-vendor": [1.50]}


def cancellations(log: Path) -> list[Json]:
    """The params of every cancellation that the server has read."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [each["params"] for each in map(json.loads, lines) if each.get("method") == "notifications/cancelled"]


def has_begun(log: Path) -> bool:
    return log.exists() and "tools/call" in log.read_text()


@pytest.mark.parametrize("meta", [{}, {"_meta": modern_meta()}], ids=["handshake", "stateless"])
async def test_the_reason_of_a_cancelled_call_reaches_its_server(meta: Json, tmp_path: Path) -> None:
    log = tmp_path / "heard.jsonl"
    entry = {"command": sys.executable, "args": [str(SERVERS / "honest.py"), "--log", str(log)], "sandbox": "off"}
    async with mcp_server(tmp_path, "--mcp-config", json.dumps({"mcpServers": {"one": entry}})) as pipe:
        if not meta:
            await pipe.open()
        await pipe.ask("tools/list", dict(meta))
        slow = {"name": "one__report", "arguments": {"steps": 1_000, "pause": 0.1}, **meta}
        await pipe.send(request(7, "tools/call", slow))
        async with asyncio.timeout(PATIENCE_S):
            while not has_begun(log):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
            own = {"x.example/k": 1}
            beside = {**SAID, "_meta": {**meta.get("_meta", {}), **own}}
            await pipe.send(notification("notifications/cancelled", {"requestId": 7, **beside}))
            while not cancellations(log):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.01)
        (heard,) = cancellations(log)
        assert heard.pop("requestId") != 7
        assert heard == {**SAID, "_meta": own}


@pytest.mark.parametrize("beside", ["x" * 5_000, None, [1]])
async def test_what_is_too_long_or_no_object_is_left_out(beside: object) -> None:
    params = {"requestId": 1, "reason": beside} if isinstance(beside, str) else beside
    assert cancel_details(json.dumps(params).encode()) == b""
