"""Before initialize: what may be said, what is refused, and that a failed start can be repeated."""

from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import call, mcp_server, modern_meta, notification, request

pytestmark = pytest.mark.slow

NOT_INITIALIZED = -32002


@requirement("SHELL-03", "T-7.14", "AC-18")
async def test_nothing_but_ping_is_answered_before_initialize(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        assert (await pipe.ask("ping"))["result"] == {}
        for method in ("tools/list", "tools/call", "resources/list", "nothing/known", "logging/setLevel"):
            refused = await pipe.ask(method, {"name": "probe__hold", "arguments": {"mark": "early", "seconds": 0}})
            assert refused["error"]["code"] == NOT_INITIALIZED
        await pipe.send(notification("notifications/initialized"), b"garbage\n")
        assert (await pipe.answer(None))["error"]["code"] == -32700
        assert (await pipe.open())["protocolVersion"] == "2025-11-25"
        await pipe.is_well()
        assert not list(tmp_path.glob("early.*"))


@requirement("SHELL-03")
@pytest.mark.parametrize(
    "hello",
    [
        {},
        {"protocolVersion": 5, "capabilities": {}, "clientInfo": {}},
        {"protocolVersion": "2025-11-25", "capabilities": []},
    ],
    ids=["empty", "version is a number", "capabilities is a list"],
)
async def test_a_failed_initialize_opens_nothing(tmp_path: Path, hello: dict[str, object]) -> None:
    async with mcp_server(tmp_path) as pipe:
        assert (await pipe.ask("initialize", hello))["error"]["code"] == -32602
        refused = await pipe.ask("tools/list")
        assert refused["error"]["code"] == NOT_INITIALIZED
        await pipe.open()
        await pipe.is_well()


@requirement("SHELL-02")
@pytest.mark.parametrize("offered", ["2026-07-28", "2099-01-01", "2024-10-07", "", "latest"])
async def test_an_unknown_offer_is_answered_with_our_newest(tmp_path: Path, offered: str) -> None:
    async with mcp_server(tmp_path) as pipe:
        assert (await pipe.open(offered))["protocolVersion"] == "2025-11-25"
        await pipe.is_well()


@requirement("SHELL-18")
async def test_after_a_stateless_request_there_is_no_initialize(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        found = await pipe.ask("server/discover", {"_meta": modern_meta()})
        assert found["result"]["supportedVersions"] == ["2026-07-28"]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        refused = await pipe.ask("initialize", hello)
        assert refused["error"]["code"] == -32022
        assert refused["error"]["data"]["supported"] == ["2026-07-28"]
        lacking = await pipe.ask("tools/list")
        assert lacking["error"]["code"] == -32602
        await pipe.send(request(1, "ping", {"_meta": modern_meta()}))
        assert (await pipe.answer(1))["error"]["code"] == -32601
        await pipe.send(call(2, "probe__echo", {"token": "fine"}, _meta=modern_meta()))
        assert (await pipe.answer(2))["result"]["resultType"] == "complete"
