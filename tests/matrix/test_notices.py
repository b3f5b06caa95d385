"""What is said beside answers: progress, log messages, changes; and the ways to stop a call."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.matrix.agents import META, Agent, Heard
from tests.matrix.cells import Cell, cells
from tests.matrix.houses import Houses, connected
from tests.requirements import requirement

pytestmark = pytest.mark.slow

AT_ONCE = 64


async def marks(agent: Agent) -> list[str]:
    return json.loads(await agent.say("marks"))


async def until_marked(agent: Agent, *wanted: str) -> None:
    async with asyncio.timeout(20):
        while not set(wanted) <= set(await marks(agent)):
            continue  # asking takes its time


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("RES-11")
@cells("progress")
async def test_progress_reaches_the_call_it_belongs_to(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        id = agent.start_call("report", progress="mine", token="p")
        assert "result" in await agent.answer(id)
        told = agent.notices("notifications/progress")
        assert [each.params["progress"] for each in told] == [1, 2, 3]
        assert {each.params["progressToken"] for each in told} == {"mine"}
        if cell.transport == "http":
            assert {each.stream for each in told} == {id}
        for method, params in (("prompts/get", {"name": "greet"}), ("resources/read", {"uri": "matrix://page/3"})):
            assert "result" in await agent.ask(method, **params, _meta={"progressToken": method})
            told = agent.notices("notifications/progress", lambda p, token=method: p["progressToken"] == token)
            assert [each.params["progress"] for each in told] == [1, 2, 3]


@requirement("RES-11")
@cells("progress of 64 calls at once")
async def test_progress_of_many_calls_at_once(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        names = [f"{cell}-{number}" for number in range(AT_ONCE)]
        ids = {name: agent.start_call("report", progress=f"token {name}", token=name) for name in names}
        for name, id in ids.items():
            assert (await agent.answer(id))["result"]["content"][0]["text"] == name
            told = agent.notices("notifications/progress", lambda p, name=name: p["progressToken"] == f"token {name}")
            assert [(each.params["progress"], each.params["message"]) for each in told] == [
                (n, name) for n in (1, 2, 3)
            ]
            assert cell.transport == "stdio" or {each.stream for each in told} == {id}


# ── stopping a call ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-14", "RES-11")
@cells("cancel")
async def test_a_cancelled_call_is_cancelled_at_the_server(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        mark = f"one-{cell}"
        id = agent.start_call("hold", mark=mark)
        await until_marked(agent, f"began {mark}")
        agent.cancel(id)
        await until_marked(agent, f"cancelled {mark}")
        assert not agent.answered(id)


@requirement("SESS-14", "RES-11")
@cells("cancel among 64 calls")
async def test_only_the_cancelled_ones_of_many_calls_are_cancelled(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        names = [f"{number}-{cell}" for number in range(AT_ONCE - 1)]  # one place is for those who look
        ids = {name: agent.start_call("hold", mark=name, gate=f"all-{cell}") for name in names}
        await until_marked(agent, *(f"began {name}" for name in names))
        for name in names[::2]:
            agent.cancel(ids[name])
        await until_marked(agent, *(f"cancelled {name}" for name in names[::2]))
        await agent.say("finish", gate=f"all-{cell}")
        for name in names[1::2]:
            assert (await agent.answer(ids[name]))["result"]["content"][0]["text"] == name
        assert not any(agent.answered(ids[name]) for name in names[::2])
        assert not {f"cancelled {name}" for name in names[1::2]} & set(await marks(agent))


@requirement("SESS-14", "SHELL-18")
@cells("disconnect cancels", agents=["stateless"], transports=["http"])
async def test_leaving_cancels_in_the_stateless_era(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent, connected(cell, houses, tmp_path) as other:
        mark = f"left-{cell}"
        agent.start_call("hold", mark=mark)
        await until_marked(other, f"began {mark}")
        await agent.hang_up()
        await until_marked(other, f"cancelled {mark}")


@requirement("SESS-14", "SHELL-18")
@cells("disconnect does not cancel", agents=["handshake"], transports=["http"])
async def test_leaving_does_not_cancel_in_the_handshake_era(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent, connected(cell, houses, tmp_path) as other:
        mark = f"left-{cell}"
        agent.start_call("hold", mark=mark)
        await until_marked(other, f"began {mark}")
        await agent.hang_up()
        await other.say("finish", gate=mark)
        await until_marked(other, f"ended {mark}")
        assert f"cancelled {mark}" not in await marks(other)


# ── log messages ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def loud(agent: Agent, level: str) -> dict[str, str]:
    """Want log messages from this level on, in the form of the era; the `_meta` for calls."""
    if agent.era == "stateless":
        return {META + "logLevel": level}
    await agent.result("logging/setLevel", level=level)
    return {}


@requirement("RES-11", "SESS-22")
@cells("log messages")
async def test_log_messages_from_the_level_the_agent_wants(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        for level, count in (("error", 4), ("debug", 8), ("critical", 3)):
            meta = await loud(agent, level)
            token = f"{level}-{cell}"
            id = agent.start_call("say", meta=meta, token=token)
            await agent.answer(id)
            await agent.until(lambda token=token, count=count: len(said(agent, token)) >= count)
            assert [each.params["logger"] for each in said(agent, token)] == ["peer"] * count
            assert said(agent, token)[0].params["level"] == level
            if cell.transport == "http":
                assert {each.stream for each in said(agent, token)} == {id}


def said(agent: Agent, token: str) -> list[Heard]:
    return agent.notices("notifications/message", lambda params: params["data"] == token)


@requirement("RES-11")
@cells("no log level, no messages")
async def test_an_agent_that_asked_for_no_log_hears_none(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as quiet, connected(cell, houses, tmp_path) as other:
        meta = await loud(other, "debug")
        token = f"quiet-{cell}"
        await other.answer(other.start_call("say", meta=meta, token=token))
        await other.until(lambda: len(said(other, token)) == 8)
        await quiet.say("say", token=f"unheard-{cell}")
        await quiet.say("echo", token="later")
        assert quiet.notices("notifications/message") == []


@requirement("RES-11")
@cells("log messages while several calls run", agents=["handshake"])
async def test_a_conversation_hears_all_of_its_server(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        await loud(agent, "error")
        token = await say_while_another_runs(agent, cell, {})
        await agent.until(lambda: len(said(agent, token)) == 4)


@requirement("RES-11")
@cells("log messages while several calls run", agents=["stateless"], transports=["http"])
async def test_a_stream_tells_which_call_a_message_belongs_to(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        token = await say_while_another_runs(agent, cell, {META + "logLevel": "error"})
        await agent.until(lambda: len(said(agent, token)) == 4)


@requirement("RES-11")
@cells("log messages while several calls run", agents=["stateless"], transports=["stdio"], outcome="refused")
async def test_a_message_that_could_be_of_either_call_is_given_to_none(
    cell: Cell, houses: Houses, tmp_path: Path
) -> None:
    """A pipe does not say which; the message is in our own log instead."""
    async with connected(cell, houses, tmp_path) as agent:
        token = await say_while_another_runs(agent, cell, {META + "logLevel": "error"})
        await agent.say("echo", token="later")
        assert said(agent, token) == []


async def say_while_another_runs(agent: Agent, cell: Cell, meta: dict[str, str]) -> str:
    mark = f"several-{cell}"
    other = agent.start_call("hold", mark=mark, meta=meta)
    await until_marked(agent, f"began {mark}")
    await agent.answer(agent.start_call("say", meta=meta, token=mark))
    await agent.say("finish", gate=mark)
    await agent.answer(other)
    return mark


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-17", "SESS-22")
@cells("list_changed")
async def test_changed_lists_are_told_and_listed_anew(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        stream = await agent.watch()
        for what in ("tools", "prompts", "resources"):
            before = len((await agent.result(f"{what}/list"))[what])
            await agent.say("change", what=what)
            heard = await agent.notice(f"notifications/{what}/list_changed")
            assert heard.subscription == stream
            assert len((await agent.result(f"{what}/list"))[what]) == before + 1
            agent.heard.clear()


@requirement("RES-06", "SESS-22")
@cells("resources/updated")
async def test_a_watched_resource_tells_of_its_changes(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        uri, other = f"matrix://page/{cell}", f"matrix://page/other-{cell}"
        stream = await agent.watch([uri])
        await agent.say("touch", uri=other)
        await agent.say("touch", uri=uri)
        heard = await agent.notice("notifications/resources/updated")
        assert (heard.params["uri"], heard.params["title"]) == (uri, "Changed")
        assert heard.params["_meta"]["v/k"] == 1.5
        assert heard.subscription == stream
        assert len(agent.notices("notifications/resources/updated")) == 1


@requirement("RES-06")
@cells("unsubscribing, counted")
async def test_the_server_hears_of_the_first_and_the_last_who_watch(cell: Cell, houses: Houses, tmp_path: Path) -> None:
    async with connected(cell, houses, tmp_path) as agent:
        uri = f"matrix://page/counted-{cell}"
        first = await agent.watch([uri])
        second = await agent.watch([uri]) if agent.era == "stateless" else 0
        assert await watches(agent, cell, uri) == [True]
        await agent.unwatch(first, uri)
        if second:
            await agent.say("touch", uri=uri)
            await agent.notice(
                "notifications/resources/updated", lambda p: p["_meta"][META + "subscriptionId"] == second
            )
            await agent.unwatch(second)
        async with asyncio.timeout(20):
            while await watches(agent, cell, uri) != [True, False]:
                continue  # asking takes its time
        agent.heard.clear()
        await agent.say("touch", uri=uri)
        await agent.say("echo", token="later")
        assert agent.notices("notifications/resources/updated") == []


async def watches(agent: Agent, cell: Cell, uri: str) -> list[bool]:
    """What the server was told of this resource, in order: watched, not watched."""
    if cell.server == "handshake":
        seen = json.loads(await agent.say("seen", word=uri, method="resources/"))
        return [each["method"] == "resources/subscribe" for each in seen]
    heard = [
        uri in (each["params"]["notifications"].get("resourceSubscriptions") or ())
        for each in json.loads(await agent.say("seen", method="subscriptions/listen"))
    ]
    return [now for before, now in zip([False, *heard], heard, strict=False) if now != before]
