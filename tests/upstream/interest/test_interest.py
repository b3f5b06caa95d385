"""What callers want to hear is told to the server once, and again when it comes back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
