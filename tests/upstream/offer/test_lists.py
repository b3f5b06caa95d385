"""What a server offers in our memory: once each, the same as long as it says the same, and within its room."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec import Raw

from clawft.catalog.building import ProviderOffer, build
from clawft.errors import ClawftError, JsonRpcFailure, LinkRefused, MessageTooLong
from clawft.link.base import OutgoingRequest
from clawft.link.memory import Answer, Scripted
from clawft.model import Call, ForeignResource, Origin, Reply
from clawft.upstream.links import links_to
from clawft.upstream.offer import server_offer
from clawft.upstream.offer.definition import read_tool
from clawft.upstream.offer.list_reading import ListReading, cost_of, read_resource
from clawft.upstream.offer.room import COMMON_BYTES, Room
from clawft.upstream.pool import Pool
from clawft.upstream.session.paging import MAX_ITEMS
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.readable import MAX_LEVELS
from tests.nesting import TOO_DEEP, nested
from tests.requirements import requirement
from tests.servers.web import Asked, serve
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


@requirement("RES-05", "RES-07", "QUAL-03")
async def test_of_two_with_one_name_or_one_uri_the_first_is_offered_and_the_other_told(tmp_path: Path) -> None:
    lists = {
        "prompts/list": {"prompts": [{"name": "p"}, {"name": "q"}, {"name": "p", "title": "again"}]},
        "resources/list": {"resources": [{"uri": "x://a", "name": name} for name in ("first", "second")]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "x://{a}", "name": name} for name in "ab"]},
    }
    ways = Tables({"a": answers("one", initialize=CAPABLE, **lists)})
    async with pool(tmp_path, ways) as p:
        await p.connect(table("a"))
        offered = p.find("a").offer
        assert offered is not None
        assert [each.name for each in offered.prompts] == ["p", "q"]
        assert [each.view.name for each in offered.resources] == ["first"]
        assert [each.view.name for each in offered.templates] == ["a", "b"]
        told = p.server_status("a").left_out
        assert "the prompt 'p' is listed twice" in told
        assert "the resource 'x://a' is listed twice" in told


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
async def test_a_list_without_room_is_not_even_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nor does anybody say that it is longer than it is: the server may have none."""
    full = answers(initialize=CAPABLE, **{"tools/list": large(1_000)})
    ways = Tables({"a": full})
    async with pool(tmp_path, ways) as p:
        await p.connect(table("a"))
        status = p.server_status("a")
        assert status.cut == ("tools",)
        for part in ("prompts", "resources", "templates"):
            assert f"its {part}: not asked for, as there is no room for more of what servers list" in status.left_out
        assert "prompts/list" not in ways.last("a").methods
        assert "the first 0 are offered" not in caplog.text


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


# ── what is left out is told ─────────────────────────────────────────────────────────────────────────────────────────


async def never(asked: OutgoingRequest) -> Answer:
    await asyncio.Event().wait()
    return {}


@requirement("POOL-18", "QUAL-03")
async def test_a_list_that_never_comes_does_not_take_the_tools_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is declared, and nobody ever gets it: the server works all the same."""
    monkeypatch.setattr(server_offer, "BESIDE_SECONDS", 0.05)
    silent = answers(initialize=CAPABLE, **{"prompts/list": never})
    async with pool(tmp_path, ways := Tables({"a": silent})) as p:
        await p.connect(table("a"))
        assert [each.name for each in p.find("a").tools] == ["one"]
        assert p.server_status("a").left_out == (
            "its prompts: prompts/list: no answer within 50 ms",
            "its resources: not requested, because there was no answer to prompts/list",
            "its templates: not requested, because there was no answer to prompts/list",
        )
        assert "resources/list" not in ways.last("a").methods


@requirement("POOL-18", "QUAL-03")
@pytest.mark.parametrize(
    "failure",
    [LinkRefused("http://x answered with status 500: boom", http_status=500), MessageTooLong("longer than 16 bytes")],
)
async def test_a_list_that_fails_does_not_take_the_tools_away(tmp_path: Path, failure: ClawftError) -> None:
    broken = answers(initialize=CAPABLE, **{"resources/list": failure, "prompts/list": {"prompts": [{"name": "p"}]}})
    async with pool(tmp_path, Tables({"a": broken})) as p:
        await p.connect(table("a"))
        offered = p.find("a").offer
        assert offered is not None
        assert ([each.name for each in offered.tools], [each.name for each in offered.prompts]) == (["one"], ["p"])
        assert p.server_status("a").left_out == (f"its resources: {failure.message}",)


def paged(asked: OutgoingRequest) -> Answer:
    """A tool on every page, and always another page."""
    cursor = json.loads(asked.params or b"{}").get("cursor", "0")
    return {"tools": [tool(f"t{cursor}")], "nextCursor": str(int(cursor) + 1)}


def torn(asked: OutgoingRequest) -> Answer:
    """A second page that there is not."""
    if b"cursor" in asked.params:
        raise JsonRpcFailure(-32602, "no such page")
    return {"tools": [tool("t")], "nextCursor": "2"}


@requirement("POOL-18")
@pytest.mark.parametrize(
    "failure", [JsonRpcFailure(-32000, "too many requests"), LinkRefused("status 429", http_status=429)]
)
async def test_a_later_page_that_fails_once_does_not_take_away_what_was_known(
    tmp_path: Path, failure: ClawftError
) -> None:
    pages: list[Any] = [{"tools": [tool("a"), tool("b")], "nextCursor": "2"}, {"tools": [tool("c"), tool("d")]}]

    def listed(asked: OutgoingRequest) -> Answer:
        page = pages[b"cursor" in asked.params]
        if isinstance(page, ClawftError):
            raise page
        return page

    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": listed})})) as p:
        await p.connect(table("a"))
        pages[:] = [{"tools": [tool("new"), tool("a"), tool("c")], "nextCursor": "2"}, failure]
        await p.find("a").refresh()
        status = p.server_status("a")
        assert status.tools == ("new", "a", "c", "b", "d")
        assert status.left_out == (f"its tools after a page that could not be read: {failure.message}",)
        pages[:] = [{"tools": [tool("new")]}, failure]
        await p.find("a").refresh()
        assert p.server_status("a").tools == ("new",)


@requirement("POOL-18")
async def test_who_has_a_session_of_their_own_has_the_pages_that_can_be_had(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": torn})})) as p:
        await p.connect(table("a"))
        session = p.find("a").session
        assert session is not None
        assert [json.loads(each)["name"] for each in await session.list_tools()] == ["t"]


async def test_null_is_a_list_with_nothing_in_it(tmp_path: Path) -> None:
    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": {"tools": None}})})) as p:
        await p.connect(table("a"))
        status = p.server_status("a")
        assert (status.status, status.left_out, status.tools) == ("connected", (), ())


@requirement("POOL-18", "QUAL-12")
@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ({"tools": [tool("t")], "nextCursor": {"page": 2}}, "its tools after a cursor that is not a text"),
        ({"tools": [tool("t")], "nextCursor": "x" * 70_000}, "its tools after a cursor of more than 65536 characters"),
        (paged, "its tools after the first 1000 pages"),
        (torn, "its tools after a page that could not be read: no such page"),
        ({}, "its tools (its answer to tools/list has no list of them)"),
        ({"tools": [tool(f"t{n}") for n in range(MAX_ITEMS + 1)]}, "its tools after the first 10000 (1)"),
        ({"tools": [tool("t"), {**tool("u"), "description": "x" * 300_000}]}, "1 of its tools, with over 262144 bytes"),
        (
            {"tools": [tool("t"), 5, None]},
            "an entry of its tools was left out: Expected `object`, got `int`, and 1 more of its tools",
        ),
    ],
)
async def test_status_says_what_of_a_list_is_not_offered(tmp_path: Path, listed: Scripted, told: str) -> None:
    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": listed})})) as p:
        await p.connect(table("a"))
        assert p.server_status("a").left_out == (told,)


@requirement("POOL-18", "QUAL-12")
async def test_status_says_that_pages_lead_in_a_circle(tmp_path: Path) -> None:
    circle: Scripted = {"tools": [tool("t")], "nextCursor": "again"}
    async with pool(tmp_path, Tables({"a": answers(**{"tools/list": circle})})) as p:
        await p.connect(table("a"))
        assert p.server_status("a").left_out[-1] == "its tools after a cursor that leads back to an earlier page"


def _page(asked: Asked) -> web.Response:
    return web.Response(text="<html>log in</html>", content_type="text/html")


NO_LISTS: dict[str, Callable[[Asked], web.Response]] = {
    "a web page": _page,
    "sent no response": lambda asked: web.Response(status=202),
    "not a message": lambda asked: web.Response(text='{"jsonrpc":'),
    "to another request": lambda asked: web.json_response({"jsonrpc": "2.0", "id": 99_999, "result": {}}),
}


@requirement("POOL-18", "QUAL-03")
@pytest.mark.parametrize("told", NO_LISTS)
async def test_a_list_that_is_none_over_http_costs_that_list_alone(tmp_path: Path, told: str) -> None:
    async def respond(asked: Asked) -> web.StreamResponse:
        lists: dict[str, Any] = {"tools/list": {"tools": [tool("one")]}, "resources/list": {"resources": []}}
        if asked.about == "initialize":
            return asked.result(CAPABLE)
        if asked.about == "prompts/list":
            return NO_LISTS[told](asked)
        if asked.about == "resources/templates/list":
            return asked.result({"resourceTemplates": []})
        return asked.result(lists[asked.about]) if asked.about in lists else web.Response(status=405)

    async with serve(respond) as site:
        p = Pool(tmp_path, links_to, [])
        done = await p.connect(UpstreamSpec("a", url=site.url))
        status = p.server_status("a")
        await p.close()
    assert (done.errors, status.tools) == ({}, ("one",))
    assert [why for why in status.left_out if "its prompts" in why and told in why] == list(status.left_out) != []


# ── lists that cannot be read as a whole ─────────────────────────────────────────────────────────────────────────────

DEEP = f'{{"name":"deep","x":{nested(TOO_DEEP)}}}'
"""Nobody reads a list with it, and we leave it out."""
DEEPER = f'{{"name":"deep","uri":"x://deep","uriTemplate":"x://deep","x":{nested(MAX_LEVELS)}}}'
"""We read it, and many a client of ours would not."""
MANY = 36_000
LEFT_OUT = {
    DEEP: "an entry of its {0} was left out: deep is nested too deeply",
    DEEPER: "an entry of its {0} was left out: deep: it is nested too deeply for most clients, which read 100 levels",
}
ENTRIES = {
    "tools": '{"name":"a","inputSchema":{"type":"object"}}',
    "prompts": '{"name":"a"}',
    "resources": '{"name":"a","uri":"x://a"}',
    "resourceTemplates": '{"name":"a","uriTemplate":"x://{a}"}',
}
METHODS = {f"{member}/list": member for member in ENTRIES} | {"resources/templates/list": "resourceTemplates"}


async def _offered(folder: Path, lists: dict[str, str], stream: bool) -> Pool:
    """By a server over HTTP, which answers in JSON or in a stream; its pool is closed, and says what there was."""

    async def respond(asked: Asked) -> web.StreamResponse:
        if asked.about == "initialize":
            return asked.result(CAPABLE)
        if asked.about not in METHODS:
            return web.Response(status=405)
        member = METHODS[asked.about]
        listed = f'"result":{{"{member}":[{lists[member]}]}}'
        message = f'{{"jsonrpc":"2.0","id":{json.dumps(asked.message["id"])},{listed}}}'
        if not stream:
            return web.Response(text=message, content_type="application/json")
        return web.Response(text=f"data: {message}\n\n", content_type="text/event-stream")

    async with serve(respond) as site:
        p = Pool(folder, links_to, [])
        assert (await p.connect(UpstreamSpec("a", url=site.url))).errors == {}
        return p


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("deep", LEFT_OUT, ids=["nobody", "few"])
async def test_an_entry_that_is_nested_too_deeply_costs_that_entry_of_any_list(
    tmp_path: Path, deep: str, stream: bool
) -> None:
    p = await _offered(tmp_path, {member: f"{entry},{deep}" for member, entry in ENTRIES.items()}, stream)
    offered, status = p.find("a").offer, p.server_status("a")
    await p.close()
    assert offered is not None
    assert [len(getattr(offered, part)) for part in server_offer.PARTS] == [1, 1, 1, 1]
    assert list(status.left_out) == [LEFT_OUT[deep].format(part) for part in server_offer.PARTS]


@requirement("SESS-09", "QUAL-12")
async def test_of_very_many_tools_the_first_are_offered_and_the_others_counted(tmp_path: Path) -> None:
    schema = '{"type":"object","properties":{"a":{"type":"string"}}}'
    many = ",".join(f'{{"name":"t{n}","title":"one","inputSchema":{schema}}}' for n in range(MANY))
    p = await _offered(tmp_path, {**ENTRIES, "tools": many}, stream=False)
    status = p.server_status("a")
    await p.close()
    assert (len(status.tools), status.tools[-1]) == (MAX_ITEMS, f"t{MAX_ITEMS - 1}")
    assert status.left_out == (f"its tools after the first {MAX_ITEMS} ({MANY - MAX_ITEMS})",)


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("5", "Expected `object`, got `int`"),
        ("[]", "Expected `object`, got `array`"),
        ("{}", "Object missing required field"),
        ('{"name":7,"uri":7,"uriTemplate":7}', "Expected `str`, got `int`"),
        ('{"name":"b","name":7,"uri":"b","uri":7,"uriTemplate":"b","uriTemplate":7}', "Expected `str`, got `int`"),
        ('{"name":"b","uri":"x://b","uriTemplate":"x://b","n":1e999}', "Number out of range"),
        ('{"name":"b","x":"' + "x" * 300_000 + '"}', "with over 262144 bytes"),
    ],
)
async def test_an_entry_that_is_none_costs_that_entry_of_any_list(tmp_path: Path, bad: str, told: str) -> None:
    p = await _offered(tmp_path, {member: f"{bad},{entry}" for member, entry in ENTRIES.items()}, stream=False)
    offered, status = p.find("a").offer, p.server_status("a")
    await p.close()
    assert offered is not None
    assert [len(getattr(offered, part)) for part in server_offer.PARTS] == [1, 1, 1, 1]
    assert [why for why in status.left_out if told in why] == list(status.left_out)
    assert len(status.left_out) == len(server_offer.PARTS)
