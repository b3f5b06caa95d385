"""Requests that two servers could read differently, or that never end: refused, and the connection with them."""

import asyncio

import pytest

from tests.requirements import requirement
from tests.security.well import is_well
from tests.servers.raw_http import Line, connect, head, modern, modern_call
from tests.servers.weft import Served

pytestmark = pytest.mark.slow

MAX_BODY = 4 * 1024 * 1024
AT_ONCE_S = 3.0


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


@requirement("SHELL-12")
async def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    async with connect(served.port) as line:
        await line.send(b"".join(modern_call(served.port, n, "probe__echo", {"token": f"t{n}"}) for n in range(20)))
        async with asyncio.timeout(AT_ONCE_S):
            answers = [(await line.answer()).json() for _ in range(20)]
    assert [(a["id"], a["result"]["structuredContent"]["token"]) for a in answers] == [(n, f"t{n}") for n in range(20)]
