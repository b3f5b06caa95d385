"""Batches: in a 2025-03-26 conversation only."""

from typing import Any

import pytest

from clawft.wire.jsonrpc.batches import MAX_BATCH
from tests.gateway.asgi_client import http
from tests.gateway.support import Demo, Gate, echo, modern, pipe, serving, soon, turns
from tests.requirements import requirement


def request(id: Any, method: str = "ping", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})}


@requirement("WIRE-22")
async def test_all_answers_come_together() -> None:
    async with pipe(serving(Demo().add("echo", echo))) as caller:
        await caller.initialize("2025-03-26")
        caller.write(
            [
                request(1),
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
                request("two", "tools/call", name="demo__echo"),
                request(3, "no/such"),
                request(4, "initialize", protocolVersion="2025-03-26"),
                {"jsonrpc": "2.0", "id": 55, "result": {}},
                {"broken": True},
                5,
            ]
        )
        answers = await caller.batch()
        by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
        assert by_id[1]["result"] == {}
        assert by_id["two"]["result"]["content"][0]["text"] == "{}"
        assert by_id[3]["error"]["code"] == -32601
        assert by_id[4]["error"]["code"] == -32600
        assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [-32600, -32600]
        assert len(answers) == 6


UNKNOWN = "batches are part of 2025-03-26 only (send each message by itself)"
OTHERS = pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
ANY_LENGTH = pytest.mark.parametrize("length", [0, 1, MAX_BATCH + 1])


@requirement("WIRE-22")
@OTHERS
@ANY_LENGTH
async def test_other_revisions_know_no_batches(revision: str, length: int) -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.initialize(revision)
        caller.write([request(n) for n in range(length)])
        answer = await caller.message(lambda m: "error" in m)
        assert (answer["id"], answer["error"]) == (None, {"code": -32600, "message": UNKNOWN})


@requirement("WIRE-22")
@OTHERS
@ANY_LENGTH
async def test_other_revisions_know_none_over_http(revision: str, length: int) -> None:
    async with http(serving(Demo())) as client:
        session = await client.initialize(revision)
        refused = await session.write([request(n) for n in range(length)]).whole()
        assert (refused.status, refused.json["id"]) == (400, None)
        assert refused.json["error"] == {"code": -32600, "message": UNKNOWN}


@requirement("WIRE-22")
@ANY_LENGTH
async def test_the_stateless_era_knows_none_over_http(length: int) -> None:
    async with http(serving(Demo())) as client:
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
        refused = await client.post([request(n, "tools/list", **modern()) for n in range(length)], headers).whole()
        assert (refused.status, refused.json["error"]) == (400, {"code": -32600, "message": UNKNOWN})


@requirement("WIRE-22")
async def test_the_stateless_era_and_the_time_before_initialize_know_no_batches() -> None:
    async with pipe(serving(Demo())) as caller:
        caller.write([request(1, "initialize", protocolVersion="2025-03-26")])
        assert (await caller.message(lambda m: "error" in m))["error"] == {"code": -32600, "message": UNKNOWN}
        await caller.ask("tools/list", modern())
        caller.write([request(1, "tools/list", **modern())])
        assert (await caller.message(lambda m: "error" in m))["error"] == {"code": -32600, "message": UNKNOWN}


@requirement("WIRE-22")
@pytest.mark.parametrize("members", [[], [request(n) for n in range(MAX_BATCH + 1)]])
async def test_a_batch_has_bounds(members: list[Any]) -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.initialize("2025-03-26")
        caller.write(members)
        answer = await caller.message(lambda m: "error" in m)
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@requirement("WIRE-22")
async def test_a_batch_without_requests_is_not_answered() -> None:
    async with pipe(serving(Demo())) as caller:
        await caller.initialize("2025-03-26")
        caller.write([{"jsonrpc": "2.0", "method": "notifications/x"}, {"jsonrpc": "2.0", "id": 9, "result": {}}])
        await caller.ask("ping")
        assert caller.messages == []


@requirement("WIRE-22", "SHELL-12")
async def test_a_cancelled_member_does_not_hold_up_the_others() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize("2025-03-26")
        caller.write([request(1), request(2, "tools/call", name="demo__wait")])
        await soon(gate.begun)
        assert caller.messages == []
        caller.notify("notifications/cancelled", requestId=2)
        await soon(gate.cancelled)
        assert [answer["id"] for answer in await caller.batch()] == [1]


@requirement("WIRE-22", "SHELL-12")
async def test_a_batch_that_was_cancelled_whole_is_not_answered() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize("2025-03-26")
        caller.write([request(2, "tools/call", name="demo__wait")])
        await soon(gate.begun)
        caller.notify("notifications/cancelled", requestId=2)
        await soon(gate.cancelled)
        await turns(lambda: not len(caller.served.running))
        assert caller.messages == []


@requirement("WIRE-22", "SHELL-12")
async def test_a_member_may_cancel_one_before_it() -> None:
    gate = Gate()
    async with pipe(serving(Demo().add("wait", gate))) as caller:
        await caller.initialize("2025-03-26")
        cancelling = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        caller.write([request(1), request(2, "tools/call", name="demo__wait"), cancelling, request(3)])
        assert {answer["id"] for answer in await caller.batch()} == {1, 3}
        caller.write([request(4, "tools/call", name="demo__wait"), {**cancelling, "params": {"requestId": 4}}])
        await turns(lambda: not len(caller.served.running))
        assert caller.messages == []
