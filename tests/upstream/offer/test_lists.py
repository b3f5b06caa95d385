"""What a server offers in our memory: once each, the same as long as it says the same, and within its room."""

import gc
import json
import tracemalloc
from pathlib import Path

import pytest
from msgspec import Raw

from clawft.catalog.snapshot import ProviderOffer, build
from clawft.link.memory import Scripted
from clawft.model import Call, ForeignResource, Origin, Reply
from clawft.upstream.offer.definition import read_tool
from clawft.upstream.offer.list_reading import ListReading, cost_of, read_resource
from clawft.upstream.offer.room import COMMON_BYTES, Room
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement
from tests.upstream.support import Tables, answers, pool, table, tool, until

CAPABLE: Scripted = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
    "serverInfo": {"name": "table"},
}


async def nowhere(call: Call) -> Reply:
    return Reply.text("")


def large(count: int, size: int = 10_000) -> Scripted:
    return {"tools": [{**tool(f"t{n}"), "description": "x" * size} for n in range(count)]}


@requirement("QUAL-12")
async def test_what_a_server_says_again_stays_the_very_same(tmp_path: Path) -> None:
    ways = Tables({"a": answers("one", "two")})
    async with pool(tmp_path, ways) as p:
        await p.connect(table("a"))
        before = p.find("a").tools
        ways.last("a").answers["tools/list"] = {"tools": [tool("two"), tool("three")]}
        await p.find("a").refresh()
        after = p.find("a").tools
        assert [each.name for each in after] == ["two", "three"]
        assert after[0] is before[1]


@requirement("QUAL-12", "POOL-01")
async def test_a_server_that_goes_or_lists_less_gives_its_room_back(tmp_path: Path) -> None:
    ways = Tables({"a": answers(**{"tools/list": large(600)}), "b": answers(**{"tools/list": large(600)})})
    async with pool(tmp_path, ways) as p:
        await p.connect(table("a"))
        assert p.server_status("a").cut == ()
        taken = p.room.taken
        assert taken > 5_000_000
        await p.connect(table("b"))
        assert p.server_status("b").cut == ("tools",)
        ways.last("b").answers["tools/list"] = large(3)
        await p.find("b").refresh()
        assert (p.server_status("b").cut, p.room.taken) == ((), taken)
        await p.disconnect("a")
        assert p.room.taken == 0
        await p.reconnect("b")
        assert (p.server_status("b").cut, p.room.taken, p.room.places) == ((), taken, 1)


@requirement("QUAL-12")
async def test_a_list_without_room_is_not_even_asked_for(tmp_path: Path) -> None:
    full = answers(initialize=CAPABLE, **{"tools/list": large(1_000)})
    ways = Tables({"a": full})
    async with pool(tmp_path, ways) as p:
        await p.connect(table("a"))
        assert p.server_status("a").cut == ("tools", "prompts", "resources", "templates")
        assert "prompts/list" not in ways.last("a").methods


@requirement("QUAL-12")
async def test_conversations_with_a_server_of_their_own_keep_no_lists(tmp_path: Path) -> None:
    ways = Tables({"a": answers(**{"tools/list": large(600)})})
    async with pool(tmp_path, ways) as p:
        spec = UpstreamSpec("a", command="table", isolation="per-session")
        await p.connect(spec)
        taken = p.room.taken
        for number in range(10):
            own = p.private.of(spec, f"conversation {number}")
            await until(own.tried.is_set)
            assert own.session is not None
            assert "tools/list" not in ways.last("a").methods
        assert (p.room.taken, p.room.places) == (taken, 1)


@requirement("QUAL-12")
async def test_five_megabytes_of_resources_alone_are_listed_whole() -> None:
    count = 10_000
    items = [{"uri": f"notes://{n}", "name": f"note {n}", "description": "x" * 470} for n in range(count)]
    raws = [Raw(json.dumps(item).encode()) for item in items]
    reading = ListReading("resources", "a", read_resource, Room().place(), list[ForeignResource]())
    assert sum(map(len, raws)) > 5 * 1024 * 1024
    assert await reading.take(raws)
    assert len(reading.settle()) == count


@requirement("QUAL-12")
async def test_ten_thousand_small_tools_alone_are_listed_whole() -> None:
    raws = [Raw(json.dumps({**tool(f"tool_{n}"), "description": "x" * 80}).encode()) for n in range(10_000)]
    reading = ListReading("tools", "a", read_tool, Room().place(), ())
    assert await reading.take(raws)
    assert len(reading.settle()) == 10_000


@requirement("QUAL-12")
async def test_hidden_characters_count_as_what_they_are_shown_as() -> None:
    raw = Raw(json.dumps({**tool("t"), "description": "\u200b" * 1_000}).encode())
    room = Room()
    reading = ListReading("tools", "a", read_tool, room.place(), ())
    await reading.take([Raw(bytes(raw).replace(b'"t"', b'"t%d"' % n)) for n in range(2_000)])
    assert sum(len(each.wire) for each in reading.settle()) <= COMMON_BYTES


@requirement("QUAL-12")
def test_a_tool_in_the_catalog_takes_no_more_memory_than_it_counts() -> None:
    count = 5_000
    told = [{**tool(f"tool_{n}", readOnlyHint=True), "description": "x" * 80} for n in range(count)]
    wires = [json.dumps(each).encode() for each in told]
    gc.collect()
    tracemalloc.start()
    tools = tuple(read_tool(bytes(bytearray(wire))) for wire in wires)
    snapshot = build([ProviderOffer(Origin("mcp:a", "a", trusted=False), tools, lambda _: nowhere)])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(snapshot.entries) == count
    assert taken < sum(map(cost_of, tools))


@requirement("POOL-18")
async def test_a_tool_that_is_named_like_a_method_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It could be asked about as if it were the prompts or resources of its server."""
    async with pool(tmp_path, Tables({"a": answers("one", "resources/read", "prompts/get")})) as p:
        await p.connect(table("a"))
        assert [each.name for each in p.find("a").tools] == ["one"]
    assert "the tool 'resources/read' has the name of a method of the protocol" in caplog.text


@requirement("POOL-18")
async def test_a_tool_without_a_name_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with pool(tmp_path, Tables({"a": answers("", "one", " ")})) as p:
        await p.connect(table("a"))
        assert [each.name for each in p.find("a").tools] == ["one"]
    assert "the tool '' has no name" in caplog.text
