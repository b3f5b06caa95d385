"""Servers of 2024 (HTTP+SSE) that misbehave: any bytes on their stream, any answer, any place to post to."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.requirements import requirement
from tests.security.siege import SHORT_MS, Siege, siege
from tests.security.test_hostile_servers import is_error, said
from tests.servers.old_site import TAKEN, OldSite, event, old_site, result
from tests.servers.raw_site import Asked, chunk, framed

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

DEADLINE_MS = 1000
FAIR_S = 20.0
PIECES = 30
"""Enough to be heard for a while; what is not read yet holds up only the one who sent it."""
TOKEN = "a-token-for-this-site-only"
NEWS = event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
PING = event({"jsonrpc": "2.0", "id": "x", "method": "ping"})
SAMPLING = event({"jsonrpc": "2.0", "id": "y", "method": "sampling/createMessage", "params": {}})

POSTED: dict[str, bytes] = {
    "an answer where none belongs": framed(json.dumps(result(1, "forged")).encode()),
    "a redirect": framed(b"", "Location: http://127.0.0.1:1/steal", status="307 x"),
    "a redirect that is no text": b"HTTP/1.1 307 x\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "a wish for a login": framed(
        b"", 'WWW-Authenticate: Bearer resource_metadata="http://169.254.169.254/"', status="401 x"
    ),
    "a wish that is no text": b'HTTP/1.1 401 x\r\nWWW-Authenticate: Bearer a="\xff"\r\nContent-Length: 0\r\n\r\n',
    "an error in colours": framed(b"\x1b[31mred\x07\xe2\x80\xae", status="500 x"),
    "half an error": b"HTTP/1.1 500 x\r\nContent-Length: 100\r\n\r\nhalf",
    "nothing at all": b"",
}
"""Instead of taking the call."""
POURED: dict[str, bytes] = {
    "comments": chunk(b": x\r\n" * 1000),
    "blank lines": chunk(b"\r\n" * 1000),
    "crumbs": b"".join(chunk(b": ") for _ in range(1000)),
    "events of another kind": chunk(event(b"{}", "weird") * 200),
    "places to post to": chunk(event(b"/elsewhere", "endpoint") * 200),
    "answers to nobody": chunk(event(result(99_999, "forged")) * 100),
    "events that are no messages": chunk(event(b"x") * 200),
    "news": chunk(NEWS * 200),
    "questions": chunk(PING * 100 + SAMPLING * 100),
    "other things to wait for": chunk(b"id: a\0b\r\nretry: 99999999999999999999\r\ndata: \r\n\r\n" * 100),
}
"""On the stream, beside a call that is never answered."""


async def vice(site: OldSite, asked: Asked) -> None:
    """The one that the call asks for."""
    case = asked.message["params"]["arguments"]["text"]
    await asked.write(POSTED.get(case, TAKEN))
    if case in POURED:
        for _ in range(PIECES):
            await site.say(POURED[case])
    elif case not in POSTED:
        for id in (0, -1, 99_999, str(asked.id), None, [asked.id]):
            await site.tell(result(id, "forged"))
        await site.tell(result(asked.id, "poked"))
        await site.tell(result(asked.id, "forged"))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def besieged(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Siege]:
    """`siege` looks at memory, orphans and the end, after all of them."""
    async with old_site(vice) as site:
        entry = {"url": site.url, "timeout": DEADLINE_MS, "headers": {"Authorization": f"Bearer {TOKEN}"}}
        async with siege(tmp_path_factory.mktemp("old"), entry) as opened:
            await opened.until_listed("hostile__poke")
            yield opened


@requirement("LINK-23", "QUAL-03", "QUAL-12")
@pytest.mark.parametrize("case", [*POSTED, *POURED])
async def test_whatever_it_does_with_a_call_is_an_error_of_that_server(besieged: Siege, case: str) -> None:
    answer = await besieged.poke_fairly(case, FAIR_S)
    assert is_error(answer), answer
    assert "hostile" in said(answer)
    assert not any(mark in said(answer) for mark in ("\x1b", "\u202e", "forged", TOKEN))
    assert len(json.dumps(answer)) < 2_000


@requirement("LINK-23", "POOL-09")
async def test_afterwards_it_is_called_as_before_and_only_the_answer_counts(besieged: Siege) -> None:
    async with asyncio.timeout(FAIR_S):
        while is_error(answer := await besieged.poke("good")):
            besieged.pipe.others.clear()
    assert said(answer) == "poked"


PLACES: dict[str, bytes | None] = {
    "another host": b"//evil.example/steal",
    "another port": b"http://127.0.0.1:1/steal",
    "another name of this machine": b"http://localhost/steal",
    "another user": b"http://u:p@127.0.0.1/steal",
    "a host behind a user": b"http://127.0.0.1@evil.example/steal",
    "a host in empty brackets": b"http://[]@/steal",
    "half an address": b"http://[/x",
    "a port too high": b"http://127.0.0.1:99999/x",
    "a script": b"javascript:alert(1)",
    "a file": b"file:///etc/passwd",
    "a place without end": b"/" + b"x" * 100_000,
}


@requirement("LINK-23", "LINK-15")
@pytest.mark.parametrize("case", PLACES)
async def test_a_place_that_is_not_its_own_gets_nothing(tmp_path: Path, case: str) -> None:
    async with old_site(vice, PLACES[case]) as site, siege(tmp_path, {"url": site.url}) as besieged:
        await besieged.honest_answers(5)
        assert not any(name.startswith("hostile__") for name in await besieged.tools())
        while "another origin" not in besieged.pipe.stderr():
            await besieged.honest_answers(1)


ENDS: dict[str, Callable[[], bytes]] = {
    "a chunk that is none": lambda: b"zzz\r\n",
    "a chunk too large for any number": lambda: b"10000000000000000\r\n",
    "an event without end": lambda: chunk(b"data: " + b"x" * 17_000_000),
    "another host, later": lambda: chunk(event(b"http://evil.example/x", "endpoint")),
    "half an address, later": lambda: chunk(event(b"http://[/x", "endpoint")),
}


@requirement("LINK-23", "POOL-09")
@pytest.mark.parametrize("case", ENDS)
async def test_a_stream_that_goes_wrong_ends_the_link_at_once(tmp_path: Path, case: str) -> None:
    """Not only at the deadline of whoever waits: a dead stream never answers anybody again."""

    async def broken(site: OldSite, asked: Asked) -> None:
        await asked.write(TAKEN)
        await site.say(ENDS[case]())

    async with old_site(broken) as site, siege(tmp_path, {"url": site.url, "timeout": 30 * SHORT_MS}) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke()
        assert is_error(answer)
        assert "hostile" in said(answer)
        assert "no answer within" not in said(answer)
