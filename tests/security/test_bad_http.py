"""Bad requests over HTTP, by raw socket against the real gateway: refused with their status, the next one is served."""

import gzip
import json

import pytest

from tests.requirements import requirement
from tests.security.well import is_well
from tests.servers.pipe import Json, modern_meta
from tests.servers.raw_http import ask, connect, head, message, modern, modern_call, post
from tests.servers.weft import Served

pytestmark = pytest.mark.slow

MISMATCH, UNSUPPORTED, ENVELOPE, PARSE, METHOD, PARAMS = -32020, -32022, -32600, -32700, -32601, -32602
LIST = message(1, "tools/list", {"_meta": modern_meta()})
ROUTING = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


# ── who may come in ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "127.0.0.1:80@attacker.example",
        "[::1].attacker.example",
        "localhost:x",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "0.0.0.0",
        "0",
        "[::2]",
        "[::ffff:127.0.0.1]",
        "@",
        "a@localhost",
        "a b",
        "localhost.",
        "x.localhost",
    ],
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
        "http://attacker.example\\@localhost",
        "vscode-webview://localhost",
        "http://attacker.example",
        "http://localhost.attacker.example",
        "http://attacker.example/localhost",
        "http://localhost@attacker.example",
        "http://[",
        "localhost",
        "*",
        "file://",
        "http://x.localhost",
        "chrome-extension://abc",
    ],
)
async def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    for path in ("/mcp", "/metrics"):
        answer = await ask(served.port, post(served.port, LIST, {**ROUTING, "Origin": origin}, path=path))
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("target", ["http://attacker.example/mcp", "http://a@127.0.0.1/mcp", "127.0.0.1:80", "*"])
async def test_a_target_that_names_another_place_is_refused(served: Served, target: str) -> None:
    answer = await ask(served.port, post(served.port, LIST, ROUTING, path=target))
    assert answer.status >= 400
    await is_well(served.port)


@requirement("SHELL-19")
@pytest.mark.parametrize("protocol", ["h2c", "websocket", "TLS/1.0"])
async def test_no_other_protocol_is_spoken(served: Served, protocol: str) -> None:
    asked = {**ROUTING, "Upgrade": protocol, "Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABk"}
    assert (await ask(served.port, post(served.port, LIST, asked))).status == 200
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
@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "json",
        "application/json; charset=utf-16",
    ],
)
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
    assert answer.status in ((200,) if path.startswith("/mcp?") else (404,))


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("name", ["Authorization", "Origin", "Content-Type", "Mcp-Session-Id", "Last-Event-ID"])
async def test_a_header_that_could_be_read_in_two_ways_is_refused(served: Served, name: str) -> None:
    """The last one counts here, the first one for somebody in front of us; a list may come in parts."""
    good = post(served.port, LIST, {**ROUTING, name: "application/json"}).decode("latin-1")
    twice = good.replace("\r\n\r\n", f"\r\n{name}: application/json\r\n\r\n", 1).encode("latin-1")
    answer = await ask(served.port, twice)
    assert (answer.status, b"occurs twice" in answer.body) == (400, True)
    parts = {**ROUTING, "Accept": "application/json\r\nAccept: text/event-stream"}
    assert (await ask(served.port, post(served.port, LIST, parts))).status == 200


@requirement("SHELL-19")
async def test_a_compressed_body_is_refused_as_such(served: Served) -> None:
    asked = {**ROUTING, "Content-Encoding": "gzip"}
    answer = await ask(served.port, post(served.port, gzip.compress(LIST), asked))
    assert (answer.status, b"not compressed" in answer.body) == (415, True)


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
