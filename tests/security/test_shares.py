"""Clients over HTTP that want more than their share: connections, wrong tokens, requests a second, requests at once."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from clawft.gateway.http.rate_limits import WRONG_TOKENS
from clawft.link.http_in.head import Limits
from tests.requirements import requirement
from tests.security.neighbours import from_neighbour
from tests.servers.raw_http import PATIENCE_S, Answer, ask, connect, modern, modern_call
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = pytest.mark.slow

BODY = modern_call(0, 1, "probe__echo", {"token": "never whole"})


def own_token(folder: Path) -> str:
    return (folder / "home" / "gateway.token").read_text()


def listed(port: int, token: str) -> bytes:
    return modern(port, 1, "tools/list", headers={"Authorization": f"Bearer {token}"})


# ── connections ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12")
async def test_one_address_cannot_take_all_connections(served: Served) -> None:
    share = Limits().connections_of_one
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(from_neighbour(served.port)) for _ in range(share + 1)]
        refused = await lines[-1].answer()
        assert (refused.status, b"your address" in refused.body) == (429, True)
        assert (await ask(served.port, modern_call(served.port, 1, "probe__echo", {"token": "x"}))).status == 200
        lines[0].leave()
        async with asyncio.timeout(PATIENCE_S):
            while not await _is_admitted(served.port):
                pass


async def _is_admitted(port: int) -> bool:
    async with from_neighbour(port) as line:
        return (await line.ask(modern(port, 1, "tools/list"))).status == 200


@requirement("QUAL-12")
@pytest.mark.parametrize("begun", [b"", b"POST /mc", BODY[:-40]], ids=["silent", "half a head", "half a body"])
async def test_idle_connections_give_way_to_those_who_want_something(served: Served, begun: bytes) -> None:
    """As many as there are, none with a whole request: a newcomer does not wait until they are cut off."""
    async with AsyncExitStack() as stack:
        for _ in range(Limits().connections):
            line = await stack.enter_async_context(connect(served.port))
            await line.send(begun.replace(b":0\r", b":%d\r" % served.port))
        async with asyncio.timeout(Limits().head_seconds / 2):  # long before they are cut off by themselves
            while not await _is_let_in(served.port):
                pass
    assert peak_memory(served.pid) < RSS_LIMIT


async def _is_let_in(port: int) -> bool:
    try:
        return (await ask(port, modern(port, 1, "tools/list"))).status == 200
    except (ConnectionError, EOFError):
        return False


# ── wrong tokens ─────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12", "GUARD-06")
async def test_guessing_tokens_is_slowed_down_and_the_right_one_still_works(tmp_path: Path) -> None:
    with gateway(tmp_path) as served:
        seen: Counter[int] = Counter()
        refused: list[Answer] = []
        for number in range(2 * WRONG_TOKENS):
            answer = await ask(served.port, listed(served.port, f"guess-{number}"))
            seen[answer.status] += 1
            refused += [answer] if answer.status == 429 else []
        assert set(seen) == {401, 429}
        assert seen[401] >= WRONG_TOKENS
        assert int(refused[0].headers["retry-after"]) >= 1
        assert refused[0].headers["connection"] == "close"
        assert "www-authenticate" in refused[0].headers
        told = [line for line in served.lines if "wrong tokens come from" in line]
        assert len(told) == 1
        assert not [line for line in served.lines if "guess-" in line]

        assert (await ask(served.port, listed(served.port, own_token(tmp_path)))).status == 200
        assert (await ask(served.port, modern(served.port, 1, "tools/list"))).status == 401  # asks where to log in
        async with from_neighbour(served.port) as line:
            assert (await line.ask(listed(served.port, "guess"))).status == 401


# ── requests a second ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12")
async def test_a_caller_that_comes_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[gateway]\nrate = 3\n")
    with gateway(tmp_path) as served:
        token = own_token(tmp_path)
        answers = [await ask(served.port, listed(served.port, token)) for _ in range(40)]
        assert answers[0].status == 200
        late = [answer for answer in answers if answer.status == 429]
        assert late
        assert int(late[0].headers["retry-after"]) >= 1
        async with asyncio.timeout(PATIENCE_S):
            while (await ask(served.port, listed(served.port, token))).status != 200:
                pass


@requirement("QUAL-12")
async def test_without_a_rate_nobody_is_held_back(served: Served) -> None:
    async with connect(served.port) as line:
        for _ in range(300):
            assert (await line.ask(modern(served.port, 1, "tools/list"))).status == 200
