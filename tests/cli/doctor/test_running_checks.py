"""`weft doctor` beside a weft that serves."""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web

from tests.requirements import requirement
from tests.servers.pipe import Json
from tests.servers.web import Asked, serve
from tests.servers.weft import gateway, weft

pytestmark = pytest.mark.slow  # processes that take their time

HONEST = Path(__file__).parents[2] / "servers" / "honest.py"
PATIENCE_S = 30.0


def findings_of(folder: Path) -> list[Json]:
    findings = json.loads(weft(folder, "doctor", "--json").stdout)["findings"]
    return [finding for finding in findings if finding["what"] == "running"]


@requirement("MGR-19", "LINK-26")
async def test_the_doctor_names_the_command_that_logs_in(tmp_path: Path) -> None:
    async def locked(asked: Asked) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})

    def found(given: str) -> Json:
        with gateway(tmp_path, "--mcp-config", given):
            end = time.monotonic() + PATIENCE_S  # there is no event to wait for from out here
            while len(told := findings_of(tmp_path)) < 2:
                assert time.monotonic() < end, told
            return told[1]

    async with serve(locked) as served:
        told = await asyncio.to_thread(found, json.dumps({"mcpServers": {"docs": {"url": served.url}}}))
    assert told["said"].endswith(f"docs is needs-auth: {served.url} needs a login")
    assert told["hint"] == "weft auth login docs"


@requirement("MGR-19", "AGENT-14")
def test_a_server_that_is_down_in_a_weft_that_serves_is_told_by_the_doctor(tmp_path: Path) -> None:
    dead = {"command": sys.executable, "args": [str(HONEST), "--die-on", "initialize"]}
    assert findings_of(tmp_path) == []
    with gateway(tmp_path, "--mcp-config", json.dumps({"mcpServers": {"dead": dead}})) as served:
        end = time.monotonic() + PATIENCE_S  # there is no event to wait for from out here
        while len(found := findings_of(tmp_path)) < 2:
            assert time.monotonic() < end, found
        assert found[0]["said"] == f"weft gateway, process {served.pid}: 0 of 1 servers connected"
        assert f"process {served.pid}: dead is " in found[1]["said"]
        assert "exited with status 3" in found[1]["said"]
        assert found[1]["hint"].endswith(" dead")
