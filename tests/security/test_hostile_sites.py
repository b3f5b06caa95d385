"""HTTP servers that misbehave: bounded, attributed, and never at the cost of the honest one."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.requirements import requirement
from tests.security.siege import SHORT_MS, Siege, siege
from tests.security.test_hostile_servers import is_error, said
from tests.servers.pipe import Json, call
from tests.servers.raw_site import STREAM, chunk, framed, raw_site
from tests.servers.raw_site import Asked as RawAsked
from tests.servers.raw_site import Vice as RawVice
from tests.servers.web import Asked, Web, serve

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024
LARGE_BYTES = 10 * MEGABYTE
CROWD = 20
TOKEN = "a-token-for-the-hostile-one-only"
POKE = {"name": "poke", "inputSchema": {"type": "object"}}

Vice = Callable[[Asked], Awaitable[web.StreamResponse]]


def with_vice(vice: Vice) -> Vice:
    """A server of the handshake era that behaves until its tool is called."""

    async def respond(asked: Asked) -> web.StreamResponse:
        match asked.about:
            case "initialize":
                hello: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                return asked.result({**hello, "serverInfo": {"name": "x", "version": "1"}})
            case "tools/list":
                return asked.result({"tools": [POKE]})
            case "tools/call":
                return await vice(asked)
            case "ping":
                return asked.result({})
            case "server/discover":
                return asked.error(-32601, "unknown")
            case "GET" | "DELETE":
                return web.Response(status=405)
            case _:
                return web.Response(status=202)

    return respond


@asynccontextmanager
async def besieged_by(folder: Path, vice: Vice) -> AsyncGenerator[tuple[Siege, Web]]:
    async with serve(with_vice(vice)) as seen:
        entry = {"url": seen.url, "timeout": SHORT_MS, "headers": {"Authorization": f"Bearer {TOKEN}"}}
        async with siege(folder, entry) as besieged:
            await besieged.until_listed("hostile__poke")
            yield besieged, seen


def written(head: dict[str, str], *, status: int = 200) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    async def start(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers=head)
        await response.prepare(asked.http)
        return response

    return start


async def endless(asked: Asked, kind: str, piece: bytes) -> web.StreamResponse:
    """Piece after piece, as long as anybody reads."""
    response = await written({"Content-Type": kind})(asked)
    try:
        for _ in range(2000):
            await response.write(piece)
    except (ConnectionError, asyncio.CancelledError):
        pass
    return response


async def bomb(asked: Asked) -> web.StreamResponse:
    inner = b'{"jsonrpc":"2.0","id":' + json.dumps(asked.message["id"]).encode() + b',"result":{"content":[],"x":"'
    packed = gzip.compress(inner + b"x" * (300 * MEGABYTE) + b'"}}', compresslevel=1)
    return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


async def forged(asked: Asked) -> web.StreamResponse:
    """Answers that are not ours, on our stream; then the end."""
    events = await asked.stream()
    for id in (0, -1, 99_999, str(asked.message["id"]), None):
        await events.send({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "forged"}]}})
    return events.response


async def silent(asked: Asked) -> web.StreamResponse:
    events = await asked.stream()
    try:
        while True:
            await events.response.write(b": still here\n\n")
            await asyncio.sleep(0.05)
    except (ConnectionError, asyncio.CancelledError):
        return events.response


async def sent_away(asked: Asked) -> web.StreamResponse:
    """A stream to be resumed at once, again and again."""
    events = await asked.stream()
    await events.send(id="1", retry=0)
    return events.response


VICES: dict[str, Vice] = {
    "bomb": bomb,
    "endless json": lambda asked: endless(asked, "application/json", b"[" + b"x" * MEGABYTE),
    "endless event": lambda asked: endless(asked, "text/event-stream", b"data: " + b"x" * MEGABYTE + b"\n"),
    "endless line": lambda asked: endless(asked, "text/event-stream", b"x" * MEGABYTE),
    "endless comments": silent,
    "endless error": lambda asked: endless(asked, "text/html", b"<p>" * 100_000),
    "forged": forged,
    "sent away": sent_away,
    "html": lambda asked: _now(web.Response(text="<h1>hello</h1>", content_type="text/html")),
    "empty": lambda asked: _now(web.Response(status=200)),
    "accepted": lambda asked: _now(web.Response(status=202)),
    "no content": lambda asked: _now(web.Response(status=204)),
    "teapot": lambda asked: _now(web.Response(status=418, text="x" * MEGABYTE)),
    "overloaded": lambda asked: _now(web.Response(status=503, headers={"Retry-After": "999999999"})),
    "large head": lambda asked: _now(web.Response(headers={f"x-{n}": "y" * 8000 for n in range(200)})),
    "deep": lambda asked: _now(web.Response(body=b"[" * MEGABYTE, content_type="application/json")),
    "not utf-8": lambda asked: _now(web.Response(body=b'{"jsonrpc":"2.0\xff"}', content_type="application/json")),
}


async def _now(response: web.Response) -> web.StreamResponse:
    return response


@requirement("LINK-16", "QUAL-03", "QUAL-12")
@pytest.mark.parametrize("vice", VICES)
async def test_a_site_that_misbehaves_is_named_and_disturbs_nobody(tmp_path: Path, vice: str) -> None:
    async with besieged_by(tmp_path, VICES[vice]) as (besieged, _):
        answer = await besieged.poke(vice)
        assert is_error(answer), answer
        assert "hostile" in said(answer)
        assert len(json.dumps(answer)) < 10_000
        assert TOKEN not in json.dumps(answer)
        await besieged.honest_answers(20)


def large(id: int) -> bytes:
    """Within every bound of one answer. Made quickly: while it makes the others a site sends nothing of the first."""
    return b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%b"}]}}' % (id, many_letters())


@cache
def many_letters() -> bytes:
    return b"x" * LARGE_BYTES


SLOW = "others waited (try again in a moment)"


async def again(besieged: Siege) -> Json:
    """One more call, with nobody beside it."""
    return await besieged.pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {}})


async def whole(asked: RawAsked) -> None:
    await asked.write(framed(large(asked.id)))


async def never_whole(asked: RawAsked) -> None:
    await asked.write(framed(large(asked.id))[:-100])


async def whole_event(asked: RawAsked) -> None:
    await asked.write(STREAM + chunk(b"data: " + large(asked.id) + b"\r\n\r\n") + b"0\r\n\r\n")


async def never_whole_event(asked: RawAsked) -> None:
    await asked.write(STREAM + chunk(b"data: " + large(asked.id)))


@cache
def packed() -> bytes:
    return gzip.compress(b"x" * (50 * MEGABYTE), compresslevel=1)


async def bombs(asked: RawAsked) -> None:
    await asked.write(framed(packed(), "Content-Encoding: gzip"))


CROWDS: dict[str, tuple[RawVice, bool]] = {
    "large answers": (whole, True),
    "large answers that never end": (never_whole, False),
    "large events": (whole_event, True),
    "large events that never end": (never_whole_event, False),
    "bombs": (bombs, False),
}


@requirement("LINK-16", "QUAL-12")
@pytest.mark.parametrize("case", CROWDS)
async def test_many_large_answers_at_once_stay_within_memory(tmp_path: Path, case: str) -> None:
    """Each is within its bound; all of them together would be two hundred megabytes."""
    vice, is_good = CROWDS[case]
    deadline = 90_000 if is_good else SHORT_MS
    async with raw_site(vice) as site, siege(tmp_path, {"url": site.url, "timeout": deadline}) as besieged:
        await besieged.until_listed("hostile__poke")
        await besieged.pipe.send(*(call(f"c{number}", "hostile__poke") for number in range(CROWD)))
        await besieged.honest_answers(20)
        while sum(str(each.get("id", "")).startswith("c") for each in besieged.pipe.others) < CROWD:
            besieged.pipe.others.append(await besieged.pipe.read())
        answers = [each for each in besieged.pipe.others if str(each.get("id", "")).startswith("c")]
        if is_good:  # on a machine that does much else a site may be too slow for others who wait
            answers = [await again(besieged) if SLOW in said(each) else each for each in answers]
        assert [said(each)[:300] for each in answers if is_error(each) is is_good] == []


@requirement("LINK-16", "GUARD-04")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_nothing_of_ours_elsewhere(tmp_path: Path, status: int) -> None:
    """Neither the token nor the call arrives where the server points."""
    trap: list[Any] = []

    async def elsewhere(asked: Asked) -> web.StreamResponse:
        trap.append(asked)
        return asked.result({"content": [{"type": "text", "text": "forged"}]})

    async with serve(elsewhere) as other:

        async def vice(asked: Asked) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": other.url.replace("127.0.0.1", "localhost")})

        async with besieged_by(tmp_path, vice) as (besieged, _):
            answer = await besieged.poke()
            assert is_error(answer)
            assert "forged" not in json.dumps(answer)
    assert trap == []


@requirement("LINK-16", "OAUTH-21")
async def test_the_token_of_one_server_reaches_no_other(tmp_path: Path) -> None:
    async def vice(asked: Asked) -> web.StreamResponse:
        return asked.result({"content": [{"type": "text", "text": asked.headers["Authorization"]}]})

    async with besieged_by(tmp_path, vice) as (besieged, seen):
        await besieged.poke()
        assert {each.headers.get("Authorization") for each in seen.asked} == {f"Bearer {TOKEN}"}


@requirement("LINK-16", "QUAL-12")
async def test_what_a_site_says_is_one_short_line_of_our_log(tmp_path: Path) -> None:
    """Neither a line of its own making, nor colours, nor megabytes."""
    evil = "no\nweft: honest: given up\x1b[31m" + "x" * (4 * MEGABYTE)

    async def respond(asked: Asked) -> web.StreamResponse:
        return asked.error(-32000, evil)

    async with serve(respond) as seen, siege(tmp_path, {"url": seen.url}) as besieged:
        while "hostile" not in besieged.pipe.stderr():
            await besieged.honest_answers(1)
        lines = besieged.pipe.stderr().splitlines()
        assert not any(line.startswith("weft: honest") for line in lines)
        assert "\x1b" not in "".join(lines)
        assert max(map(len, lines)) < 5_000


@requirement("LINK-16", "QUAL-03")
async def test_a_site_that_accepts_and_says_nothing_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A port that is open, and nobody who answers."""

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, siege(tmp_path, {"url": f"http://127.0.0.1:{port}/mcp", "timeout": SHORT_MS}) as besieged:
        await besieged.honest_answers(20)
        answer = await besieged.pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {}})
        assert is_error(answer)
