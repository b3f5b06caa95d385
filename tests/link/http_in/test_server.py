"""The HTTP server, driven byte by byte over loopback: what it serves, what it refuses, what it bounds."""

import asyncio
import contextvars
import gc
import logging
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.link.http_in import pipelined
from clawft.link.http_in.answer import frame
from clawft.link.http_in.exchange import HttpExchange
from clawft.link.http_in.head import Head, Refusal, read_head
from clawft.link.http_in.protocol import Connection
from clawft.link.http_in.reader import SLICE_BYTES, RequestReader
from clawft.link.http_in.roster import LEAVING
from clawft.link.http_in.server import App, HttpServer, Limits, Receive, Scope, Send, of_asgi
from clawft.link.http_in.turns import AT_ONCE
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # waits for time-outs

PATIENCE = 5.0
SOON = 0.2
"""A timeout of the server short enough for a test."""
MIB = 1024 * 1024
GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Client:
    """A socket that says exactly what it is told and shows exactly what came back."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()

    async def answer(self) -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, headers and body of the next answer."""
        async with asyncio.timeout(PATIENCE):
            head = await self._reader.readuntil(b"\r\n\r\n")
            first, *lines = head[:-4].split(b"\r\n")
            headers = dict(line.split(b": ", 1) for line in lines)
            body = await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        return int(first.split(b" ")[1]), headers, body

    async def line(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readuntil(b"\r\n")

    async def rest(self) -> bytes:
        """All that comes until the server ends the connection."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(-1)

    async def read(self, most: int) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(most)

    async def leave(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            pass


@asynccontextmanager
async def serving(app: App, limits: Limits | None = None) -> AsyncGenerator[tuple[HttpServer, int]]:
    server = HttpServer(of_asgi(app), limits=limits or Limits())
    _, port = await server.start("127.0.0.1", 0)
    try:
        yield server, port
    finally:
        async with asyncio.timeout(PATIENCE):
            await server.stop(0.0)


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[Client]:
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield client
    finally:
        await client.leave()


async def emptied(server: HttpServer) -> None:
    while server.connections:  # noqa: ASYNC110 - the server counts for the status page and has no event for it
        await asyncio.sleep(0)


async def read_body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("left while sending the body")
        body += message["body"]
        if not message["more_body"]:
            return body


async def answer(send: Send, body: bytes, status: int = 200) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(receive)
    await answer(send, f"{scope['method']} {scope['path']} ".encode() + body)


async def said(request: bytes, *, app: App = echo, limits: Limits | None = None) -> bytes:
    """Everything the server says to these bytes until it ends the connection."""
    async with serving(app, limits) as (_, port), connected(port) as client:
        await client.say(request)
        return await client.rest()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def recorder() -> tuple[App, list[str]]:
    """An application that notes which paths reached it."""
    reached: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["path"])
        await echo(scope, receive, send)

    return app, reached


# ── what it serves ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
async def test_scope_tells_the_request_as_it_came() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(b"GET /a%20b?x=%31&y HTTP/1.1\r\nHost: here\r\nX-Thing:  Some Value \r\nX-THING: two\r\n\r\n")
        await client.answer()
    scope = seen[0]
    assert (scope["type"], scope["method"], scope["http_version"], scope["scheme"]) == ("http", "GET", "1.1", "http")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/a b", b"/a%20b", b"x=%31&y")
    assert list(scope["headers"]) == [(b"host", b"here"), (b"x-thing", b"Some Value"), (b"x-thing", b"two")]
    assert scope["client"][0] == "127.0.0.1"
    assert scope["server"] == ("127.0.0.1", port)


@requirement("SHELL-19")
async def test_small_answer_is_one_write_and_the_connection_stays_open() -> None:
    async with serving(echo) as (_, port), connected(port) as client:
        for number in range(3):
            await client.say(b"POST /%d HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nhi" % number)
            whole = await client.read(MIB)
            assert whole.startswith(b"HTTP/1.1 200 OK\r\n")
            assert whole.endswith(b"\r\n\r\nPOST /%d hi" % number)


@requirement("SHELL-19")
async def test_pipelined_requests_are_answered_in_order_one_at_a_time() -> None:
    running = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        running += 1
        assert running == 1
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        await echo(scope, receive, send)

    requests = [b"POST /%d HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\n%d" % (n, n) for n in range(3)]
    async with serving(app) as (_, port), connected(port) as client:
        await client.say(b"".join(requests))
        assert [(await client.answer())[2] for _ in requests] == [b"POST /0 0", b"POST /1 1", b"POST /2 2"]


@requirement("SHELL-19", "QUAL-12")
async def test_many_pipelined_requests_all_get_their_answer() -> None:
    count = 5000  # far more bytes than are held while a request runs, so reading stops and goes on

    async def ask(client: Client) -> None:
        await client.say(*(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % number for number in range(count)))

    async with serving(echo) as (_, port), connected(port) as client, asyncio.TaskGroup() as group:
        group.create_task(ask(client))
        for number in range(count):
            assert (await client.answer())[2] == b"GET /%d " % number


@requirement("SHELL-19", "QUAL-12")
async def test_requests_sent_ahead_leave_room_for_others() -> None:
    """Each is answered without a pause; still the loop turns between them, and somebody else is served."""
    served: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        served.append(scope["path"])
        await answer(send, b"")

    async with serving(app) as (_, port), connected(port) as eager, connected(port) as other:
        await eager.say(b"GET /eager HTTP/1.1\r\nHost: here\r\n\r\n" * 1000)
        await eager.answer()
        await other.say(b"GET /other HTTP/1.1\r\nHost: here\r\n\r\n")
        await other.answer()
        assert served.index("/other") < 1000


@requirement("SHELL-19", "QUAL-12")
async def test_answers_nobody_takes_are_not_asked_for() -> None:
    body = b"x" * 60_000
    asked = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal asked
        asked += 1
        await answer(send, body)

    async with serving(app, Limits(write_seconds=SOON)) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as stalled:
            stalled.setblocking(False)
            await taken(stalled, GET * 100, len(GET) * 2000)
            async with asyncio.timeout(PATIENCE):
                await emptied(server)
    assert asked < 1000  # what the kernel's buffers hold, and one more


@requirement("SHELL-19")
async def test_request_in_single_bytes_is_the_same_request() -> None:
    head = b"POST /slow HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    request = head + b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n"
    async with serving(echo) as (_, port), connected(port) as client:
        await client.say(*(request[at : at + 1] for at in range(len(request))))
        assert (await client.answer())[2] == b"POST /slow abcde"


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("chunked", [False, True])
async def test_large_body_reaches_an_application_that_reads_slowly(chunked: bool) -> None:
    body = bytes(range(256)) * 8192  # 2 MiB, with a pattern that shows lost or swapped pieces

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        largest, got = 0, b""
        while True:
            message = await receive()
            largest = max(largest, len(message["body"]))
            got += message["body"]
            if not message["more_body"]:
                break
            await asyncio.sleep(0)
        assert got == body
        await answer(send, str(largest).encode())

    if chunked:
        pieces = [body[at : at + 5000] for at in range(0, len(body), 5000)]
        framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        head = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    else:
        framed, head = body, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving(app) as (_, port), connected(port) as client, asyncio.TaskGroup() as group:
        group.create_task(client.say(head, framed))
        status, _, largest = await client.answer()
        assert status == 200
        assert int(largest) < MIB  # reading stopped while the application was busy


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("pieces", [1, 10, 400])
@pytest.mark.parametrize("wanted", [True, False])
async def test_after_a_large_chunked_body_the_next_request_is_read(pieces: int, wanted: bool) -> None:
    """Also if nobody wanted the body, as of a caller who may not come in."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"no")

    framed = (b"%x\r\n%b\r\n" % (100_000 // pieces, b"x" * (100_000 // pieces))) * pieces + b"0\r\n\r\n"
    first = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" + framed
    async with serving(echo if wanted else refuse) as (_, port), connected(port) as client:
        for _ in range(3):
            await client.say(first)
            status, headers, _ = await client.answer()
            assert status == 200
            if headers.get(b"connection") == b"close":  # the rest of a body that nobody wanted was not here yet
                assert not wanted
                return


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("cut", [1, 20, 60])
async def test_after_a_large_chunked_body_half_a_head_is_read_on(cut: int) -> None:
    body = b"1388\r\n" + b"x" * 5_000 + b"\r\n"
    first = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" + body * 8 + b"0\r\n\r\n"
    async with serving(echo) as (_, port), connected(port) as client:
        for _ in range(2):
            await client.say(first + first[:cut])
            assert (await client.answer())[0] == 200
            await client.say(first[cut:])
            assert (await client.answer())[0] == 200


@requirement("SHELL-19")
async def test_streamed_answer_is_chunked_and_flushed_piece_by_piece() -> None:
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"two!"})

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(GET)
        _, headers, _ = await client.answer()
        assert headers == {b"transfer-encoding": b"chunked"}
        assert [await client.line(), await client.line()] == [b"3\r\n", b"one\r\n"]
        go_on.set()
        assert [await client.line() for _ in range(4)] == [b"4\r\n", b"two!\r\n", b"0\r\n", b"\r\n"]
        await client.say(GET)
        assert (await client.answer())[0] == 200


@requirement("SHELL-19")
async def test_head_no_content_and_not_modified_have_no_body() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"ignored", status=int(scope["path"][1:]))

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(
            b"HEAD /200 HTTP/1.1\r\nHost: h\r\n\r\n",
            b"GET /204 HTTP/1.1\r\nHost: h\r\n\r\n",
            b"GET /304 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        )
        whole = await client.rest()
    heads = whole.split(b"\r\n\r\n")
    assert heads[3] == b""  # three heads and nothing after them
    assert [status_of(head) for head in heads[:3]] == [200, 204, 304]
    assert b"content-length: 7" in heads[0]
    assert b"content-length" not in heads[1] + heads[2]


@requirement("SHELL-19")
async def test_http_1_0_works_and_closes() -> None:
    whole = await said(b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert whole.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nconnection: close\r\n" in whole
    assert whole.endswith(b"GET /old ")


@requirement("SHELL-19")
@pytest.mark.parametrize("name", [b"Connection", b"Proxy-Connection"])
async def test_connection_close_ends_after_the_answer_and_ignores_what_follows(name: bytes) -> None:
    app, reached = recorder()
    first = b"GET /a HTTP/1.1\r\nHost: h\r\n%b: close\r\n\r\n" % name
    whole = await said(first + b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n", app=app)
    assert whole.count(b"HTTP/1.1 ") == 1
    assert reached == ["/a"]


@requirement("SHELL-19")
async def test_client_that_expects_continue_gets_it_once_the_body_is_wanted() -> None:
    head = b"POST /e HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    async with serving(echo) as (_, port), connected(port) as client:
        await client.say(head)
        assert [await client.line(), await client.line()] == [b"HTTP/1.1 100 Continue\r\n", b"\r\n"]
        await client.say(b"body")
        assert (await client.answer())[2] == b"POST /e body"


@requirement("SHELL-19")
async def test_refused_expectation_never_asks_for_the_body() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"no", status=401)

    whole = await said(b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", app=app)
    assert status_of(whole) == 401
    assert b"100 Continue" not in whole
    assert b"connection: close" in whole


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "framing", [b"Content-Length: 2\r\n\r\nhi", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"]
)
async def test_upgrade_is_ignored_and_its_body_is_no_second_request(framing: bytes) -> None:
    asks = b"POST /up HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    async with serving(echo) as (_, port), connected(port) as client:
        await client.say(asks + framing + b"GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
        assert [(await client.answer())[2] for _ in range(2)] == [b"POST /up hi", b"GET /next "]


@requirement("SHELL-19")
async def test_upgrade_without_a_body_is_an_ordinary_request() -> None:
    app, reached = recorder()
    asks = b"GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with serving(app) as (_, port), connected(port) as client:
        await client.say(asks + asks + GET)
        assert [(await client.answer())[0] for _ in range(3)] == [200, 200, 200]
    assert reached == ["/ws", "/ws", "/"]


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("line", "path"),
    [(b"GET http://here/x?y=1", b"/x"), (b"GET http://HERE", b"/"), (b"OPTIONS *", b"*"), (b"GET http://here?q", b"/")],
)
async def test_absolute_and_asterisk_targets(line: bytes, path: bytes) -> None:
    async with serving(echo) as (_, port), connected(port) as client:
        await client.say(line + b" HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await client.answer())[2].split(b" ")[1] == path


# ── what it refuses ──────────────────────────────────────────────────────────────────────────────────────────────────

POST = b"POST /victim HTTP/1.1\r\nHost: h\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
AMBIGUOUS = {
    "length and coding": (400, POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "coding and length": (400, POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    "two equal lengths": (400, POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"),
    "length list": (400, POST + b"Content-Length: 2, 2\r\n\r\nab"),
    "signed length": (400, POST + b"Content-Length: +2\r\n\r\nab"),
    "endless length": (400, POST + b"Content-Length: 99999999999999999999999\r\n\r\n"),
    "unknown coding": (501, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "hidden coding": (501, POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "two codings": (400, POST + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "coding in 1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "folded header": (400, POST + b"X: a\r\n b\r\n\r\n"),
    "NUL in a value": (400, POST + b"X: a\x00b\r\n\r\n"),
    "bare CR in a value": (400, POST + b"X: a\rb\r\n\r\n"),
    "bare LF as line end": (400, b"GET / HTTP/1.1\nHost: h\n\n"),
    "space before colon": (400, POST + b"Content-Length : 2\r\n\r\nab"),
    "small letters in the method": (400, b"get / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "method of nobody": (400, b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "method we do not serve": (501, b"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n"),
    "tunnel": (501, b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n"),
    "no host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two hosts": (400, b"GET / HTTP/1.1\r\nHost: h\r\nHost: evil\r\n\r\n"),
    "target of another host": (400, b"GET http://evil/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    "target without a slash": (400, b"GET evil HTTP/1.1\r\nHost: h\r\n\r\n"),
    "asterisk for a GET": (400, b"GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
    "fragment": (400, b"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "HTTP/2 preface": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "unknown expectation": (417, POST + b"Expect: more\r\nContent-Length: 2\r\n\r\nab"),
    "not HTTP": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
}


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("case", AMBIGUOUS)
async def test_what_two_servers_could_read_differently_is_refused_and_ends_the_connection(case: str) -> None:
    status, request = AMBIGUOUS[case]
    app, reached = recorder()
    whole = await said(request + b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", app=app)
    assert status_of(whole) == status
    assert b"connection: close" in whole
    assert len(re.findall(rb"HTTP/1\.1 \d{3} ", whole)) == 1
    assert reached == []


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "chunk", [b"xyz\r\n", b"-1\r\n", b"0x3\r\nabc\r\n", b"fffffffffffffffff\r\n", b"3\r\nabcd\r\n", b"3\nabc\r\n"]
)
async def test_bad_chunk_is_refused_and_the_application_sees_the_client_leave(chunk: bytes) -> None:
    running, told = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        running.set()
        with pytest.raises(ConnectionResetError):
            await read_body(receive)
        told.set()

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(CHUNKED)
        await running.wait()
        await client.say(chunk)
        whole = await client.rest()
        async with asyncio.timeout(PATIENCE):
            await told.wait()
    assert status_of(whole) == 400
    assert whole.count(b"connection: close") == 1


@requirement("SHELL-19")
async def test_refusal_waits_for_the_answers_before_it() -> None:
    whole = await said(GET + GET + b"nonsense\r\n\r\n")
    assert [status_of(b"HTTP/1.1 " + part) for part in whole.split(b"HTTP/1.1 ")[1:4]] == [200, 200, 400]


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 1100 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * MIB,
        b"GET /" + b"a" * 1100 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 11 + b"\r\n",
    ],
    ids=["long value", "endless value", "long target", "many headers"],
)
async def test_head_has_a_bound(head: bytes) -> None:
    app, reached = recorder()
    whole = await said(head, app=app, limits=Limits(head_bytes=1024, headers=10))
    assert status_of(whole) == 431
    assert reached == []


@requirement("SHELL-19", "QUAL-12")
async def test_head_just_inside_the_bound_is_served() -> None:
    head = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + b"".join(
        b"X-%d: %b\r\n" % (n, b"a" * 150) for n in range(90)
    )
    assert status_of(await said(head + b"\r\n")) == 200


@requirement("SHELL-19", "QUAL-12")
async def test_declared_body_over_the_bound_is_refused_before_it_is_sent() -> None:
    app, reached = recorder()
    whole = await said(POST + b"Content-Length: 101\r\n\r\n", app=app, limits=Limits(body_bytes=100))
    assert status_of(whole) == 413
    assert b"100 bytes" in whole
    assert reached == []


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    "request_", [POST + b"Content-Length: 101\r\n\r\n", CHUNKED + (b"20\r\n" + b"x" * 32 + b"\r\n") * 20]
)
async def test_a_refusal_names_the_most_that_the_application_takes(request_: bytes) -> None:
    refused = await said(request_, limits=Limits(body_bytes=100, head_bytes=1024, told_body_bytes=40))
    assert status_of(refused) == 413
    assert b"longer than 40 bytes" in refused


@requirement("SHELL-19", "QUAL-12")
async def test_refusal_is_readable_although_the_client_sends_on() -> None:
    async with serving(echo, Limits(body_bytes=100)) as (_, port), connected(port) as client:
        await client.say(POST + b"Content-Length: 300000\r\n\r\n", b"x" * 300_000)
        assert status_of(await client.rest()) == 413


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    ("flood", "status"),
    [
        (b"20\r\n" + b"x" * 32 + b"\r\n", 413),
        (b"1;" + b"e" * 200 + b"\r\nx\r\n", 413),
        (b"1;" + b"e" * 40_000, 431),
        (b"0\r\nTrailer: " + b"t" * 40_000, 431),
    ],
    ids=["bytes", "extensions", "endless extension", "endless trailer"],
)
async def test_chunked_body_has_a_bound_on_everything_in_it(flood: bytes, status: int) -> None:
    request = CHUNKED + flood * (40_000 // len(flood) + 1)
    assert status_of(await said(request, limits=Limits(body_bytes=512, head_bytes=1024))) == status


@requirement("SHELL-19")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"host", b"content-length", b"transfer-encoding", b"connection"]), st.binary(max_size=8)
        ),
        max_size=4,
    )
)
def test_any_head_is_either_refused_or_has_one_host_and_one_length(headers: list[tuple[bytes, bytes]]) -> None:
    head = read_head(b"POST", "1.1", b"/", headers, Limits())
    names = [name for name, _ in headers]
    if isinstance(head, Head):
        assert names.count(b"host") == 1
        assert names.count(b"content-length") + names.count(b"transfer-encoding") <= 1
        assert 0 <= head.length <= Limits().body_bytes or (b"transfer-encoding" in names and head.length == -1)
    else:
        assert isinstance(head, Refusal)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19", "QUAL-12")
async def test_half_sent_head_gets_408() -> None:
    assert status_of(await said(b"GET / HTTP/1.1\r\nHost: h\r\nX", limits=Limits(head_seconds=SOON))) == 408


@requirement("SHELL-19", "QUAL-12")
async def test_head_dripping_in_does_not_buy_time() -> None:
    async def drip(client: Client) -> None:
        for byte in b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 10_000:
            await client.say(bytes([byte]))
            await asyncio.sleep(SOON / 20)

    async with serving(echo, Limits(head_seconds=SOON)) as (_, port), connected(port) as client:
        dripping = asyncio.create_task(drip(client))
        assert status_of(await client.rest()) == 408
        dripping.cancel()
        await asyncio.wait([dripping])
        assert dripping.cancelled() or isinstance(dripping.exception(), ConnectionError)


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("noise", [b"", b"\r\n\r\n"], ids=["silent", "empty lines"])
async def test_connection_that_never_asks_is_closed_without_a_word(noise: bytes) -> None:
    assert await said(noise, limits=Limits(head_seconds=SOON)) == b""


@requirement("SHELL-19", "QUAL-12")
async def test_idle_connection_is_closed_after_the_keep_alive_time() -> None:
    whole = await said(GET, limits=Limits(keep_alive_seconds=SOON))
    assert whole.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" not in whole


@requirement("SHELL-19", "QUAL-12")
async def test_body_that_stops_coming_gets_408_and_the_application_is_told() -> None:
    told = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        while message["type"] != "http.disconnect":
            message = await receive()
        told.set()

    whole = await said(POST + b"Content-Length: 9\r\n\r\nhalf", app=app, limits=Limits(body_idle_seconds=SOON))
    assert status_of(whole) == 408
    assert told.is_set()


@requirement("SHELL-19", "QUAL-12")
async def test_body_dripping_in_does_not_buy_time() -> None:
    async def drip(client: Client) -> None:
        while True:
            await client.say(b"x")
            await asyncio.sleep(SOON / 20)

    limits = Limits(body_idle_seconds=SOON, body_seconds=2 * SOON)
    async with serving(echo, limits) as (_, port), connected(port) as client:
        await client.say(POST + b"Content-Length: 100000\r\n\r\n")
        dripping = asyncio.create_task(drip(client))
        assert status_of(await client.rest()) == 408
        dripping.cancel()
        await asyncio.wait([dripping])
        assert dripping.cancelled() or isinstance(dripping.exception(), ConnectionError)


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b""),
        (POST + b"Content-Length: 200000\r\n\r\n", b"x" * 200_000),
        (POST + b"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n", b"body"),
    ],
    ids=["running", "reading stopped", "waiting for continue"],
)
async def test_slow_application_is_no_reason_to_time_out_the_client(head: bytes, body: bytes) -> None:
    wanted = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(4 * SOON)  # the thing under test: longer than every timeout of the client
        wanted.set()
        await answer(send, str(len(await read_body(receive))).encode())

    async def send_in_two_parts(client: Client) -> None:
        await client.say(body[:-1])
        await wanted.wait()
        await asyncio.sleep(SOON)  # the clock of the body runs again, and started anew
        await client.say(body[-1:])

    limits = Limits(head_seconds=SOON, keep_alive_seconds=SOON, body_idle_seconds=2 * SOON, body_seconds=2 * SOON)
    async with serving(app, limits) as (_, port), connected(port) as client, asyncio.TaskGroup() as group:
        await client.say(head)
        if b"Expect" in head:
            assert [await client.line(), await client.line()] == [b"HTTP/1.1 100 Continue\r\n", b"\r\n"]
        group.create_task(send_in_two_parts(client))
        assert (await client.answer())[2] == str(len(body)).encode()


# ── the client goes away, or does not read ───────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
async def test_leaving_reaches_an_application_that_waits() -> None:
    waiting, told = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        waiting.set()
        assert (await receive())["type"] == "http.disconnect"
        with pytest.raises(ConnectionResetError):
            await answer(send, b"too late")
        told.set()

    async with serving(app) as (server, port):
        async with connected(port) as client:
            await client.say(GET)
            await waiting.wait()
        async with asyncio.timeout(PATIENCE):
            await told.wait()
            await emptied(server)


@requirement("SHELL-19")
async def test_leaving_reaches_an_application_that_streams() -> None:
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"tick\n", "more_body": True})
                await asyncio.sleep(0)
        except OSError:
            ended.set_result((await receive())["type"])

    async with serving(app) as (_, port):
        async with connected(port) as client:
            await client.say(GET)
            await client.answer()
        async with asyncio.timeout(PATIENCE):
            assert await ended == "http.disconnect"


@requirement("SHELL-19")
async def test_request_whose_client_left_at_once_is_still_handed_over() -> None:
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        got.set_result(await read_body(receive))

    async with serving(app) as (_, port):
        async with connected(port) as client:
            await client.say(POST + b"Content-Length: 6\r\n\r\nnotice")
        async with asyncio.timeout(PATIENCE):
            assert await got == b"notice"


@requirement("SHELL-19", "QUAL-12")
async def test_client_that_does_not_read_stops_the_stream_and_is_cut_off() -> None:
    whole, piece = 64 * MIB, b"x" * 65_536
    sent: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        taken = 0
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while taken < whole:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                taken += len(piece)
        except ConnectionResetError:
            pass
        sent.set_result(taken)

    async with serving(app, Limits(write_seconds=SOON)) as (server, port):
        with socket.socket() as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            stalled.setblocking(False)
            await asyncio.get_running_loop().sock_connect(stalled, ("127.0.0.1", port))
            stalled.send(GET)
            async with asyncio.timeout(PATIENCE):
                assert await sent < whole // 4  # what the kernel's buffers hold, and no more
                await emptied(server)


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize(
    ("head", "more"),
    [
        (GET, GET * 2000),
        (POST + b"Content-Length: 67108864\r\n\r\n", b"x" * 65_536),
        (CHUNKED, b"8\r\nabcdefgh\r\n" * 5000),
    ],
    ids=["next requests", "counted body", "chunked body"],
)
async def test_client_that_sends_on_is_not_read_while_the_application_does_not_want_more(
    head: bytes, more: bytes
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async with serving(app, Limits(body_bytes=64 * MIB)) as (_, port):
        with socket.create_connection(("127.0.0.1", port)) as eager:
            eager.setblocking(False)
            eager.send(head)
            assert await taken(eager, more, 64 * MIB) < 16 * MIB  # what the kernel's buffers hold, and little more


async def taken(eager: socket.socket, more: bytes, most: int) -> int:
    """How many bytes go into a connection before it takes no more."""
    total = 0
    try:
        while total < most:
            async with asyncio.timeout(SOON):
                await asyncio.get_running_loop().sock_sendall(eager, more)
            total += len(more)
    except TimeoutError:
        pass
    return total


@requirement("SHELL-19", "QUAL-12")
async def test_one_large_body_goes_out_whole_to_a_slow_reader() -> None:
    body = bytes(range(256)) * 32_768  # 8 MiB

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, body)

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(GET)
        assert (await client.answer())[2] == body
        await client.say(GET)
        assert (await client.answer())[2] == body


# ── the application fails ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19")
async def test_failing_application_is_a_500_without_internals(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("secret detail")

    with caplog.at_level(logging.ERROR, "clawft.http"):
        whole = await said(GET, app=app)
    assert status_of(whole) == 500
    assert b"secret" not in whole
    assert "secret detail" in caplog.text


@requirement("SHELL-19")
async def test_application_that_is_ended_is_a_503_and_no_failure() -> None:
    """As at a second signal, when every task of the loop is cancelled."""
    running: asyncio.Future[asyncio.Task[Any] | None] = asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        running.set_result(asyncio.current_task())
        await asyncio.Event().wait()

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(GET)
        task = await asyncio.wait_for(running, PATIENCE)
        assert task is not None
        task.cancel()
        whole = await client.rest()
    assert status_of(whole) == 503
    assert b"the server is stopping" in whole


async def test_application_that_says_nothing_is_a_500() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)

    assert status_of(await said(GET, app=app)) == 500


@requirement("SHELL-19")
@pytest.mark.parametrize("headers", [[], [(b"content-length", b"10")]], ids=["chunked", "counted"])
async def test_answer_that_breaks_off_is_never_taken_for_a_whole_one(headers: list[tuple[bytes, bytes]]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ZeroDivisionError

    async with serving(app) as (_, port), connected(port) as client:
        await client.say(GET)
        try:
            whole = await client.rest()
        except ConnectionResetError:
            whole = b""
    assert not whole.endswith(b"0\r\n\r\n")
    assert b"500" not in whole


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "start",
    [
        {"status": 200, "headers": [(b"x", b"a\r\nset-cookie: b")]},
        {"status": 200, "headers": [(b"content-length", b"-1")]},
        {"status": 101, "headers": []},
        {"status": 200, "headers": [(b"content-length", b"5")]},
    ],
    ids=["split header", "bad length", "switching protocols", "wrong length"],
)
async def test_answer_that_would_break_the_framing_becomes_a_500(start: dict[str, Any]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": b"body"})

    whole = await said(GET, app=app)
    assert status_of(whole) == 500
    assert b"set-cookie" not in whole


@requirement("SHELL-19")
def test_headers_about_the_connection_are_the_servers() -> None:
    spoken = [(b"Transfer-Encoding", b"gzip"), (b"Connection", b"close"), (b"X", b"y")]
    framing = frame(200, spoken, body=3, whole=True, modern=True, keep_alive=True)
    assert framing.head == b"HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 3\r\nconnection: close\r\n\r\n"
    assert not framing.keep_alive


# ── many connections, and the end ────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-19", "QUAL-12")
async def test_connection_over_the_bound_gets_503_and_the_others_go_on() -> None:
    limits = Limits(connections=2, give_way_seconds=PATIENCE, waiting_seconds=SOON)
    async with serving(echo, limits) as (_, port), connected(port) as one, connected(port) as two:
        await two.say(GET)
        await two.answer()
        async with connected(port) as three:
            assert status_of(await three.rest()) == 503
        await one.say(GET)
        assert (await one.answer())[0] == 200


@requirement("SHELL-19", "QUAL-12")
async def test_connection_that_finds_no_place_waits_for_one_in_the_order_of_coming() -> None:
    limits = Limits(connections=4, give_way_seconds=PATIENCE, waiting_seconds=PATIENCE)
    async with AsyncExitStack() as stack:
        _, port = await stack.enter_async_context(serving(echo, limits))
        inside = [await stack.enter_async_context(connected(port)) for _ in range(4)]
        for each in inside:
            await each.say(GET)
            await each.answer()
        first = await stack.enter_async_context(connected(port))
        second = await stack.enter_async_context(connected(port))
        async with connected(port) as third:
            assert status_of(await third.rest()) == 503
        for each in (second, first):
            await each.say(GET)
        for here, waiting in zip(inside, (first, second), strict=False):
            await here.leave()
            assert (await waiting.answer())[0] == 200


@requirement("SHELL-19", "QUAL-12")
async def test_who_waits_outside_is_turned_away_when_the_server_stops() -> None:
    limits = Limits(connections=2, give_way_seconds=PATIENCE, waiting_seconds=PATIENCE)
    async with serving(echo, limits) as (server, port), connected(port) as one, connected(port) as two:
        for each in (one, two):
            await each.say(GET)
            await each.answer()
        async with connected(port) as outside:
            await asyncio.sleep(SOON)  # nothing tells us that it was seen
            await server.stop(0)
            assert status_of(await outside.rest()) == 503


@requirement("SHELL-19", "QUAL-12")
async def test_calls_that_take_long_give_way_among_those_who_came_last() -> None:
    """Only there, and only once all places are taken: whoever was here before is left in peace."""
    cancelled: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if scope["path"] == "/quick":
            await answer(send, b"quick")
            return
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(scope["path"])
            raise

    limits = Limits(connections=16, give_way_seconds=PATIENCE, guest_seconds=SOON, waiting_seconds=PATIENCE)
    async with AsyncExitStack() as stack:
        _, port = await stack.enter_async_context(serving(app, limits))
        lines = [await stack.enter_async_context(connected(port)) for _ in range(16)]
        for number, line in enumerate(lines):  # which of them came last, only the server knows
            await line.say(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % number)
        async with connected(port) as late:
            await late.say(b"GET /quick HTTP/1.1\r\nHost: here\r\n\r\n")
            assert (await late.answer())[0] == 200
        (gone,) = cancelled
        assert status_of(await lines[int(gone[1:])].rest()) == 503


@requirement("SHELL-19", "QUAL-12")
async def test_a_crowd_of_newcomers_does_not_come_in_for_one_that_gives_way() -> None:
    """Whoever gave way is there for a moment still, and must not be sent off again for each of the others."""
    begun: list[HttpExchange] = []

    async def listen(exchange: HttpExchange) -> None:
        begun.append(exchange)
        exchange.listen()
        await exchange.send({"type": "http.response.start", "status": 200})
        await exchange.send({"type": "http.response.body", "body": b"news", "more_body": True})
        left = asyncio.Event()
        exchange.on_disconnect(left.set)
        await left.wait()

    places, most = 16, 0
    server = HttpServer(listen, limits=Limits(connections=places, give_way_seconds=SOON, waiting_seconds=PATIENCE))
    address = await server.start()
    with ExitStack() as clients:

        def ask() -> None:
            client = clients.enter_context(socket.create_connection(address))
            client.sendall(GET)

        for _ in range(places):
            ask()
        await asyncio.sleep(2 * SOON)  # until they have listened for long enough
        assert len(begun) == places
        for _ in range(2 * places):
            ask()  # without a turn of the loop, so that all of them come at once
        async with asyncio.timeout(PATIENCE):
            while len(begun) < places + places // 2:
                most = max(most, server.connections)
                await asyncio.sleep(0)
        await server.stop(0.0)
    assert most <= places + places // LEAVING


@requirement("SHELL-19", "QUAL-12")
async def test_bodies_in_crumbs_are_read_in_turn_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    slices, feed = [0], RequestReader.feed

    def counted(reader: RequestReader, data: bytes | memoryview) -> int:
        slices[-1] += 1
        return feed(reader, data)

    monkeypatch.setattr(RequestReader, "feed", counted)
    body = bytes(ord("a") + number % 26 for number in range(12_000))
    crumbs = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def count_turns() -> None:
        while True:
            await asyncio.sleep(0)
            slices.append(0)

    async with AsyncExitStack() as stack:
        _, port = await stack.enter_async_context(serving(echo))
        clients = [await stack.enter_async_context(connected(port)) for _ in range(20)]
        counting = asyncio.create_task(count_turns())
        for client in clients:
            await client.say(head + crumbs)
        for client in clients:
            assert (await client.answer())[2] == b"POST / " + body
        counting.cancel()
    assert sum(slices) > 20 * len(crumbs) // SLICE_BYTES
    assert max(slices) <= len(clients) + AT_ONCE  # one of each that begins, and a few of all that go on


@requirement("SHELL-19", "QUAL-12")
async def test_too_much_sent_ahead_by_all_is_refused_after_the_running_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelined, "MAX_PIPELINED_BYTES", 100_000)
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await go_on.wait()
        await answer(send, b"first")

    async with serving(app) as (_, port), connected(port) as one, connected(port) as two:
        for client in (one, two):
            await client.say(GET * 2000, b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(SOON)  # nothing tells us that the bytes were read
        go_on.set()
        whole, refused = sorted([await client.rest() for client in (one, two)], key=len, reverse=True)
    assert whole.count(b"first") == 2001
    assert refused.startswith(b"HTTP/1.1 200 OK")
    assert b"503 Service" in refused


@requirement("SHELL-19", "QUAL-12")
async def test_connection_that_ended_makes_room() -> None:
    async with serving(echo, Limits(connections=1)) as (_, port):
        for _ in range(3):
            async with connected(port) as client:
                await client.say(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                assert status_of(await client.rest()) == 200


@requirement("SHELL-19")
async def test_stop_lets_the_running_request_end_and_closes_idle_connections() -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            running.set()
            await go_on.wait()
        await answer(send, b"done")

    async with serving(app) as (server, port), connected(port) as idle, connected(port) as busy:
        await idle.say(GET)
        await idle.answer()
        await busy.say(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
        await running.wait()
        stopping = asyncio.create_task(server.stop(PATIENCE))
        assert await idle.rest() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        go_on.set()
        whole = await busy.rest()
        await stopping
    assert whole.endswith(b"done")
    assert whole.count(b"HTTP/1.1 200") == 1
    assert b"connection: close" in whole


@requirement("SHELL-19", "QUAL-12")
async def test_stop_ends_what_outlasts_the_grace() -> None:
    running, ended = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(app) as (server, port), connected(port) as client:
        await client.say(GET)
        await running.wait()
        async with asyncio.timeout(PATIENCE):
            await server.stop(0.0)
        assert ended.is_set()
        assert server.connections == 0
        told = await client.rest()
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"shutting down: the call did not finish in time" in told


@requirement("QUAL-03", "QUAL-12")
async def test_what_waits_of_a_long_answer_in_the_end_does_not_keep_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that leaves the last bytes unread would else have us keep all of them, uncounted."""
    written: list[bytes | memoryview] = []

    def write(connection: Connection, data: bytes) -> None:
        written.append(data)
        original(connection, data)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body", "body": b"x" * 1_000_000})

    original = Connection.write
    monkeypatch.setattr(Connection, "write", write)
    async with serving(app) as (_, port), connected(port) as client:
        await client.say(GET)
        assert len(await client.rest()) > 1_000_000
    assert sum(len(piece) for piece in written) > 1_000_000
    apart = [len(piece) for piece in written if isinstance(piece, bytes)]
    assert sum(apart) >= 3 * 65_536, "more than ever waits in a transport"
    assert all(isinstance(piece, bytes) for piece in written[-4:])


@requirement("SHELL-19", "QUAL-12")
async def test_stop_ends_a_request_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[asyncio.Task[None]] = []

    def receive_and_stop(connection: Connection, data: bytes) -> None:
        original(connection, data)
        arrived.append(asyncio.create_task(server.stop(0.0)))
        assert connection.task is not None
        connection.kill()  # in the same turn of the loop: the task never takes its first step

    original = Connection.data_received
    monkeypatch.setattr(Connection, "data_received", receive_and_stop)
    app, reached = recorder()
    async with serving(app) as (server, port), connected(port) as client:
        await client.say(GET)
        assert b"shutting down: the call did not finish in time" in await client.rest()
        async with asyncio.timeout(PATIENCE / 2):
            await arrived[0]
    assert reached == []


@requirement("SHELL-19")
async def test_requests_of_one_connection_share_a_task_but_no_context() -> None:
    mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="clean")
    tasks: list[asyncio.Task[Any] | None] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        tasks.append(asyncio.current_task())
        seen = mark.get().encode()
        if scope["path"] == "/mark":
            mark.set("dirty")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": seen})

    async with serving(app) as (_, port), connected(port) as client:
        for path in (b"/", b"/", b"/mark", b"/", b"/mark", b"/"):
            await client.say(GET.replace(b"GET / ", b"GET %b " % path))
            assert (await client.answer())[2] == b"clean"
    assert tasks[0] is tasks[1] is tasks[2]
    assert len(set(tasks)) == 3


@requirement("SHELL-19")
async def test_a_connection_that_ends_leaves_no_task_behind() -> None:
    async with serving(echo) as (server, port):
        async with connected(port) as client:
            await client.say(GET)
            await client.answer()
            (task,) = [task for task in asyncio.all_tasks() if "_serve" in repr(task.get_coro())]
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({task})
        assert server.connections == 0


@requirement("SHELL-19")
async def test_stopped_server_starts_again_on_a_given_socket() -> None:
    server = HttpServer(of_asgi(echo))
    await server.start("127.0.0.1", 0)
    with pytest.raises(RuntimeError, match="already started"):
        await server.start("127.0.0.1", 0)
    await server.stop(0.0)
    await server.stop(0.0)
    listening = socket.create_server(("127.0.0.1", 0))
    address = await server.start(sock=listening)
    assert address == listening.getsockname()
    async with connected(address[1]) as client:
        await client.say(GET)
        assert (await client.answer())[0] == 200
    await server.stop(0.0)


UVLOOP_TOO: list[Callable[[], Awaitable[None]]] = [
    test_small_answer_is_one_write_and_the_connection_stays_open,
    test_many_pipelined_requests_all_get_their_answer,
    test_requests_sent_ahead_leave_room_for_others,
    test_answers_nobody_takes_are_not_asked_for,
    test_half_sent_head_gets_408,
    test_refusal_is_readable_although_the_client_sends_on,
    test_leaving_reaches_an_application_that_waits,
    test_leaving_reaches_an_application_that_streams,
    test_client_that_does_not_read_stops_the_stream_and_is_cut_off,
    test_one_large_body_goes_out_whole_to_a_slow_reader,
    test_connection_over_the_bound_gets_503_and_the_others_go_on,
    test_connection_that_finds_no_place_waits_for_one_in_the_order_of_coming,
    test_who_waits_outside_is_turned_away_when_the_server_stops,
    test_calls_that_take_long_give_way_among_those_who_came_last,
    test_a_crowd_of_newcomers_does_not_come_in_for_one_that_gives_way,
    test_stop_lets_the_running_request_end_and_closes_idle_connections,
    test_stop_ends_what_outlasts_the_grace,
]


@requirement("SHELL-19", "QUAL-12")
@pytest.mark.parametrize("scenario", UVLOOP_TOO, ids=lambda scenario: scenario.__name__)
def test_on_uvloop_too(scenario: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


HALF = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf"


@requirement("QUAL-12")
@pytest.mark.parametrize("said", [b"", b"POST /", GET, GET[:-2], b"\0garbage\r\n\r\n", HALF])
def test_a_connection_that_is_over_is_gone_at_once(said: bytes) -> None:
    """Whoever opens them without end leaves nothing for the collector."""

    async def come_and_go() -> None:
        async with serving(echo) as (server, port), asyncio.timeout(PATIENCE):
            for _ in range(5):
                async with connected(port) as client:
                    await client.say(said)
                await emptied(server)
            while any(isinstance(each, Connection) for each in gc.get_objects()):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)

    gc.collect()
    gc.disable()
    try:
        uvloop.run(come_and_go())
    finally:
        gc.enable()
