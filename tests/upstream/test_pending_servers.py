"""The first look at a gateway that has just been started: what is on its way is waited for, but not for long."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from clawft.upstream.pending_servers import WAIT_SECONDS, WAITED_CHANGES, PendingServers
from clawft.upstream.upstream import Upstream
from tests.requirements import requirement
from tests.security.siege import honest
from tests.servers.pipe import Json, Pipe, call, mcp_server, modern_meta, request, text_of

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]  # real processes, and a moment that a busy machine may miss

SILENT: Json = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"], "timeout": 3_000}
PATIENT_S = 15.0
"""Far less than the minute a server has to open, far more than the moment it is waited for."""


def servers(**entries: Json) -> tuple[str, str]:
    return "--mcp-config", json.dumps({"mcpServers": entries})


def names_in(answer: Json) -> set[str]:
    return {tool["name"] for tool in answer["result"]["tools"]}


async def first_list(pipe: Pipe) -> set[str]:
    await pipe.open()
    return names_in(await pipe.ask("tools/list"))


@requirement("POOL-09", "POOL-15")
async def test_whoever_looks_only_once_sees_the_tools_of_servers_that_were_never_started_before(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, *servers(one=honest("one"), two=honest("two"))) as pipe:
        assert {"one__echo", "two__echo"} <= await first_list(pipe)


@requirement("POOL-09", "POOL-15")
async def test_so_does_a_client_of_the_stateless_era(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, *servers(one=honest("one"))) as pipe:
        await pipe.send(request(1, "tools/list", {"_meta": modern_meta()}))
        assert "one__echo" in names_in(await pipe.answer(1))


@requirement("POOL-15")
async def test_a_call_finds_a_tool_that_comes_with_its_server(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, *servers(one=honest("one"), silent=SILENT)) as pipe:
        await pipe.open()
        answer = await pipe.ask("tools/call", {"name": "one__echo", "arguments": {"text": "at once"}})
        assert text_of(answer) == "one: at once"


def behind(gate: Path, entry: Json) -> Json:
    """It begins when there is such a file."""
    waiting = (
        f"import os, sys, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        f"os.execv(sys.executable, [sys.executable, *{entry['args']!r}])"
    )
    return {**entry, "args": ["-c", waiting]}


@requirement("POOL-15", "GUARD-07")
async def test_a_call_waits_longer_than_a_list_and_a_hidden_tool_is_no_other_than_one_that_is_not(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    slow, hidden = behind(gate, honest("slow")), behind(gate, honest("hidden"))
    async with mcp_server(tmp_path, *servers(slow=slow, hidden=hidden), "--deny", "hidden__*") as pipe:
        await pipe.open()
        await pipe.send(*(call(name, f"{name}__echo", {"text": "at last"}) for name in ("slow", "hidden", "nobody")))
        assert [(await pipe.answer(name))["error"]["code"] for name in ("hidden", "nobody")] == [-32602, -32602]
        assert "slow__echo" not in names_in(await pipe.ask("tools/list"))
        assert not [each for each in pipe.others if each.get("id") == "slow"]
        gate.touch()
        assert text_of(await pipe.answer("slow")) == "slow: at last"


@pytest.mark.slow
@requirement("POOL-15", "POOL-05")
async def test_a_server_that_says_nothing_is_not_waited_for_long(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, *servers(one=honest("one"), silent=SILENT)) as pipe:
        began = time.monotonic()
        assert "one__echo" in await first_list(pipe)
        assert time.monotonic() - began < PATIENT_S
        async with asyncio.timeout(PATIENT_S):
            answer = await pipe.ask("tools/call", {"name": "silent__echo", "arguments": {}})
        assert text_of(answer).startswith("silent is not connected: not ready after ")
        assert "no answer to the handshake yet (weft servers status silent)" in text_of(answer)


@requirement("POOL-05", "QUAL-03")
async def test_a_tool_of_a_server_that_never_was_there_says_why_and_a_hidden_one_nothing(tmp_path: Path) -> None:
    """It may well exist: whoever calls it has made no mistake."""
    gone: Json = {"command": "/no/such/program"}
    async with mcp_server(tmp_path, *servers(gone=gone, hidden=gone), "--deny", "hidden__*") as pipe:
        await pipe.open()
        for name in ("gone__poke", "mcp__gone__poke", "mcp:gone:poke"):
            answer = await pipe.ask("tools/call", {"name": name, "arguments": {}})
            assert answer["result"]["isError"]
            assert text_of(answer).startswith("gone is not connected: /no/such/program")
        for name in ("hidden__poke", "gonepoke", "gone__", "gonether__poke"):
            answer = await pipe.ask("tools/call", {"name": name, "arguments": {}})
            assert (answer["error"]["code"], "connected" in str(answer)) == (-32602, False)


@requirement("POOL-08")
@pytest.mark.parametrize("meta", [{}, {"_meta": modern_meta()}], ids=["handshake", "stateless"])
async def test_whoever_asks_while_changed_lists_are_on_their_way_gets_the_new_ones(tmp_path: Path, meta: Json) -> None:
    entry: Json = {"command": sys.executable, "args": [str(Path(__file__).parents[1] / "servers" / "honest.py")]}
    async with mcp_server(tmp_path, *servers(one=entry)) as pipe:
        if not meta:
            await pipe.open()
        await pipe.ask("tools/list", dict(meta))
        for number in range(2):
            await pipe.ask("tools/call", {"name": "one__change", "arguments": {}, **meta})
            assert f"one__new_{number}" in names_in(await pipe.ask("tools/list", dict(meta)))
        await pipe.ask("tools/call", {"name": "one__change", "arguments": {}, **meta})
        assert text_of(await pipe.ask("tools/call", {"name": "one__new_2", "arguments": {}, **meta})) == "new_2"


@requirement("POOL-08", "POOL-05")
async def test_a_server_that_changes_its_lists_all_the_time_holds_up_nobody() -> None:
    on_their_way, waited = PendingServers(), 0
    for _ in range(10 * WAITED_CHANGES):
        on_their_way.add_lists("restless", reading := asyncio.create_task(asyncio.sleep(0)))
        waited += on_their_way.any_lists_changing
        await on_their_way.wait_for_lists()
        await reading
    assert waited == WAITED_CHANGES
    on_their_way.add_lists("another", asyncio.create_task(asyncio.sleep(0)))
    assert on_their_way.any_lists_changing


@requirement("POOL-08")
async def test_a_list_that_does_not_come_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.upstream.pending_servers.WAIT_SECONDS", 0.01)
    on_their_way = PendingServers()
    on_their_way.add_lists("slow", reading := asyncio.create_task(asyncio.Event().wait()))
    await on_their_way.wait_for_lists()
    assert not reading.done()
    still = on_their_way.any_lists_changing
    assert not still  # nor by the next who asks
    reading.cancel()


@requirement("POOL-08", "POOL-15")
async def test_where_list_after_list_changes_nobody_waits_for_more_than_those_on_their_way_now() -> None:
    on_their_way, first, never = PendingServers(), asyncio.Event(), asyncio.Event()
    on_their_way.add_lists("one", asyncio.create_task(first.wait()))
    waiting = asyncio.create_task(on_their_way.wait_for_lists())
    await asyncio.sleep(0)
    on_their_way.add_lists("another", later := asyncio.create_task(never.wait()))
    first.set()
    async with asyncio.timeout(WAIT_SECONDS / 2):
        await waiting
    later.cancel()


@requirement("POOL-08", "POOL-15")
async def test_a_server_whose_lists_were_waited_for_in_vain_holds_up_nobody_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clawft.upstream.pending_servers.WAIT_SECONDS", 0.01)
    on_their_way, go = PendingServers(), asyncio.Event()
    on_their_way.add_lists("slow", reading := asyncio.create_task(go.wait()))
    await on_their_way.wait_for_lists()
    go.set()
    await reading
    await asyncio.sleep(0)
    waited: list[bool] = []
    for name in ("slow", "another"):
        on_their_way.add_lists(name, again := asyncio.create_task(asyncio.sleep(0)))
        waited.append(on_their_way.any_lists_changing)
        await again
        await asyncio.sleep(0)
    assert waited == [False, True]


class Coming:
    """As far as it is known to whoever waits for it."""

    offer = None

    def __init__(self) -> None:
        self.tried = asyncio.Event()


@requirement("POOL-15")
async def test_where_ever_more_servers_come_nobody_waits_longer_than_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.upstream.pending_servers.WAIT_SECONDS", 0.05)
    on_their_way = PendingServers()

    async def come() -> None:
        while True:
            on_their_way.add(cast("Upstream", Coming()))
            await asyncio.sleep(0.01)

    coming = asyncio.create_task(come())
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENT_S):
        await on_their_way.wait_for_all()
    more = on_their_way.any_starting
    assert more
    coming.cancel()
    on_their_way.close()


@requirement("POOL-09")
async def test_what_is_remembered_is_not_waited_for(tmp_path: Path) -> None:
    """The second time the same server says nothing any more; its tools are there all the same."""
    mute = tmp_path / "mute"
    changing = (
        f"import os, sys; os.path.exists({str(mute)!r}) and sys.stdin.read(); "
        f"os.execv(sys.executable, [sys.executable, *{honest('one')['args']!r}])"
    )
    entry: Json = {"command": sys.executable, "args": ["-c", changing]}
    async with mcp_server(tmp_path, *servers(one=entry)) as pipe:
        assert "one__echo" in await first_list(pipe)
        await pipe.end()
    mute.touch()
    async with mcp_server(tmp_path, *servers(one=entry)) as pipe:
        assert "one__echo" in await first_list(pipe)
