"""What callers want to hear is told to the server once, and again when it comes back."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.link.base import OutgoingRequest
from clawft.upstream.interest import listen
from clawft.upstream.interest.interest import Interest
from tests.requirements import requirement
from tests.upstream.support import Tables, answers, pool, table, until

HELLO: Mapping[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {"subscribe": True}, "logging": {}},
    "serverInfo": {"name": "table"},
}


def server() -> Tables:
    told: dict[str, Any] = {"resources/subscribe": {}, "resources/unsubscribe": {}, "logging/setLevel": {}}
    lists: dict[str, Any] = {"resources/list": {"resources": []}, "resources/templates/list": {"resourceTemplates": []}}
    return Tables({"a": answers(initialize=HELLO, **told, **lists)})


def sent(ways: Tables, method: str) -> list[Any]:
    return [json.loads(each.params) for each in ways.last("a").requests if each.method == method]


@requirement("RES-06")
async def test_the_first_and_the_last_watcher_count(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := server()) as mine:
        await mine.connect(table("a"))
        interest = mine.find("a").interest
        heard: list[str] = []
        releases = [interest.resources.add("x://a", lambda params: heard.append(params.decode())) for _ in range(3)]
        await interest.settled(5)
        ways.last("a").say("notifications/resources/updated", {"uri": "x://a"})
        ways.last("a").say("notifications/resources/updated", {"uri": "x://a/part"})
        ways.last("a").say("notifications/resources/updated", {"uri": "x://ab"})
        assert heard == ['{"uri":"x://a"}'] * 3 + ['{"uri":"x://a/part"}'] * 3
        for release in (*releases, *releases):  # twice is once
            release()
        await interest.settled(5)
        assert sent(ways, "resources/subscribe") == [{"uri": "x://a"}]
        assert sent(ways, "resources/unsubscribe") == [{"uri": "x://a"}]


@requirement("RES-06", "SESS-23")
async def test_a_server_that_comes_back_is_told_again_and_what_may_have_changed_is_said(tmp_path: Path) -> None:
    async with pool(tmp_path, ways := server()) as mine:
        await mine.connect(table("a"))
        interest = mine.find("a").interest
        heard: list[bytes] = []
        interest.resources.add("x://a", heard.append)
        interest.hear("error")
        await interest.settled(5)
        ways.last("a").break_off()
        await until(lambda: len(ways.links["a"]) == 2 and sent(ways, "resources/subscribe") == [{"uri": "x://a"}])
        await until(lambda: heard == [b'{"uri":"x://a"}'])
        assert sent(ways, "logging/setLevel") == [{"level": "error"}]


@requirement("RES-11")
async def test_the_lowest_level_that_anyone_wants(tmp_path: Path) -> None:
    interest = Interest()
    assert interest.level == ""
    interest.hear("error")
    assert interest.hear_at_least("debug")
    assert not interest.hear_at_least("info")
    interest.hear("critical")
    assert interest.level == "debug"


@requirement("RES-06")
async def test_nobody_waits_for_a_server_that_is_away() -> None:
    interest = Interest()
    interest.resources.add("x://a", lambda params: None)
    await interest.settled(60)


@requirement("RES-06", "QUAL-03")
async def test_a_server_that_takes_no_note_is_waited_for_once() -> None:
    """Somebody who watches a thousand of its resources would wait a thousand times."""
    interest = Interest()
    interest.begin()
    interest.resources.add("x://a", lambda params: None)
    await interest.settled(0.05)
    async with asyncio.timeout(5):
        for number in range(1_000):
            interest.resources.add(f"x://{number}", lambda params: None)
            await interest.settled(0.05)
    waits = asyncio.create_task(interest.settled(60))  # which is more patience
    await asyncio.sleep(0)
    assert not waits.done()
    interest.mark_told(interest.version)
    await waits
    interest.resources.add("x://b", lambda params: None)
    waits = asyncio.create_task(interest.settled(60))
    await asyncio.sleep(0)
    assert not waits.done()
    interest.mark_told(interest.version)
    await waits


@requirement("RES-06", "QUAL-03")
async def test_a_stateless_server_that_never_acknowledges_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "ACKNOWLEDGE_SECONDS", 0.01)

    async def never(asked: OutgoingRequest) -> Mapping[str, Any]:
        return await asyncio.Future()

    hello: Mapping[str, Any] = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"resources": {"subscribe": True}},
    }
    lists: dict[str, Any] = {"resources/list": {"resources": []}, "resources/templates/list": {"resourceTemplates": []}}
    deaf = answers(**{"server/discover": hello, "subscriptions/listen": never, **lists})
    async with pool(tmp_path, ways := Tables({"a": deaf})) as mine:
        await mine.connect(table("a"))
        interest = mine.find("a").interest
        interest.resources.add("x://a", lambda params: None)
        await interest.settled(60)
        for number in range(1_000):
            interest.resources.add(f"x://{number}", lambda params: None)
            await interest.settled(60)
        assert len(sent(ways, "subscriptions/listen")) < 10
        await until(
            lambda: len(sent(ways, "subscriptions/listen")[-1]["notifications"]["resourceSubscriptions"]) == 1_001
        )
