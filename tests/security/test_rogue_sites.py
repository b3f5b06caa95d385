"""One site that answers each call with other bytes than HTTP, or MCP, knows; and one gateway that outlives them all."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from tests.requirements import requirement
from tests.security.siege import Siege, siege
from tests.security.test_hostile_servers import is_error, said
from tests.servers.raw_site import STREAM, Asked, answered, chunk, framed, message, raw_site

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

MEGABYTE = 1024 * 1024
DEADLINE_MS = 1000
FAIR_S = 20.0
TOKEN = "a-token-for-this-site-only"
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = JSON + b"Transfer-Encoding: chunked\r\n\r\n"
NEWS = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\r\n\r\n'


def packed(form: int) -> bytes:
    """Three hundred megabytes, small."""
    packer = zlib.compressobj(9, zlib.DEFLATED, form)
    return b"".join(packer.compress(b"x" * MEGABYTE) for _ in range(300)) + packer.flush()


def in_coding(name: bytes, body: bytes) -> bytes:
    return JSON + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n%b" % (name, len(body), body)


def counted(length: bytes, asked: Asked) -> bytes:
    return JSON + b"Content-Length: " + length + b"\r\n\r\n" + message(asked.id, "forged")


WRITTEN: dict[str, Callable[[Asked], bytes]] = {
    "a bomb": lambda asked: in_coding(b"gzip", packed(31)),
    "a bomb in a bomb": lambda asked: in_coding(b"gzip, gzip", gzip.compress(packed(31))),
    "a bomb of another kind": lambda asked: in_coding(b"deflate", packed(15)),
    "a bomb in a stream": lambda asked: (
        STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunk(packed(31))
    ),
    "a coding nobody has": lambda asked: in_coding(b"br", b"x" * 1000),
    "a coding that lies": lambda asked: in_coding(b"gzip", message(asked.id, "forged")),
    "half of what was packed": lambda asked: in_coding(b"gzip", gzip.compress(message(asked.id, "forged"))[:-14]),
    "packed twice, said once": lambda asked: in_coding(b"gzip", gzip.compress(gzip.compress(message(asked.id, "x")))),
    "a length too long": lambda asked: counted(b"1000000", asked),
    "a length too short": lambda asked: counted(b"10", asked),
    "a length below zero": lambda asked: counted(b"-1", asked),
    "two lengths": lambda asked: counted(b"5\r\nContent-Length: 500", asked),
    "a length and chunks": lambda asked: counted(b"5\r\nTransfer-Encoding: chunked", asked),
    "a huge chunk": lambda asked: CHUNKED + b"FFFFFFFFFFFFFFFF\r\nxx",
    "no HTTP": lambda asked: b"hello\n",
    "HTTP/2": lambda asked: b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "TLS": lambda asked: b"\x15\x03\x01\x00\x02\x02\x46",
    "another protocol": lambda asked: b"HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "nothing new": lambda asked: b"HTTP/1.1 304 x\r\n\r\n",
    "a status nobody knows": lambda asked: framed(b"", status="999 x"),
    "a header with half a line end": lambda asked: answered(asked.id, {}, "Mcp-Session-Id: a\rb"),
    "a redirect in a circle": lambda asked: framed(b"", "Location: /mcp", status="307 x"),
    "a scope more each time": lambda asked: framed(
        b"", 'WWW-Authenticate: Bearer error="insufficient_scope", scope="a"', status="403 x"
    ),
    "another charset": lambda asked: framed(message(asked.id, "forged").decode().encode("utf-16")),
    "nothing": lambda asked: framed(b""),
    "a redirect that is no text": lambda asked: b"HTTP/1.1 302 x\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "taken and never answered": lambda asked: framed(b"", status="202 Accepted"),
    "a chunk that is none": lambda asked: STREAM + chunk(b": x\r\n") + b"zzz\r\n",
    "a stream that is over": lambda asked: STREAM + b"0\r\n\r\n",
    "a stream to come back to at once": lambda asked: STREAM + chunk(b"id: 1\r\nretry: 0\r\n\r\n") + b"0\r\n\r\n",
    "another's answer": lambda asked: framed(message(asked.id + 1, "forged")),
}
NO_HTTP = ("no HTTP", "HTTP/2", "TLS", "a length below zero", "two lengths", "a length and chunks")
BROKEN_OFF: dict[str, bytes] = {
    "nothing at all": b"",
    "half a status": b"HTTP/1.",
    "half a head": b"HTTP/1.1 200 OK\r\nX-Secret: of another\r\n",
    "half a body": JSON + b"Content-Length: 100\r\n\r\n{",
}
POURED: dict[str, tuple[bytes, bytes]] = {
    "chunks of nothing": (CHUNKED, chunk(b" ")),
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"y" * 1000 + b"\r\n"),
    "a header without end": (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
    "go on, go on": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "hints without end": (b"", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"),
    "comments without end": (STREAM, chunk(b": x\r\n" * 1000)),
    "lines of nothing that end in the other way": (STREAM, chunk(b"\r" * 60000)),
    "an event without end": (STREAM, chunk(b"data: " + b"x" * 65536)),
    "news without end": (STREAM, chunk(NEWS * 200)),
    "places to come back to": (STREAM, chunk(b"id: " + b"9" * 60000 + b"\r\ndata: \r\n\r\n")),
    "a chunk's extension": (CHUNKED + b"1;", b"x" * 65536),
    "a chunk's extension, again and again": (CHUNKED, b"1;" + b"x" * 65536 + b"\r\n \r\n"),
    "trailers without end": (CHUNKED + b"0\r\n", b"X: y\r\n" * 1000),
    "crumbs": (STREAM, b"".join(chunk(b": ") for _ in range(5000))),
    "a body without end": (JSON + b"\r\n", b"x" * 65536),
}


async def vice(asked: Asked) -> None:
    """The one that the call asks for."""
    case = asked.message["params"]["arguments"]["text"]
    if case in POURED:
        first, piece = POURED[case]
        await asked.write(first)
        await asked.pour(piece)
    elif case in BROKEN_OFF:
        await asked.write(BROKEN_OFF[case])
        asked.close()
    else:
        await asked.write(WRITTEN[case](asked) if case in WRITTEN else message_of_good_will(asked))


def message_of_good_will(asked: Asked) -> bytes:
    return framed(message(asked.id, "poked"))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def besieged(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Siege]:
    """`siege` looks at memory, orphans and the end, after all of them."""
    async with raw_site(vice) as site:
        entry = {"url": site.url, "timeout": DEADLINE_MS, "headers": {"Authorization": f"Bearer {TOKEN}"}}
        async with siege(tmp_path_factory.mktemp("sites"), entry) as opened:
            await opened.until_listed("hostile__poke")
            yield opened


@requirement("LINK-16", "QUAL-03", "QUAL-12")
@pytest.mark.parametrize("case", [*WRITTEN, *POURED, *BROKEN_OFF])
async def test_bytes_that_are_no_answer_are_an_error_of_that_site(besieged: Siege, case: str) -> None:
    answer = await besieged.poke_fairly(case, FAIR_S)
    assert is_error(answer), answer
    assert "hostile" in said(answer)
    assert len(json.dumps(answer)) < 2_000
    assert TOKEN not in json.dumps(answer)
    assert "X-Secret" not in said(answer)
    assert "message=" not in said(answer)
    if case == "a redirect in a circle":
        assert "it has moved to /mcp" in said(answer)
    if case in NO_HTTP:
        assert "sent an answer that is no HTTP: " in said(answer)
    assert "forged" not in said(answer) or case == "a length too short"


@requirement("LINK-16", "POOL-09")
async def test_afterwards_the_site_is_called_as_before(besieged: Siege) -> None:
    async with asyncio.timeout(FAIR_S):
        while is_error(answer := await besieged.poke("good")):
            besieged.pipe.others.clear()
    assert said(answer) == "poked"
