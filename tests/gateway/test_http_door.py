"""Who may come in over HTTP, with what, and the pages beside the endpoint."""

import asyncio
from typing import Any

import pytest

from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all, with_token
from clawft.gateway.http.app import HttpApp
from clawft.model import Caller
from tests.gateway.asgi_client import POSTED, Http, http
from tests.gateway.support import Demo, echo, modern, serving
from tests.requirements import requirement

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def server() -> Any:
    return serving(Demo().add("echo", echo))


@requirement("SHELL-19")
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8765", "[::1]", "[::1]:8765"])
@pytest.mark.parametrize("origin", ["", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:5"])
async def test_loopback_names_are_let_in(host: str, origin: str) -> None:
    async with http(server()) as client:
        answer = await client.post(PING, {"host": host, "origin": origin}).whole()
        assert answer.status == 400  # no session: it came that far


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]",
    ],
)
async def test_other_hosts_are_refused(host: str) -> None:
    async with http(server()) as client:
        for path in ("/mcp", "/healthz", "/metrics"):
            answer = await client.start("POST", b"{}", {**POSTED, "host": host}, path).whole()
            assert answer.status == 421


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://[",
        "x",
        "file://",
    ],
)
async def test_other_origins_are_refused(origin: str) -> None:
    async with http(server()) as client:
        assert (await client.post(PING, {"origin": origin}).whole()).status == 403


@requirement("SHELL-19")
async def test_behind_any_host_the_origin_must_be_that_host() -> None:
    async with http(server(), Access(open_to_all(Caller()), None)) as client:
        host = {"host": "gateway.example:443"}
        assert (await client.post(PING, {**host, "origin": "https://gateway.example"}).whole()).status == 400
        assert (await client.post(PING, {**host, "origin": "https://other.example"}).whole()).status == 403


@requirement("SHELL-19", "SHELL-21")
@pytest.mark.parametrize(
    ("authorization", "let_in"),
    [
        ("Bearer s3cret", True),
        ("bearer s3cret", True),
        ("BEARER  s3cret ", True),
        ("", False),
        ("Bearer", False),
        ("Bearer ", False),
        ("Bearer wrong", False),
        ("Bearer s3cre", False),
        ("Bearer s3cret s3cret", False),
        ("Basic s3cret", False),
        ("s3cret", False),
        ("Bearer s3cr\xe9t", False),
    ],
)
async def test_a_token_opens_the_door(authorization: str, let_in: bool) -> None:
    access = Access(with_token("s3cret", Caller("ada")), LOOPBACK_HOSTS)
    async with http(server(), access) as client:
        for method in ("POST", "GET", "DELETE"):
            answer = await client.start(method, b"{}", {**POSTED, "authorization": authorization}).whole()
            assert (answer.status != 401) is let_in
            assert ("www-authenticate" in answer.headers) is not let_in


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("authorization", "told", "error"),
    [
        ("Bearer of-another-home", b"this token is not the gateway's", 'error="invalid_token"'),
        ("Basic s3cret", b"a bearer token is required", ""),
        ("", b"a bearer token is required", ""),
    ],
)
async def test_a_wrong_token_is_told_from_a_missing_one(authorization: str, told: bytes, error: str) -> None:
    async with http(server(), Access(with_token("s3cret", Caller("ada")), LOOPBACK_HOSTS)) as client:
        answer = await client.start("POST", b"{}", {**POSTED, "authorization": authorization}).whole()
        assert answer.body.startswith(told)
        assert b"weft gateway" in answer.body
        assert answer.headers["www-authenticate"].partition(", ")[2] == error


@requirement("SHELL-19")
@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer x", "Basic "])
async def test_an_empty_token_opens_it_to_nobody(authorization: str) -> None:
    async with http(server(), Access(with_token("", Caller("ada")), LOOPBACK_HOSTS)) as client:
        assert (await client.start("POST", b"{}", {**POSTED, "authorization": authorization}).whole()).status == 401


@requirement("SHELL-19")
async def test_a_token_is_asked_before_the_body_is_read() -> None:
    access = Access(with_token("s3cret", Caller()), LOOPBACK_HOSTS)
    async with http(server(), access, max_body=10) as client:
        assert (await client.post(b"x" * 100).whole()).status == 401


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("content_type", "good"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/jsonp", False),
    ],
)
async def test_the_body_must_be_json(content_type: str, good: bool) -> None:
    async with http(server()) as client:
        assert ((await client.post(PING, {"content-type": content_type}).whole()).status != 415) is good


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("accept", "good"),
    [
        ("application/json, text/event-stream", True),
        ("text/event-stream,application/json;q=0.5", True),
        ("APPLICATION/JSON, TEXT/EVENT-STREAM", True),
        ("*/*", True),
        ("application/*, text/*", True),
        ("", True),
        ("application/json", False),
        ("text/event-stream", False),
        ("text/html", False),
        ("application/json;q=0, text/event-stream", False),
        ("application/json; Q=0.000, text/event-stream, */*", False),
        ("application/json, text/*;q=0", False),
        ("*/*;q=0", False),
        ("*/*;q=0, application/json;charset=utf-8;q=0.1, text/*;q=0.01", True),
        ("text/html;q=0, application/json, text/event-stream", True),
    ],
)
async def test_the_caller_must_take_both_kinds_of_answer(accept: str, good: bool) -> None:
    async with http(server()) as client:
        for headers in ({}, {"mcp-protocol-version": "2026-07-28"}):
            assert ((await client.post(PING, {"accept": accept, **headers}).whole()).status != 406) is good


@requirement("SHELL-19", "WIRE-08")
@pytest.mark.parametrize("parts", [[b"x" * 101], [b"x" * 60, b"x" * 41], [b"x"] * 150])
async def test_a_body_above_the_limit_is_refused(parts: list[bytes]) -> None:
    async with http(server(), max_body=100) as client:
        answer = await client.start("POST", list(parts), POSTED).whole()
        assert (answer.status, answer.json["error"]["code"]) == (413, -32600)


@requirement("SHELL-19")
async def test_a_body_in_pieces_is_put_together() -> None:
    async with http(server()) as client:
        body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
        answer = await client.start("POST", [body[:7], b"", body[7:]], POSTED).whole()
        assert answer.status == 200


@requirement("SHELL-19")
async def test_other_methods_are_refused_with_those_there_are() -> None:
    async with http(server()) as client:
        answer = await client.start("PUT", b"{}", POSTED).whole()
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("headers", "params", "code"),
    [
        ({}, modern(), -32020),
        ({"mcp-protocol-version": "2025-11-25"}, modern(), -32020),
        ({"mcp-protocol-version": "2030-01-01", "mcp-method": "tools/list"}, {}, -32602),
        ({"mcp-protocol-version": "2025-11-25"}, {}, -32600),
        ({}, {}, -32600),
    ],
)
async def test_the_era_is_decided_per_request(headers: dict[str, str], params: dict[str, Any], code: int) -> None:
    """By the header, and by the body where the header is missing: then that is what the caller hears."""
    async with http(server()) as client:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
        answer = await client.post(request, headers).whole()
        assert (answer.status, answer.json["error"]["code"]) == (400, code)


@requirement("SHELL-18")
async def test_both_eras_live_side_by_side() -> None:
    async with http(server()) as client:
        session = await client.initialize()
        assert (await client.stateless("tools/list", modern()).whole()).status == 200
        assert (await session.send("tools/list").whole()).status == 200


# ── the pages beside it ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-16")
async def test_health_readiness_and_numbers() -> None:
    served = server()
    async with http(served) as client:
        await client.initialize()
        assert (await client.start("GET", path="/healthz").whole()).body == b"ok\n"
        assert (await client.start("GET", path="/readyz").whole()).status == 200
        numbers = (await client.start("GET", path="/metrics").whole()).body.decode()
        assert "\nclawft_tools 1\n" in numbers
        assert "\nclawft_sessions 1\n" in numbers
        assert (await client.start("POST", path="/healthz").whole()).status == 405
        assert (await client.start("GET", path="/nowhere").whole()).status == 404
        served.closing.set()
        assert (await client.start("GET", path="/readyz").whole()).status == 503
        assert (await client.start("GET", path="/healthz").whole()).status == 200


@requirement("SHELL-16")
async def test_it_can_be_mounted_under_another_path() -> None:
    app = HttpApp(server(), Access(open_to_all(Caller()), LOOPBACK_HOSTS), path="/tools")
    client = Http(app)
    assert (await client.start("GET", path="/tools").whole()).status == 400
    assert (await client.start("GET", path="/tools/").whole()).status == 400
    elsewhere = await client.start("GET", path="/mcp").whole()
    assert (elsewhere.status, elsewhere.body) == (404, b"not found; the MCP endpoint is /tools\n")


@requirement("SHELL-16")
async def test_it_answers_the_lifespan_of_its_server() -> None:
    incoming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with asyncio.timeout(5):
        await HttpApp(server(), Access(open_to_all(Caller())))({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
