"""2026-07-28 over HTTP: each POST stands alone, and leaving means cancelling."""

import asyncio
import json
from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from clawft.errors import JsonRpcFailure
from clawft.gateway.core import Gateway
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all
from clawft.model import Call, Caller, Grant, Reply
from clawft.wire.meta import CAPABILITIES, SUBSCRIPTION, VERSION
from tests.gateway.asgi_client import POSTED, http
from tests.gateway.asking import ADA, CAN_FILL
from tests.gateway.asking import server as asking_server
from tests.gateway.support import Demo, Gate, echo, modern, serving, soon, texts
from tests.requirements import requirement

NEW = {"mcp-protocol-version": "2026-07-28"}
REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


async def busy(call: Call) -> Reply:
    call.talk.progress(1)
    call.talk.log("info", "working")
    return Reply.text("done")


def server(**options: Any) -> Gateway:
    demo = Demo().add("echo", echo).add("busy", busy).add("where", echo, REGION)
    return serving(demo, **options)


@requirement("SHELL-18", "SHELL-19")
async def test_a_call_is_answered_with_json() -> None:
    async with http(server()) as client:
        answer = await client.stateless("tools/call", modern(name="demo__echo", arguments={"n": 1}), id="é").whole()
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json["id"] == "é"
        assert texts(answer.json) == ['{"n": 1}']
        validate_server_result("tools/call", "2026-07-28", answer.json["result"])
        assert "mcp-session-id" not in answer.headers


@requirement("SHELL-19")
async def test_it_becomes_a_stream_once_there_is_something_to_stream() -> None:
    async with http(server()) as client:
        params = modern(name="demo__busy", token="p", level="info")
        answer = await client.stateless("tools/call", params).whole()
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        assert [m.get("method", "answer") for m in answer.messages] == [
            "notifications/progress",
            "notifications/message",
            "answer",
        ]
        assert all(event.id is None and event.event == "message" for event in answer.events)
        quiet = await client.stateless("tools/call", modern(name="demo__busy")).whole()
        assert quiet.headers["content-type"] == "application/json"


@requirement("SHELL-18", "WIRE-13")
@pytest.mark.parametrize("version", ["1999-01-01", "garbage"])
async def test_whoever_garbles_the_header_of_a_session_is_told_so(version: str) -> None:
    """And not only what requests of the other era must carry, which sessions know nothing of."""
    async with http(server()) as client:
        session = await client.initialize()
        request = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        answer = await client.post(request, {**session.headers, "mcp-protocol-version": version}).whole()
        assert (answer.status, answer.json["id"]) == (400, 7)
        assert f"the header MCP-Protocol-Version says '{version}'" in answer.json["error"]["message"]
        assert "2025-06-18, 2025-11-25" in answer.json["error"]["message"]


@requirement("SHELL-18", "SHELL-19", "WIRE-13")
@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("no/such", modern(), {}, 404, -32601),
        ("initialize", modern(), {}, 404, -32601),
        ("ping", modern(), {}, 404, -32601),
        ("tools/call", modern(name="none"), {}, 400, -32602),
        ("tools/call", modern(name="demo__echo", arguments=5), {}, 400, -32602),
        ("tools/list", modern(cursor="x"), {}, 400, -32602),
        ("tools/list", {}, {}, 400, -32602),
        ("tools/list", {"_meta": {VERSION: "2026-07-28"}}, {}, 400, -32602),
        ("tools/list", {"_meta": 5}, {}, 400, -32602),
        ("tools/list", {"_meta": {VERSION: 5, CAPABILITIES: {}}}, {}, 400, -32602),
        ("tools/list", modern(), {"mcp-method": "tools/call"}, 400, -32020),
        ("tools/list", modern(), {"mcp-method": ""}, 400, -32020),
        ("tools/list", modern(), {"mcp-protocol-version": ""}, 400, -32020),
        ("tools/list", modern(), {"mcp-protocol-version": "2025-11-25"}, 400, -32020),
        ("tools/list", modern(), {"mcp-protocol-version": "2099-01-01"}, 400, -32020),
        ("tools/call", modern(name="demo__echo"), {"mcp-name": "other"}, 400, -32020),
        ("tools/call", modern(name="demo__echo"), {"mcp-name": ""}, 400, -32020),
        ("tools/call", modern(name="demo__echo"), {"mcp-name": "=?base64?\xff?="}, 400, -32020),
        ("tools/call", modern(name="demo__where", arguments={"region": "eu"}), {}, 400, -32020),
        ("tools/call", modern(name="demo__where"), {"mcp-param-region": "eu"}, 400, -32020),
        ("tasks/get", modern(taskId="t"), {}, 400, -32021),
        ("resources/read", modern(uri="no://such"), {}, 400, -32602),
    ],
)
async def test_statuses_and_codes(
    method: str, params: dict[str, Any], headers: dict[str, str], status: int, code: int
) -> None:
    async with http(server()) as client:
        answer = await client.stateless(method, params, 7, headers).whole()
        assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (status, code, 7)


@requirement("SHELL-19", "WIRE-03")
async def test_a_method_that_a_server_does_not_know_is_no_page_of_ours_that_is_missing() -> None:
    """The official TypeScript client reads 404 as a failure of the connection, and its person never hears the error."""

    async def refuse(call: Call) -> Reply:
        raise JsonRpcFailure(-32601, "not here", {"n": 1})

    async with http(serving(Demo().add("refuse", refuse))) as client:
        answer = await client.stateless("tools/call", modern(name="demo__refuse")).whole()
        assert (answer.status, answer.json["error"]) == (200, {"code": -32601, "message": "not here", "data": {"n": 1}})


@requirement("SHELL-18")
async def test_a_version_we_do_not_serve_is_refused_with_those_we_do() -> None:
    async with http(server()) as client:
        params: dict[str, Any] = {"_meta": {VERSION: "2099-01-01", CAPABILITIES: {}}}
        answer = await client.stateless("tools/list", params, headers={"mcp-protocol-version": "2099-01-01"}).whole()
        assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
        assert answer.json["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


@requirement("SHELL-18")
async def test_mirrored_arguments_are_compared() -> None:
    async with http(server()) as client:
        params = modern(name="demo__where", arguments={"region": "日本"})
        answer = await client.stateless(
            "tools/call", params, headers={"mcp-param-region": "=?base64?5pel5pys?="}
        ).whole()
        assert answer.status == 200
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        far = body.replace(b'{"region"', b'{"n": 1e400, "region"')
        told = {**NEW, "mcp-method": "tools/call", "mcp-name": "demo__where", "mcp-param-region": "x"}
        assert (await client.post(far, told).whole()).json["error"]["code"] in (-32602, -32020)


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "twice", [b'{"region": "us", "region"', b'{"region": "eu", "x": {"a": 1, "a": 2}, "re\\u0067ion"']
)
async def test_a_mirrored_argument_that_occurs_twice_is_no_match(twice: bytes) -> None:
    async with http(server()) as client:
        params = modern(name="demo__where", arguments={"region": "eu"})
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        told = {**NEW, "mcp-method": "tools/call", "mcp-name": "demo__where", "mcp-param-region": "eu"}
        assert (await client.post(body, told).whole()).status == 200
        refused = await client.post(body.replace(b'{"region"', twice), told).whole()
        assert (refused.status, refused.json["error"]["code"]) == (400, -32020)


@requirement("GUARD-07")
async def test_mirrors_of_a_hidden_tool_are_not_checked() -> None:
    access = Access(open_to_all(Caller(grant=Grant(deny=("*where",)))), LOOPBACK_HOSTS)
    async with http(server(), access) as client:
        params = modern(name="demo__where", arguments={"region": "eu"})
        answer = await client.stateless("tools/call", params).whole()
        assert answer.json["error"]["code"] == -32602


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"nope", 400, -32700),
        (b"", 400, -32700),
        (b"[]", 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1}', 400, -32600),
    ],
)
async def test_bodies_that_are_no_request(body: bytes, status: int, code: int) -> None:
    async with http(server()) as client:
        answer = await client.post(body, NEW).whole()
        assert (answer.status, answer.json["error"]["code"]) == (status, code)


@requirement("SHELL-19")
async def test_a_notification_is_accepted_and_does_nothing() -> None:
    gate = Gate()
    async with http(serving(Demo().add("wait", gate))) as client:
        running = client.stateless("tools/call", modern(name="demo__wait"), id=1)
        await soon(gate.begun)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        answer = await client.post(cancelled, NEW).whole()
        assert (answer.status, answer.body) == (202, b"")
        gate.open.set()
        assert texts((await running.whole()).json) == ["through"]


@requirement("SHELL-19")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_there_is_only_post(method: str) -> None:
    async with http(server()) as client:
        answer = await client.start(method, headers=NEW).whole()
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


@requirement("SHELL-18")
async def test_headers_of_the_other_era_are_ignored() -> None:
    async with http(server()) as client:
        odd = {"mcp-session-id": "nonsense", "last-event-id": "nonsense"}
        assert (await client.stateless("tools/list", modern(), headers=odd).whole()).status == 200


# ── listening and asking ─────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-17")
async def test_a_listener_has_a_stream_until_it_leaves() -> None:
    served = server()
    async with http(served) as client:
        stream = client.stateless("subscriptions/listen", modern(notifications={"toolsListChanged": True}), id="l")
        first = await stream.message()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        served.register(Demo("more"))
        heard = await stream.message(lambda m: m.get("method") == "notifications/tools/list_changed")
        assert heard["params"]["_meta"] == {SUBSCRIPTION: "l"}
        stream.leave()
        async with asyncio.timeout(5):
            await stream.task


@requirement("SHELL-17", "SHELL-14")
async def test_a_listen_ends_with_a_result_when_we_shut_down() -> None:
    served = server()
    async with http(served) as client:
        stream = client.stateless("subscriptions/listen", modern(notifications={"toolsListChanged": True}), id="l")
        await stream.message()
        served.closing.set()
        last = (await stream.whole()).messages[-1]
        assert (last["id"], last["result"]["resultType"]) == ("l", "complete")


@requirement("SHELL-18")
async def test_input_required_over_http() -> None:
    async with http(asking_server()) as client:
        first = await client.stateless("tools/call", modern(CAN_FILL, name="demo__greet")).whole()
        assert (first.status, first.json["result"]["resultType"]) == (200, "input_required")
        assert "method" not in first.json
        state = first.json["result"]["requestState"]
        retry = modern(CAN_FILL, name="demo__greet", inputResponses={"who": ADA}, requestState=state)
        assert texts((await client.stateless("tools/call", retry).whole()).json) == ["hello ada"]
        lacking = await client.stateless("tools/call", modern(name="demo__greet")).whole()
        assert (lacking.status, lacking.json["error"]["code"]) == (400, -32021)


@requirement("SHELL-19")
async def test_a_caller_that_leaves_before_its_body_is_whole_is_forgotten() -> None:
    arriving: list[dict[str, Any]] = [
        {"type": "http.request", "body": b'{"jsonrpc":', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return arriving.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async with http(server()) as client:
        headers = {"host": "localhost", **POSTED, **NEW}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/mcp", "headers": pairs}
        async with asyncio.timeout(5):
            await client.app(scope, receive, send)
        assert sent == []
