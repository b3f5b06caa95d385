"""All servers: what is wanted, what runs, what happens when they fail."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_REVISION,
    JsonRpcFailure,
    LinkClosed,
    NeedsAuth,
    NotConnected,
    ServerNotFound,
    SpawnFailed,
)
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import list_page
from clawft.link.base import OutgoingRequest
from clawft.link.memory import Scripted
from clawft.model import Caller, Era
from clawft.provider.server.server_providers import ServerProviders
from clawft.upstream import backoff, health, life
from clawft.upstream.session import introduction
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import MOVES, Condition, IllegalMove, ServerEvent, ServerState, move
from tests.requirements import requirement
from tests.upstream.support import PATIENCE_S, Tables, answers, child, pool, state, table, tool, until

pytestmark = pytest.mark.slow  # processes that take their time


async def never(_: OutgoingRequest) -> Mapping[str, Any]:
    await asyncio.Event().wait()
    return {}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)


# ── getting a session ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-01", "F9b-T09", "F9b-T10", "F9b-A03", "MGR-13", "S2-P4-16")
async def test_simultaneous_first_calls_share_one_attempt_and_later_ones_reuse_it(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.set_servers({"a": table("a")})
        sessions = await asyncio.gather(*(mine.get("a") for _ in range(20)))
        assert len({*map(id, sessions)}) == 1
        assert await mine.get("a") is sessions[0]
        assert len(ways.links["a"]) == 1


@requirement("POOL-02", "SESS-23")
async def test_a_lost_session_is_replaced_and_counted(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        first = await mine.get("a")
        assert mine.find("a").health.failed_checks == 0
        ways.last("a").break_off()
        assert state(mine, "a") is ServerState.PENDING
        assert await mine.get("a") is not first
        assert mine.server_status("a").restarts == 1
        assert ways.links["a"][0].closed


@requirement("POOL-03", "F9b-T11")
async def test_an_idle_server_gives_way_and_comes_back_when_it_is_called(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables(), max_connections=2) as mine:
        for name in ("a", "b", "c"):
            await mine.connect(table(name))
        await until(lambda: ways.open == {"b", "c"})
        assert (state(mine, "a"), len(mine.find("a").tools)) == (ServerState.PENDING, 1)
        await mine.get("a")
        await until(lambda: len(ways.open) == 2 and "a" in ways.open)
        assert mine.server_status("a").restarts == 0


@requirement("POOL-03", "F9b-A03")
async def test_when_none_is_idle_the_call_fails_and_names_the_limit(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables(), max_connections=1) as mine:
        await mine.connect(table("a"))
        await mine.find("a").gate.enter()
        await mine.set_servers({"a": table("a"), "b": table("b")})
        with pytest.raises(
            NotConnected, match=r"b is not connected: no connection became free within 0.2 s \(limit: 1\)"
        ):
            await mine.get("b", seconds=0.2)
        mine.find("a").gate.leave()
        await mine.get("b")


@requirement("POOL-03")
async def test_a_call_waits_as_long_as_it_may_for_one_that_is_in_use_to_be_idle(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables(), max_connections=1) as mine:
        await mine.connect(table("a"))
        await mine.find("a").gate.enter()
        await mine.set_servers({"a": table("a"), "b": table("b")})
        waiting = asyncio.ensure_future(mine.get("b"))
        await until(lambda: mine.find("b").has_callers)
        assert not (await asyncio.wait({waiting}, timeout=2.5))[0], "it has not given up"
        mine.find("a").gate.leave()
        await waiting


@requirement("POOL-05", "POOL-15", "S4-SV-02")
async def test_a_silent_server_delays_nobody_and_does_not_keep_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "OPEN_SECONDS", 0.1)
    ways = Tables({"mute": answers(initialize=never)})
    async with pool(tmp_path, ways) as mine:
        await mine.set_servers({name: table(name) for name in ("mute", "a", "b")})
        await asyncio.gather(mine.get("a"), mine.get("b"))
        await until(lambda: "not ready after 0.1 s" in mine.server_status("mute").error)


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-06", "POOL-07", "F9b-T13", "F9b-T14", "F9b-T15", "F9b-T16", "F9b-A04")
async def test_a_list_is_asked_for_again_only_when_it_is_stale_or_dropped(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))

        def asked() -> int:
            return ways.last("a").methods.count("tools/list")

        await mine.tools("a")
        assert asked() == 1
        mine.invalidate("a")
        await mine.tools("a")
        assert asked() == 2
        mine.invalidate_all()
        await mine.tools("a")
        assert asked() == 3


@requirement("POOL-06", "F9b-T14", "F9b-A04")
async def test_how_long_a_list_is_fresh_is_the_users_to_say(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables(), list_seconds=0) as mine:
        await mine.connect(table("a"))
        before = ways.last("a").methods.count("tools/list")
        await mine.tools("a")
        assert ways.last("a").methods.count("tools/list") == before + 1


@requirement("POOL-06", "F9b-T13", "F9b-T14")
@pytest.mark.parametrize(("fresh_for", "asked"), [(300.0, False), (0.0, True)])
async def test_lists_that_are_no_longer_fresh_are_renewed_when_an_agent_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_for: float, asked: bool
) -> None:
    """Nobody waits for it, and a server that changed without a word is not missed for ever."""
    monkeypatch.setattr("clawft.upstream.pool.RENEW_SECONDS", 0.0)
    says = ["old"]

    async def tools(_: OutgoingRequest) -> Mapping[str, Any]:
        return {"tools": [tool(*says)]}

    changing = Tables({"a": answers(**{"tools/list": tools})})
    async with pool(tmp_path, changing, list_seconds=fresh_for) as mine:
        ServerProviders(mine, gateway := Gateway())
        gateway.on_list_read = mine.refresh_stale
        await mine.connect(table("a"))
        changed = asyncio.Event()
        gateway.events.subscribe(lambda _: changed.set())
        says[:] = ["new"]
        assert b'"a__old"' in list_page(gateway, Caller(), "tools/list", b"")
        if asked:
            await asyncio.wait_for(changed.wait(), PATIENCE_S)
        else:
            await asyncio.sleep(0)
        assert (b'"a__new"' in list_page(gateway, Caller(), "tools/list", b"")) is asked


@requirement("POOL-08", "F9b-A05", "SESS-22")
async def test_a_changed_list_is_read_again_once_for_a_flood_of_news(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        told: list[str] = []
        mine.news.offer_changed.listen(lambda changed, parts: told.append(changed.spec.name))
        ways.last("a").answers.update(answers("one", "two"))
        for _ in range(50):
            ways.last("a").say("notifications/tools/list_changed")
        await until(lambda: len(mine.find("a").tools) == 2)
        assert (told, ways.last("a").methods.count("tools/list")) == (["a"], 2)


@requirement("POOL-09", "POOL-26", "SESS-07")
async def test_the_next_start_lists_from_the_cache_before_any_server_is_up(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables({"a": answers("x", "y")})) as mine:
        await mine.connect(table("a"))
    ways = Tables({"a": answers("x", "y", "z")})
    async with pool(tmp_path, ways) as mine:
        told: list[int] = []
        mine.news.offer_changed.listen(lambda changed, parts: told.append(len(changed.tools)))
        await mine.set_servers({"a": table("a")})
        assert [tool.name for tool in mine.find("a").tools] == ["x", "y"]
        assert ways.links == {}
        await mine.settled(5)
        assert told == [3]
        assert ways.last("a").methods[0] == "initialize"  # its era was remembered as well


@requirement("POOL-09", "POOL-03")
async def test_a_hundred_servers_with_a_warm_cache_are_listed_and_only_opened_when_called(tmp_path: Path) -> None:
    wanted = {f"s{n}": table(f"s{n}") for n in range(100)}
    async with pool(tmp_path, Tables()) as mine:
        await mine.set_servers(wanted)
        await mine.settled(20)
        assert all(len(each.tools) == 1 for each in mine)
    ways = Tables()
    async with pool(tmp_path, ways) as mine:
        await mine.set_servers(wanted)
        await mine.settled(20)
        assert all(len(each.tools) == 1 for each in mine)
        assert ways.open == set()
        await asyncio.gather(*(mine.get(f"s{n}") for n in range(5)))
        assert ways.open == {f"s{n}" for n in range(5)}


@requirement("POOL-09")
async def test_a_hundred_servers_without_a_cache_take_turns_in_twenty_places(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        most = 0

        def count(_: object) -> None:
            nonlocal most
            most = max(most, len(mine.slots))

        mine.news.state_changed.listen(count)
        await mine.set_servers({f"s{n}": table(f"s{n}") for n in range(100)})
        await mine.settled(20)
        assert (len(ways.links), most) == (100, 20)


@requirement("POOL-09", "QUAL-16")
async def test_servers_are_opened_one_in_a_turn_so_that_callers_are_heard_in_between(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.set_servers({f"s{n}": table(f"s{n}") for n in range(20)})
        opened: list[int] = []
        while len(ways.links) < 20:
            before = len(ways.links)
            await asyncio.sleep(0)
            opened.append(len(ways.links) - before)
        assert max(opened) == 1


@requirement("PROV-19", "S3-E02")
async def test_a_server_without_tools_says_so_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nothing: dict[str, Any] = {"tools": []}
    ways = Tables({"a": answers(**{"tools/list": nothing})})
    with caplog.at_level("INFO", "clawft.upstream"):
        async with pool(tmp_path, ways) as mine:
            await mine.connect(table("a"))
            assert mine.find("a").tools == ()
    assert "a: it has no tools" in caplog.text


# ── health and the end ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-10", "POOL-11", "POOL-12", "F9b-T17", "F9b-T18", "F9b-A06")
async def test_misses_degrade_answers_heal_and_three_in_a_row_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.02)
    monkeypatch.setattr(health, "HEALTH_PATIENCE", 0.02)
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        first, one = ways.last("a"), mine.find("a")
        before = one.health.last_healthy
        first.answers["ping"] = never
        await until(lambda: one.state is ServerState.DEGRADED)
        first.answers["ping"] = {}
        await until(lambda: one.state is ServerState.CONNECTED and one.health.failed_checks == 0)
        assert one.health.last_healthy > before
        first.answers["ping"] = never
        await until(lambda: len(ways.links["a"]) == 2 and one.state is ServerState.CONNECTED)
        assert first.closed


@requirement("POOL-10", "POOL-12", "SESS-07")
async def test_a_server_that_speaks_the_other_era_now_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP another version may take its place while we are connected, and understands nothing of what we say."""
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.02)
    capable: dict[str, Any] = {"tools": {}}
    hello: Scripted = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capable}
    listed: Scripted = {"resultType": "complete", "tools": [tool("one")], "ttlMs": 0, "cacheScope": "private"}
    ways = Tables({"a": {"server/discover": hello, "tools/list": listed}})
    async with pool(tmp_path, ways) as mine:
        await mine.connect(table("a"))
        first = ways.last("a")
        assert (await mine.get("a")).peer.era is Era.STATELESS
        ways.tables["a"] = answers("one")
        first.answers = {"server/discover": JsonRpcFailure(-32000, "Server not initialized")}
        await until(lambda: len(ways.links["a"]) == 2 and state(mine, "a") is ServerState.CONNECTED)
        assert (await mine.get("a")).peer.era is Era.HANDSHAKE


@requirement("POOL-10", "POOL-12", "SESS-07")
@pytest.mark.parametrize("code", [UNSUPPORTED_REVISION, INVALID_PARAMS, METHOD_NOT_FOUND])
async def test_a_server_of_the_handshake_era_that_is_replaced_by_a_stateless_one_is_looked_at_again(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.02)
    hello: Scripted = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    listed: Scripted = {"resultType": "complete", "tools": [tool("one")], "ttlMs": 0, "cacheScope": "private"}
    refused = JsonRpcFailure(code, "this needs _meta")
    newer: dict[str, Scripted] = {
        "server/discover": hello,
        "tools/list": listed,
        "ping": refused,
        "initialize": refused,
    }
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        first, before = ways.last("a"), mine.find("a").health.last_healthy
        assert (await mine.get("a")).peer.era is Era.HANDSHAKE
        await until(lambda: mine.find("a").health.last_healthy > before)
        ways.tables["a"] = first.answers = newer
        await until(lambda: len(ways.links["a"]) == 2 and state(mine, "a") is ServerState.CONNECTED)
        assert (await mine.get("a")).peer.era is Era.STATELESS


@requirement("POOL-10")
async def test_a_server_that_knows_no_ping_is_well_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "HEALTH_SECONDS", 0.02)
    ways = Tables({"a": answers("one", ping=JsonRpcFailure(METHOD_NOT_FOUND, "what?"))})
    async with pool(tmp_path, ways) as mine:
        await mine.connect(table("a"))
        one = mine.find("a")
        for _ in range(2 * health.MAX_MISSES):
            before = one.health.last_healthy
            await until(lambda before=before: one.health.last_healthy > before)
        assert (len(ways.links["a"]), one.state) == (1, ServerState.CONNECTED)
        assert ways.last("a").methods.count("server/discover") == 1


@requirement("POOL-13", "SESS-05", "S3-E03", "LINK-07")
async def test_a_server_that_crashes_in_a_loop_is_given_up_with_its_reason_until_asked(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        await mine.set_servers({"bad": child("bad", "--die-on", "initialize"), "good": child("good")})
        await mine.get("good")
        await until(lambda: state(mine, "bad") is ServerState.FAILED)
        status = mine.server_status("bad")
        assert "these are my last words" in status.error
        assert status.restarts == backoff.MAX_RESTARTS
        with pytest.raises(NotConnected, match="last words"):
            await mine.get("bad")
        done = await mine.reconnect("bad", seconds=10)
        assert (done.restarted, "last words" in done.errors["bad"]) == (("bad",), True)
        assert state(mine, "good") is ServerState.CONNECTED


@requirement("LINK-16", "POOL-14")
async def test_a_login_is_needed_and_then_not_tried_again(tmp_path: Path) -> None:
    ways = Tables({"a": {"server/discover": NeedsAuth("needs a login")}})
    async with pool(tmp_path, ways) as mine:
        done = await mine.connect(table("a"))
        assert (state(mine, "a"), done.errors) == (ServerState.NEEDS_AUTH, {"a": "needs a login"})
        assert len(ways.links["a"]) == 1


@requirement("MGR-15", "LINK-08")
async def test_a_program_that_never_answers_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what it wrote to stdout: that is where programs which are no servers, or not yet, tell about themselves."""
    monkeypatch.setattr(introduction, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(introduction, "HANDSHAKE_SECONDS", 0.5)
    noise = "print('listening on port 3000', flush=True); import time; time.sleep(60)"
    async with pool(tmp_path) as mine:
        await mine.set_servers({"web": UpstreamSpec("web", command=sys.executable, args=("-c", noise))})
        await until(lambda: bool(mine.server_status("web").error))
        said = mine.server_status("web").error
        assert "initialize: no answer within 500 ms" in said
        assert "where only messages may be) listening on port 3000" in said


@requirement("MGR-15", "POOL-05")
@pytest.mark.parametrize("id", ['"1"', "1.0"])
async def test_a_program_that_answers_with_other_ids_is_told_of_with_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str
) -> None:
    monkeypatch.setattr(introduction, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(introduction, "HANDSHAKE_SECONDS", 0.5)
    line, said = f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}', "answers nobody waited for"
    odd = f"import sys\nfor _ in sys.stdin: print({line!r}, flush=True)"
    async with pool(tmp_path) as mine:
        await mine.set_servers({"odd": UpstreamSpec("odd", command=sys.executable, args=("-c", odd))})
        await until(lambda: bool(mine.server_status("odd").error))
        assert said in mine.server_status("odd").error
        assert mine.server_status("odd").faults[said] >= 1


@requirement("MGR-15", "FR-008", "SESS-05", "SESS-20")
@pytest.mark.parametrize(
    "wrong",
    [
        UpstreamSpec("bad", command="/no/such/program"),
        child("bad", "--odd-version"),
        child("bad", env={"TOKEN": "secret://env/NO_SUCH_VARIABLE_HERE"}),
    ],
    ids=["no program", "no common revision", "no secret"],
)
async def test_what_cannot_help_is_not_tried_again_and_the_others_go_on(tmp_path: Path, wrong: UpstreamSpec) -> None:
    async with pool(tmp_path) as mine:
        done = await mine.set_servers({"bad": wrong, "good": child("good")}, seconds=20)
        assert list(done.errors) == ["bad"]
        await until(lambda: state(mine, "bad") is ServerState.FAILED)
        assert mine.server_status("bad").restarts == 0
        await mine.get("good")


@requirement("POOL-13")
def test_waits_grow_with_jitter_and_end_after_five_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.5)
    mine = backoff.Backoff()
    waits = [mine.next_wait(float(n)) for n in range(6)]
    assert waits[5] is None
    for n, wait in enumerate(waits[:5]):
        assert wait is not None
        assert 0.8 * 0.5 * 2**n <= wait <= 1.2 * 0.5 * 2**n
    mine.forgive()
    assert mine.next_wait(6.0) is not None
    assert all(mine.next_wait(100.0 * n) is not None for n in range(1, 20))


@requirement("POOL-14")
def test_every_state_can_be_left_and_nothing_else_happens() -> None:
    assert {each.value for each in ServerState} == {
        "pending", "connected", "needs-auth", "degraded", "failed", "disabled",
    }  # fmt: skip
    assert all(MOVES[each].get(ServerEvent.DISABLE) is ServerState.DISABLED for each in ServerState)
    with pytest.raises(IllegalMove, match="failed cannot take missed"):
        move(ServerState.FAILED, ServerEvent.MISSED)


@requirement("POOL-14")
def test_a_condition_keeps_why_a_server_was_lost_and_a_failed_try_changes_nothing() -> None:
    lost = Condition(1.0, ServerState.CONNECTED).lost("it ended", None).after(ServerEvent.LOST, 2.0)
    assert lost == Condition(2.0, ServerState.PENDING, error="it ended", last_loss="it ended")
    back = lost.with_error("").after(ServerEvent.OPENED, 3.0)
    assert (back.is_open, back.last_loss, back.since) == (True, "it ended", 3.0)
    down = lost.lost("login", "Bearer").after(ServerEvent.CHALLENGED, 4.0)
    assert down.after(ServerEvent.CHALLENGED, 5.0) is down
    assert down.lost("again", None).challenge == "Bearer"


# ── what people say ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("MGR-05", "MGR-06", "S2-P4-12", "S2-P6-04")
async def test_set_servers_applies_the_difference_and_nothing_more(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.set_servers({name: table(name) for name in ("kept", "gone", "changed")}, seconds=5)
        kept = await mine.get("kept")
        done = await mine.set_servers(
            {
                "kept": table("kept"),
                "changed": table("changed", timeout_ms=1),
                "new": table("new"),
                "newer": table("newer"),
                "no": UpstreamSpec("no"),
                "a__b": table("a__b"),
            },
            seconds=5,
        )
        assert (done.added, done.removed, done.restarted) == (("new", "newer"), ("gone",), ("changed",))
        assert set(done.errors) == {"no", "a__b"}
        assert await mine.get("kept") is kept
        assert ways.open == {"kept", "changed", "new", "newer"}


@requirement("MGR-12", "CONF-02", "CONF-18")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (UpstreamSpec("a"), "either a url or a command"),
        (UpstreamSpec("a", command="table", url="http://127.0.0.1:1/mcp"), "a url or a command, not both"),
        (UpstreamSpec("a", command="table;ls", trust="trusted"), "unsafe command: 'table;ls' contains ';'"),
        (UpstreamSpec("a", command="/opt/../bin/table", trust="trusted"), "unsafe command"),
        (UpstreamSpec("a", url="ftp://user:secret@x"), "must begin with http:// or https://, not 'ftp://"),
        (UpstreamSpec("a", url="user:secret@x/mcp"), "must begin with http:// or https://, not 'user:x/mcp'"),
        (UpstreamSpec("a", url="https://"), "names no host"),
        (UpstreamSpec("a", url="http://[x"), "cannot be read"),
        (UpstreamSpec("a", url="http://x:99999/mcp"), "cannot be read"),
        (UpstreamSpec("a", url="http://x:port/mcp"), "cannot be read"),
        (UpstreamSpec("a", url="https://x", proxy="ada:secret@proxy:80"), "the proxy must begin with http://"),
        (UpstreamSpec("a", command="table", proxy="http://proxy:80"), "proxy is for servers that are reached by http"),
    ],
)
async def test_a_spec_that_makes_no_sense_is_refused_before_anything_starts(
    tmp_path: Path, spec: UpstreamSpec, said: str
) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        done = await mine.connect(spec)
        assert said in done.errors["a"]
        assert "secret" not in done.errors["a"]
        assert (ways.links, mine.status()) == ({}, [])


@requirement("CONF-02")
async def test_a_url_that_begins_with_a_variable_is_judged_when_that_is_known(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        done = await mine.connect(UpstreamSpec("a", url="${NO_SUCH_VARIABLE_HERE}/mcp"))
        assert "NO_SUCH_VARIABLE_HERE" in done.errors["a"]


@requirement(
    "MGR-01", "MGR-02", "MGR-03", "MGR-04", "S2-P4-08", "S2-P4-09", "S2-P4-10", "S2-P4-11", "POOL-04", "F9b-T12"
)
async def test_connect_disconnect_reconnect_and_toggle(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        assert state(mine, "a") is ServerState.CONNECTED
        await mine.reconnect("a")
        assert (state(mine, "a"), len(ways.links["a"])) == (ServerState.CONNECTED, 2)
        await mine.toggle("a", False)
        assert (mine.server_status("a").status, ways.open) == ("disabled", set())
        with pytest.raises(NotConnected, match="is disabled"):
            await mine.get("a")
        await mine.toggle("a", True)
        assert ways.open == {"a"}
        await mine.disconnect("a")
        assert (mine.status(), ways.open) == ([], set())


@requirement("MGR-07", "MGR-08", "MGR-09", "S2-P4-15", "S4-SV-01")
async def test_status_shows_every_server_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        await mine.set_servers({"on": child("on"), "off": child("off", enabled=False)}, seconds=20)
        on, off = mine.status()
        assert (on.name, on.status, on.era, on.revision) == ("on", "connected", "handshake", "2025-11-25")
        assert (on.server_info["name"], len(on.tools), on.trusted) == ("honest", 10, False)
        assert on.pid is not None
        assert (off.status, off.scope) == ("disabled", "")
        moved = await mine.set_servers({"on": child("on", scope="workspace"), "off": child("off", enabled=False)})
        assert moved.restarted == ()
        assert (mine.server_status("on").scope, mine.server_status("on").pid) == ("workspace", on.pid)
        for ask in (mine.server_status, mine.find):
            with pytest.raises(ServerNotFound, match="known servers: on, off"):
                ask("nobody")
        with pytest.raises(ServerNotFound):
            await mine.disconnect("nobody")


@requirement("MGR-13", "S2-P4-16")
async def test_everything_at_once_ends_in_what_was_said_last(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := Tables()) as mine:
        await mine.connect(table("a"))
        await asyncio.gather(
            *(mine.toggle("a", bool(n % 2)) for n in range(6)),
            *(mine.connect(table(f"b{n}")) for n in range(6)),
            mine.reconnect("a"),
        )
        await mine.settled(5)
        assert ways.open == {"a", *(f"b{n}" for n in range(6))}


@requirement("MGR-14", "S2-P2-09")
async def test_closing_stops_all_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clawft.link import process

    monkeypatch.setattr(process, "STOP_SECONDS", 0.4)
    async with pool(tmp_path) as mine:
        wanted = {f"s{n}": child(f"s{n}", "--ignore-eof", "--ignore-term") for n in range(4)}
        await mine.set_servers(wanted, seconds=20)
        before = asyncio.get_running_loop().time()
        await mine.close()
        assert asyncio.get_running_loop().time() - before < 2.0  # one after the other would be 3.2
        assert mine.status() == []


@requirement("MGR-11", "S4-SV-01", "S4-SV-02")
async def test_one_server_that_never_answers_and_one_that_crashes_leave_eighteen_at_once(tmp_path: Path) -> None:
    ways = Tables({"mute": answers(initialize=never), "crash": {"initialize": LinkClosed("crashed")}})
    async with pool(tmp_path, ways) as mine:
        good = [f"s{n}" for n in range(18)]
        await mine.set_servers({name: table(name) for name in (*good, "mute", "crash")})
        async with asyncio.timeout(2):
            await asyncio.gather(*(mine.get(name) for name in good))
        assert all(len(mine.find(name).tools) == 1 for name in good)
        assert mine.find("mute").error == ""


@requirement("SESS-20", "S4-CL-02")
async def test_an_error_in_a_list_beside_the_tools_loses_that_list_only(tmp_path: Path) -> None:
    hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}}
    bad = answers(initialize=hello, **{"prompts/list": JsonRpcFailure(-32603, "oops")})
    ways = Tables({"a": bad, "b": answers(**{"tools/list": JsonRpcFailure(-32603, "oops")})})
    async with pool(tmp_path, ways) as mine:
        await mine.connect(table("a"))
        assert (state(mine, "a"), len(mine.find("a").tools)) == (ServerState.CONNECTED, 1)
        done = await mine.connect(table("b"))
        assert "oops" in done.errors["b"]


@requirement("SESS-05")
async def test_a_program_that_cannot_start_is_named(tmp_path: Path) -> None:
    ways = Tables({"a": {"server/discover": SpawnFailed("/x does not exist")}})
    async with pool(tmp_path, ways) as mine:
        assert (await mine.connect(table("a"))).errors == {"a": "/x does not exist"}


@requirement("POOL-13")
async def test_a_machine_that_lacks_something_now_is_tried_again(tmp_path: Path) -> None:
    """The attack: all open files taken for the moment in which a server is started."""
    full = SpawnFailed("/x could not be started: too many open files", passing=True)
    ways = Tables({"a": {"server/discover": full}})
    async with pool(tmp_path, ways) as mine:
        assert (await mine.connect(table("a"))).errors == {"a": full.message}
        ways.tables = {}
        await until(lambda: state(mine, "a") is ServerState.CONNECTED)


@requirement("POOL-08", "SESS-06")
async def test_a_stateless_server_is_listened_to_for_list_changes(tmp_path: Path) -> None:
    async with pool(tmp_path) as mine:
        await mine.connect(child("new", "--era", "stateless"))
        before = len(mine.find("new").tools)
        session = await mine.get("new")
        assert session.peer.era.value == "stateless"
        await session.call_tool("change")
        await until(lambda: len(mine.find("new").tools) == before + 1)


@requirement("POOL-18", "QUAL-03")
@pytest.mark.parametrize(("silent", "step"), [("initialize", "the handshake"), ("tools/list", "tools/list")])
async def test_a_server_that_is_not_ready_says_what_it_does_not_answer(tmp_path: Path, silent: str, step: str) -> None:
    async with pool(tmp_path, Tables({"a": {**answers(), silent: never}})) as p:
        await p.set_servers({"a": table("a")})
        with pytest.raises(NotConnected, match=f"not ready after 0.3 s: no answer to {step} yet"):
            await p.find("a").connected(0.3)
        assert p.server_status("a").step == step


@requirement("MGR-01", "MGR-03", "MGR-04", "SESS-20")
@pytest.mark.parametrize(("silent", "step"), [("initialize", "the handshake"), ("tools/list", "tools/list")])
async def test_who_waited_for_a_server_hears_that_it_is_not_there_yet(tmp_path: Path, silent: str, step: str) -> None:
    async with pool(tmp_path, Tables({"a": {**answers(), silent: never}})) as mine:
        said = {"a": f"not ready after 0.3 s: no answer to {step} yet"}
        assert (await mine.connect(table("a"), seconds=0.3)).errors == said
        assert (await mine.reconnect("a", seconds=0.3)).errors == said
        assert (await mine.toggle("a", False, seconds=0.3)).errors == {}
        assert (await mine.toggle("a", True, seconds=0.3)).errors == said
        wanted = {"a": table("a", timeout_ms=1), "b": table("b")}
        assert (await mine.set_servers(wanted)).errors == {}  # nobody waited


@requirement("MGR-13")
async def test_who_waits_for_a_server_that_is_stopped_waits_no_longer(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables({"a": answers(initialize=never)})) as mine:
        waiting = asyncio.create_task(mine.connect(table("a"), seconds=PATIENCE_S))
        await until(lambda: bool(mine.status()) and mine.server_status("a").step == "the handshake")
        await mine.disconnect("a")
        async with asyncio.timeout(PATIENCE_S / 4):
            assert (await waiting).errors == {}
