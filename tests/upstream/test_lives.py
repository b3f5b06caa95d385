"""How servers come back: those that end when they are asked for their era, lose a session, or cannot be reached."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import UNSUPPORTED_REVISION, ClawftError, JsonRpcFailure, LinkClosed, NeedsAuth, NotConnected
from clawft.gateway.core import Gateway
from clawft.link.base import OutgoingRequest
from clawft.link.memory import Scripted
from clawft.model import Era
from clawft.provider.server.client import PoolClient
from clawft.provider.server.server_providers import ServerProviders
from clawft.upstream import backoff, health
from clawft.upstream.state import ServerState
from tests.requirements import requirement
from tests.upstream.support import ADDRESS, PATIENCE_S, Tables, answers, child, pool, state, table, tool, until

pytestmark = pytest.mark.slow  # processes that take their time


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)


# ── the era ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-07", "POOL-13")
async def test_a_program_that_ends_at_the_probe_is_greeted_with_the_handshake(tmp_path: Path) -> None:
    """Many servers take nothing but `initialize` first, and end. That is no crash, and it is remembered."""
    heard = tmp_path / "heard"
    picky = child("picky", "--die-on", "server/discover", "--log", str(heard))
    async with pool(tmp_path) as mine:
        assert (await mine.connect(picky)).errors == {}
        first = mine.server_status("picky")
        assert (first.era, first.restarts, first.lost) == (Era.HANDSHAKE.value, 0, "")
        one = mine.find("picky")
        assert one.session is not None
        assert one.session.link.child is not None
        one.session.link.child.kill()
        await until(lambda: mine.server_status("picky").restarts == 1 and state(mine, "picky") is ServerState.CONNECTED)
        assert heard.read_text().count("server/discover") == 1, "the next start knows"


@requirement("POOL-13", "SESS-05")
async def test_a_program_that_ends_whatever_it_is_asked_is_given_up_as_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with pool(tmp_path) as mine:
        await mine.connect(child("bad", "--die-on", "server/discover", "--era", "stateless"))
        await until(lambda: state(mine, "bad") is ServerState.FAILED)
        assert mine.server_status("bad").restarts == backoff.MAX_RESTARTS
    given_up = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(given_up) == 1
    assert given_up[0].startswith("given up: bad: ")
    assert given_up[0].endswith(" (weft servers reconnect bad)")


STATELESS_TABLE: dict[str, Scripted] = {
    "server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {"resultType": "complete", "tools": [tool("one")], "ttlMs": 0, "cacheScope": "private"},
}
REFUSED = {
    Era.HANDSHAKE: JsonRpcFailure(UNSUPPORTED_REVISION, "unsupported"),
    Era.STATELESS: JsonRpcFailure(-32000, "Bad Request: Server not initialized"),
}


@requirement("POOL-10", "SESS-07")
@pytest.mark.parametrize("before", [Era.HANDSHAKE, Era.STATELESS])
async def test_a_server_that_changed_its_era_is_met_anew_when_a_call_is_refused(
    before: Era, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after the checks of a minute and a half: the first refused call says it, and one check is the proof."""
    monkeypatch.setattr(health, "DOUBT_SECONDS", 0.0)
    tables = {Era.HANDSHAKE: answers("one"), Era.STATELESS: STATELESS_TABLE}
    after = Era.HANDSHAKE if before is Era.STATELESS else Era.STATELESS
    async with pool(tmp_path, ways := Tables({"a": tables[before]})) as mine:
        providers = ServerProviders(mine, Gateway())
        await mine.connect(table("a"))
        assert (await mine.get("a")).peer.era is before
        ways.tables["a"] = {"initialize": REFUSED[before], **tables[after]}
        ways.last("a").answers = dict.fromkeys(("ping", "server/discover", "tools/call", "initialize"), REFUSED[before])
        provider = providers.find("a")
        assert provider is not None
        with pytest.raises(ClawftError):
            await provider.call_tool("one", {})
        await until(lambda: len(ways.links["a"]) == 2 and state(mine, "a") is ServerState.CONNECTED)
        assert (await mine.get("a")).peer.era is after


@requirement("POOL-10", "POOL-11")
async def test_a_ping_that_is_refused_after_it_was_taken_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.02)
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        one = mine.find("a")
        before = one.health.last_healthy
        await until(lambda: one.health.last_healthy > before)
        ways.last("a").answers["ping"] = JsonRpcFailure(-32000, "Bad Request: who are you?")
        await until(lambda: len(ways.links["a"]) == 2 and one.state is ServerState.CONNECTED)


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


DOWN: dict[str, Scripted] = {"server/discover": LinkClosed("cannot be reached")}


@requirement("POOL-13")
@pytest.mark.parametrize("called", [False, True])
async def test_an_address_that_was_given_up_comes_back_by_itself_or_with_the_next_call(
    called: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_PROBE_SECONDS", 60.0 if called else 0.05)
    monkeypatch.setattr(backoff, "AGAIN_SECONDS", 0.0)
    async with pool(tmp_path, ways := Tables({"a": DOWN})) as mine:
        await mine.connect(table("a", url=ADDRESS))
        await until(lambda: state(mine, "a") is ServerState.FAILED)
        ways.tables["a"] = answers("one")
        if called:
            await mine.get("a")
        await until(lambda: state(mine, "a") is ServerState.CONNECTED)


@requirement("POOL-13", "POOL-14")
async def test_a_server_that_was_given_up_stays_failed_with_its_reason_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would come and go once a minute, and with it what agents are told about missing servers."""
    monkeypatch.setattr(backoff, "FIRST_PROBE_SECONDS", 0.01)
    monkeypatch.setattr(backoff, "LONGEST_PROBE_SECONDS", 0.01)
    async with pool(tmp_path, ways := Tables({"a": DOWN})) as mine:
        await mine.connect(table("a", url=ADDRESS))
        await until(lambda: state(mine, "a") is ServerState.FAILED)
        seen: list[tuple[ServerState, str]] = []
        mine.news.state_changed.listen(lambda one: seen.append((one.state, one.error)))
        tries = len(ways.links["a"])
        await until(lambda: len(ways.links["a"]) >= tries + 3)
        assert (seen, mine.server_status("a").error) == ([], "cannot be reached")
        assert len(mine.slots) <= 1, "a place only while it is tried"
        ways.tables["a"] = answers("one")
        await until(lambda: state(mine, "a") is ServerState.CONNECTED)
        assert seen == [(ServerState.CONNECTED, "")]


@requirement("POOL-13", "MGR-16")
async def test_who_names_the_server_has_it_tried_again_too_and_is_told_what_a_person_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_PROBE_SECONDS", 60.0)
    monkeypatch.setattr(backoff, "AGAIN_SECONDS", 0.0)
    async with pool(tmp_path, ways := Tables({"a": DOWN})) as mine:
        client = PoolClient(mine, ServerProviders(mine, Gateway()))
        await mine.connect(table("a", url=ADDRESS))
        await until(lambda: state(mine, "a") is ServerState.FAILED)
        with pytest.raises(NotConnected) as down:
            await client.call_tool("a", "one", {})
        assert down.value.hint == "weft servers reconnect a"
        ways.tables["a"] = answers("one")
        assert (await client.call_tool("a", "one", {})).content == [{"type": "text", "text": "called"}]


@requirement("POOL-13", "POOL-03")
async def test_a_call_that_has_a_server_tried_again_hears_at_once_that_it_was_stopped_and_leaves_its_place_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "FIRST_PROBE_SECONDS", 60.0)
    monkeypatch.setattr(backoff, "AGAIN_SECONDS", 0.0)

    async def never(_: OutgoingRequest) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    async with pool(tmp_path, ways := Tables({"a": DOWN})) as mine:
        await mine.connect(table("a", url=ADDRESS))
        await until(lambda: state(mine, "a") is ServerState.FAILED)
        ways.tables["a"] = {"server/discover": never}
        waiting = asyncio.ensure_future(mine.get("a"))
        await until(lambda: mine.server_status("a").step == "the handshake")
        await mine.disconnect("a")
        async with asyncio.timeout(PATIENCE_S / 4):
            with pytest.raises(NotConnected, match="a is not connected"):
                await waiting
        assert len(mine.slots) == 0


@requirement("POOL-14", "LINK-16")
@pytest.mark.parametrize("passing", [True, False])
async def test_a_server_that_wanted_a_login_is_asked_again_with_the_next_call_if_it_was_sent_none(
    passing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that refused the login we have is not: each try would be one more with a wrong key."""
    wants: dict[str, Scripted] = {"server/discover": NeedsAuth("needs a login", passing=passing)}
    async with pool(tmp_path, ways := Tables({"a": wants})) as mine:
        await mine.connect(table("a", url=ADDRESS))
        assert state(mine, "a") is ServerState.NEEDS_AUTH
        with pytest.raises(NotConnected):
            await mine.get("a")
        assert len(ways.links["a"]) == 1, "it has just been tried"
        monkeypatch.setattr(backoff, "AGAIN_SECONDS", 0.0)
        seen: list[ServerState] = []
        mine.news.state_changed.listen(lambda one: seen.append(one.state))
        with pytest.raises(NotConnected, match="needs a login"):
            await mine.get("a")
        assert (len(ways.links["a"]), seen) == (1 + passing, []), "and an offer to log in is not made anew"
        ways.tables["a"] = answers("one")
        if passing:
            await mine.get("a")
            assert seen == [ServerState.CONNECTED]


@requirement("POOL-14", "POOL-13")
async def test_a_server_that_wanted_a_login_and_then_cannot_be_reached_is_lost_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "AGAIN_SECONDS", 0.0)
    wants: dict[str, Scripted] = {"server/discover": NeedsAuth("needs a login", passing=True)}
    async with pool(tmp_path, ways := Tables({"a": wants})) as mine:
        await mine.connect(table("a", url=ADDRESS))
        ways.tables["a"] = DOWN
        with pytest.raises(NotConnected, match="cannot be reached"):
            await mine.get("a")
        await until(lambda: state(mine, "a") is ServerState.FAILED)


@requirement("POOL-13")
def test_probes_of_an_address_grow_to_a_minute_and_begin_anew_once_it_was_back() -> None:
    mine = backoff.Backoff()
    assert [mine.next_wait(float(n)) for n in range(6)][-1] is None
    waits = [mine.next_probe() for _ in range(9)]
    for n, wait in enumerate(waits):
        assert 0.8 * min(2**n, 60) <= wait <= 1.2 * min(2**n, 60)
    assert mine.next_wait(1_000.0) is None, "it has not been back"
    mine.worked()
    assert mine.next_wait(2_000.0) is not None
