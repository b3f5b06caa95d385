"""Bad requests over HTTP, by raw socket against the real gateway: refused with their status, the next one is served."""

import asyncio
import json

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, modern_meta
from tests.servers.raw_http import (
    Answer,
    Line,
    ask,
    connect,
    head,
    hello,
    message,
    modern,
    modern_call,
    open_session,
    post,
)
from tests.servers.weft import Served

pytestmark = pytest.mark.slow

MISMATCH, UNSUPPORTED, ENVELOPE, PARSE, METHOD, PARAMS = -32020, -32022, -32600, -32700, -32601, -32602
LIST = message(1, "tools/list", {"_meta": modern_meta()})
ROUTING = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
MAX_BODY = 4 * 1024 * 1024
AT_ONCE_S = 3.0


async def is_well(port: int) -> None:
    answer = await ask(port, modern_call(port, 1, "probe__echo", {"token": "well"}))
    assert answer.status == 200
    assert answer.json()["result"]["structuredContent"] == {"token": "well"}


# ── who may come in ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "host",
    ["attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example", "0.0.0.0", "[::2]", "@", "a b"],
)
async def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    answer = await ask(served.port, post(served.port, LIST, {**ROUTING, "Host": host}))
    assert answer.status in (400, 421)
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8765"])
async def test_our_own_names_are_served(served: Served, host: str) -> None:
    assert (await ask(served.port, post(served.port, LIST, {**ROUTING, "Host": host}))).status == 200


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://attacker.example",
        "http://localhost.attacker.example",
        "http://attacker.example/localhost",
        "http://localhost@attacker.example",
        "http://[",
        "localhost",
        "*",
    ],
)
async def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    for path in ("/mcp", "/metrics"):
        answer = await ask(served.port, post(served.port, LIST, {**ROUTING, "Origin": origin}, path=path))
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    await is_well(served.port)


@requirement("SHELL-19")
async def test_a_page_of_our_own_host_is_served(served: Served) -> None:
    for origin in ("http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"):
        assert (await ask(served.port, post(served.port, LIST, {**ROUTING, "Origin": origin}))).status == 200


# ── methods, types, paths ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-18", "SHELL-19")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH", "HEAD"])
async def test_a_stateless_endpoint_takes_only_posts(served: Served, method: str) -> None:
    async with connect(served.port) as line:
        await line.send(
            head(served.port, method, {"MCP-Protocol-Version": "2026-07-28", "Accept": "text/event-stream"})
        )
        status, headers = await line.answer_head()
        assert status == 405
        assert headers["allow"] == "POST"
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize(("method", "status"), [("PUT", 405), ("OPTIONS", 405), ("GET", 400), ("DELETE", 400)])
async def test_without_a_session_there_is_nothing_to_get_or_end(served: Served, method: str, status: int) -> None:
    async with connect(served.port) as line:
        await line.send(head(served.port, method, {"Accept": "text/event-stream"}))
        assert (await line.answer()).status == status
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("method", ["BREW", "CONNECT", "TRACE", "post"])
async def test_a_method_of_another_world_is_refused(served: Served, method: str) -> None:
    answer = await ask(served.port, head(served.port, method, {"Content-Length": "0"}))
    assert answer.status in (400, 501)
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"])
async def test_a_body_that_a_form_could_send_is_refused(served: Served, kind: str) -> None:
    answer = await ask(served.port, post(served.port, LIST, {**ROUTING, "Content-Type": kind}))
    assert answer.status == 415
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("accept", ["text/html", "application/json", "text/event-stream", "image/*"])
async def test_a_client_that_cannot_read_us_is_told(served: Served, accept: str) -> None:
    assert (await ask(served.port, post(served.port, LIST, {**ROUTING, "Accept": accept}))).status == 406


@requirement("SHELL-19")
@pytest.mark.parametrize("accept", ["", "*/*", "text/event-stream;q=0.5, application/json", "application/*, text/*"])
async def test_a_client_that_accepts_anything_is_served(served: Served, accept: str) -> None:
    assert (await ask(served.port, post(served.port, LIST, {**ROUTING, "Accept": accept}))).status == 200


@requirement("SHELL-16")
@pytest.mark.parametrize("path", ["/", "/mcp/../admin", "/MCP", "/sse", "//mcp", "/mcp?x=1/../.."])
async def test_other_places_are_not_ours(served: Served, path: str) -> None:
    answer = await ask(served.port, post(served.port, LIST, ROUTING, path=path))
    assert answer.status in ((200,) if path.startswith("/mcp?") else (404, 405))


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────

BODIES: dict[str, tuple[bytes, int]] = {
    "empty": (b"", PARSE),
    "words": (b"hello", PARSE),
    "half": (LIST[:-1], PARSE),
    "invalid UTF-8": (LIST.replace(b"tools/list", b"tools\xff"), PARSE),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":NaN}}', PARSE),
    "depth 10,000": (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
        PARSE,
    ),
    "a key twice": (b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', ENVELOPE),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', ENVELOPE),
    "a batch": (b"[" + LIST + b"]", ENVELOPE),
    "an empty batch": (b"[]", ENVELOPE),
    "a response": (b'{"jsonrpc":"2.0","id":1,"result":{}}', ENVELOPE),
    "an error": (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', ENVELOPE),
    "no _meta": (message(1, "tools/list"), PARAMS),
    "_meta is a list": (message(1, "tools/list", {"_meta": []}), PARAMS),
}


@requirement("SHELL-18", "SHELL-13", "WIRE-22", "WIRE-13")
@pytest.mark.parametrize("case", BODIES)
async def test_a_bad_body_is_refused_with_its_code(served: Served, case: str) -> None:
    body, code = BODIES[case]
    answer = await ask(served.port, post(served.port, body, ROUTING))
    assert (answer.status, answer.code) == (400, code)
    await is_well(served.port)


@requirement("QUAL-12", "WIRE-13")
@pytest.mark.parametrize("levels", [900, 940, 960, 970, 980, 985, 990])
async def test_nesting_near_the_limit_harms_nobody(served: Served, levels: int) -> None:
    deep: Json = {"token": json.loads("[" * 100 + "]" * 100)}
    body = message(1, "tools/call", {"name": "probe__echo", "arguments": deep, "_meta": modern_meta()})
    body = body.replace(b"[" * 100 + b"]" * 100, b"[" * levels + b"]" * levels)
    for headers in ({**ROUTING, "Mcp-Method": "tools/call", "Mcp-Name": "probe__echo"}, {}):
        answer = await ask(served.port, post(served.port, body, headers))
        assert answer.status in (200, 400)
        assert answer.messages()
    await is_well(served.port)


@requirement("SHELL-18", "SHELL-19")
@pytest.mark.parametrize(
    "wrong",
    [
        {"Mcp-Method": "tools/call"},
        {"Mcp-Method": "TOOLS/LIST"},
        {"Mcp-Method": ""},
        {"MCP-Protocol-Version": "2099-01-01"},
        {"Mcp-Method": "tools/list\r\nMcp-Method: tools/list"},
        {"MCP-Protocol-Version": "2026-07-28\r\nMCP-Protocol-Version: 2026-07-28"},
    ],
    ids=["another method", "letter case", "no method", "another version", "method twice", "version twice"],
)
async def test_headers_that_disagree_with_the_body_are_refused(served: Served, wrong: dict[str, str]) -> None:
    answer = await ask(served.port, post(served.port, LIST, {**ROUTING, **wrong}))
    assert (answer.status, answer.code) == (400, MISMATCH)
    await is_well(served.port)


@requirement("SHELL-18")
@pytest.mark.parametrize("name", ["probe__wait", "", "=?base64?!!!?=", "=?base64?cHJvYmVfX2VjaG8?="])
async def test_a_name_in_the_header_must_be_the_name_in_the_body(served: Served, name: str) -> None:
    answer = await ask(served.port, modern_call(served.port, 1, "probe__echo", {"token": "x"}, {"Mcp-Name": name}))
    assert (answer.status, answer.code) == (400, MISMATCH)


@requirement("SHELL-18")
@pytest.mark.parametrize("version", ["2099-01-01", "garbage", "2026-07-28-draft"])
async def test_a_revision_we_do_not_serve_is_refused_with_the_ones_we_do(served: Served, version: str) -> None:
    meta = modern_meta(**{"io.modelcontextprotocol/protocolVersion": version})
    body = message(1, "tools/list", {"_meta": meta})
    answer = await ask(served.port, post(served.port, body, {**ROUTING, "MCP-Protocol-Version": version}))
    assert (answer.status, answer.code) == (400, UNSUPPORTED)
    assert answer.json()["error"]["data"] == {"supported": ["2026-07-28"], "requested": version}


@requirement("SHELL-18", "SHELL-19")
async def test_what_was_removed_is_unknown(served: Served) -> None:
    for method in ("ping", "initialize", "logging/setLevel", "resources/subscribe", "no/such"):
        answer = await ask(served.port, modern(served.port, 1, method))
        assert (answer.status, answer.code) == (404, METHOD)


@requirement("SHELL-18")
async def test_a_stateless_notification_is_taken_and_does_nothing(served: Served) -> None:
    body = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    answer = await ask(served.port, post(served.port, body, {"MCP-Protocol-Version": "2026-07-28"}))
    assert (answer.status, answer.body) == (202, b"")


# ── framing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12", "WIRE-08")
async def test_a_body_above_the_limit_is_refused_unread(served: Served) -> None:
    async with connect(served.port) as line:
        await line.send(
            head(served.port, "POST", {"Content-Type": "application/json", "Content-Length": "50000000000"})
        )
        assert (await line.answer()).status == 413
        assert await line.is_closed()
    await is_well(served.port)


@requirement("QUAL-12", "WIRE-08")
@pytest.mark.parametrize("form", ["counted", "chunked"])
async def test_a_body_over_our_own_limit_is_refused_with_the_limit(served: Served, form: str) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"' + b"x" * MAX_BODY + b'"}}'
    headers = {"Content-Type": "application/json", "Accept": "*/*"}
    async with connect(served.port) as line:
        if form == "counted":
            await _send_all(line, head(served.port, "POST", {**headers, "Content-Length": str(len(body))}) + body)
        else:
            chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            await _send_all(line, head(served.port, "POST", {**headers, "Transfer-Encoding": "chunked"}) + chunk)
        answer = await line.answer()
    assert answer.status == 413
    assert str(MAX_BODY).encode() in answer.body
    await is_well(served.port)


async def _send_all(line: Line, data: bytes) -> None:
    try:
        await line.send(data)
    except ConnectionError:  # refused before it was all sent
        pass


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    "extra",
    [
        "Content-Length: 10\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 10",
        "Content-Length: 10\r\nContent-Length: 11",
        "Content-Length: 10\r\nContent-Length: 10",
        "Content-Length: +10",
        "Content-Length: -1",
        "Content-Length: 0x10",
        "Content-Length: 10, 10",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Host: localhost\r\nContent-Length: 10",
        "X: a\nY: b\r\nContent-Length: 10",
        "X: a\x00b\r\nContent-Length: 10",
        " folded: yes\r\nContent-Length: 10",
    ],
)
async def test_a_request_two_servers_could_read_differently_is_refused_and_the_connection_closed(
    served: Served, extra: str
) -> None:
    first = head(served.port, "POST", {"Content-Type": "application/json"})[:-2] + extra.encode("latin-1") + b"\r\n\r\n"
    async with connect(served.port) as line:
        await line.send(first + b"0123456789" + modern(served.port, 2, "tools/list"))
        answer = await line.answer()
        assert answer.status in (400, 501)
        assert await line.is_closed(), "what followed was read as a request of its own"
    await is_well(served.port)


@requirement("QUAL-12")
@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused_and_closed(served: Served, junk: bytes) -> None:
    async with connect(served.port) as line:
        await line.send(junk)
        status, _ = await line.answer_head()
        assert status >= 400
    await is_well(served.port)


@requirement("QUAL-12")
@pytest.mark.parametrize("much", ["one header", "many headers", "the path", "endless"])
async def test_a_head_above_the_limit_is_refused(served: Served, much: str) -> None:
    heads = {
        "one header": head(served.port, "POST", {"X": "x" * 20_000}),
        "many headers": head(served.port, "POST", {f"X-{n}": "x" for n in range(200)}),
        "the path": head(served.port, "POST", {}, "/" + "x" * 20_000),
        "endless": b"POST /mcp HTTP/1.1\r\nX: " + b"x" * 100_000,
    }
    async with connect(served.port) as line:
        await _send_all(line, heads[much])
        assert (await line.answer()).status == 431
    await is_well(served.port)


@pytest.mark.xfail(reason="link/http_protocol._next never feeds what it held while a half-read request is current")
@requirement("SHELL-12")
async def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    async with connect(served.port) as line:
        await line.send(b"".join(modern_call(served.port, n, "probe__echo", {"token": f"t{n}"}) for n in range(20)))
        async with asyncio.timeout(AT_ONCE_S):
            answers = [(await line.answer()).json() for _ in range(20)]
    assert [(a["id"], a["result"]["structuredContent"]["token"]) for a in answers] == [(n, f"t{n}") for n in range(20)]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
@pytest.mark.parametrize("id", ["", "x", "0", "../../etc/passwd", "A" * 43, "\u00ff" * 8, "a, b"])
async def test_a_guessed_session_is_unknown(served: Served, id: str) -> None:
    await open_session(served.port)
    for data in (
        post(served.port, message(1, "tools/list"), {"Mcp-Session-Id": id}),
        head(served.port, "GET", {"Mcp-Session-Id": id, "Accept": "text/event-stream"}),
        head(served.port, "DELETE", {"Mcp-Session-Id": id}),
    ):
        answer = await ask(served.port, data)
        assert answer.status == (404 if id else 400)
    await is_well(served.port)


@requirement("SHELL-19")
async def test_session_ids_cannot_be_guessed_from_one_another(served: Served) -> None:
    ids = [(await open_session(served.port)).id for _ in range(20)]
    assert len({id[:6] for id in ids}) == len(ids)
    assert all(len(id) >= 32 and id.isascii() and id.isprintable() for id in ids)


@requirement("SHELL-19")
async def test_an_ended_session_is_unknown(served: Served) -> None:
    session = await open_session(served.port)
    assert (await ask(served.port, session.delete())).status == 204
    assert (await ask(served.port, session.post(message(1, "ping")))).status == 404
    assert (await ask(served.port, session.delete())).status == 404


@requirement("SHELL-19")
async def test_a_failed_initialize_gives_no_session(served: Served) -> None:
    answer = await ask(served.port, post(served.port, message(1, "initialize", {"protocolVersion": 3})))
    assert answer.code == PARAMS
    assert "mcp-session-id" not in answer.headers


@requirement("WIRE-22")
@pytest.mark.parametrize(("revision", "status"), [("2025-03-26", 200), ("2025-06-18", 400), ("2025-11-25", 400)])
async def test_a_batch_is_for_one_revision_only(served: Served, revision: str, status: int) -> None:
    session = await open_session(served.port, revision)
    batch = b"[" + message(1, "ping") + b"," + message("b", "tools/list") + b"]"
    answer = await ask(served.port, session.post(batch))
    assert answer.status == status
    if status == 200:
        told: object = json.loads(answer.body)
        assert isinstance(told, list)
        assert {member["id"] for member in told} == {1, "b"}  # pyright: ignore[reportUnknownVariableType]  # any JSON


@requirement("WIRE-05")
async def test_an_answer_nobody_asked_for_is_taken_and_dropped(served: Served) -> None:
    session = await open_session(served.port)
    for body in (
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}',
    ):
        assert (await ask(served.port, session.post(body))).status == 202
    assert (await ask(served.port, session.post(message(1, "ping")))).json()["result"] == {}


@requirement("WIRE-05", "SHELL-19")
async def test_sessions_do_not_mix(served: Served) -> None:
    """The same ids in two sessions at the same time; a cancel in one does not reach the other."""
    first, second = await open_session(served.port), await open_session(served.port)
    arguments = {"token": "mine", "seconds": 0.6}

    async def run(data: bytes) -> Answer:
        return await ask(served.port, data)

    running = asyncio.create_task(run(first.call(1, "probe__wait", arguments)))
    other = asyncio.create_task(run(second.call(1, "probe__wait", {**arguments, "token": "other"})))
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    third = await open_session(served.port)
    assert (await ask(served.port, third.post(cancel))).status == 202
    tokens = [(await task).messages()[-1]["result"]["content"][0]["text"] for task in (running, other)]
    assert tokens == ["mine", "other"]


@requirement("SHELL-19")
@pytest.mark.parametrize("event", ["x", "0.", ".5", "9.1", "0.999999999999999999999", "-1.-1", "0.1.2"])
async def test_a_made_up_event_id_is_refused(served: Served, event: str) -> None:
    session = await open_session(served.port)
    answer = await ask(served.port, session.get({"Last-Event-ID": event}))
    assert answer.status in (400, 404)


@requirement("SHELL-19")
async def test_one_session_has_one_stream(served: Served) -> None:
    session = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(session.get())
        status, headers = await line.answer_head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert (await ask(served.port, session.get())).status == 409


@requirement("SHELL-02", "SHELL-19")
async def test_unknown_offers_are_answered_with_our_newest(served: Served) -> None:
    answer = await ask(served.port, hello(served.port, "2099-01-01"))
    assert answer.json()["result"]["protocolVersion"] == "2025-11-25"
