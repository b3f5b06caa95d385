"""URIs of two providers under one roof: what is worked out, when, and for whom."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from clawft.catalog.uris import wrap
from clawft.errors import ClawftError
from clawft.gateway.core import Gateway
from clawft.gateway.offer import shared_uris
from clawft.gateway.offer.resources import Reader
from clawft.gateway.reply import MAX_SPELLED_HERE
from clawft.link.share.large_messages import LARGE_WORK
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Completing,
    Grant,
    Reply,
    Resource,
    ResourceContent,
    ResourceTemplate,
    SilentTalk,
    Tool,
)
from clawft.provider.base import Changes, Provider
from tests.gateway.support import Pipe, pipe, serving
from tests.requirements import requirement

pytestmark = requirement("RES-05")

URI, TEMPLATE = "notes:///today", "days:///{day}"
ELSEWHERE = "elsewhere:///"
PAGE = "ui://page"


class Shelf:
    """Resources under one name, and a tool that names what it is told to."""

    def __init__(self, namespace: str, *uris: str, templates: Sequence[str] = ()) -> None:
        self.namespace = namespace
        self.uris = list(uris)
        self.templates = list(templates)
        self.looked = 0
        self.changes: Changes | None = None

    def watch(self, changes: Changes) -> None:
        self.changes = changes

    def list_tools(self) -> Sequence[Tool]:
        return (Tool("name", b'{"name":"name","inputSchema":{"type":"object"}}'),)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise NotImplementedError

    async def run(self, call: Call) -> Reply:
        told = json.loads(call.arguments)
        links = [{"type": "resource_link", "uri": uri, "name": "n"} for uri in told["uris"]]
        return Reply(json.dumps({"content": links, "more": "é" * told.get("more", 0)}).encode())

    def list_resources(self) -> Sequence[Resource]:
        self.looked += 1
        return [Resource(uri, "n") for uri in self.uris]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate(template, "n") for template in self.templates]

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        return [ResourceContent(uri, text=self.namespace)] if uri in self.uris else None

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        return [self.namespace] if ref["uri"] in self.templates and self.namespace != "silent" else []


async def named(gateway: Gateway, *uris: str, caller: Caller | None = None, more: int = 0) -> list[str]:
    """How what the second names is told."""
    arguments = json.dumps({"uris": uris, "more": more}).encode()
    reply = await gateway.call(caller or Caller(), "second__name", arguments)
    return [block["uri"] for block in json.loads(reply.result)["content"]]


async def test_it_is_spelled_as_if_a_hidden_provider_were_not_there() -> None:
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    assert await named(gateway, URI) == [wrap("second", URI)]
    assert await named(gateway, URI, caller=Caller(grant=Grant(("second__*",)))) == [URI]
    assert await named(gateway, URI) == [wrap("second", URI)]


async def test_nothing_shared_is_found_out_once() -> None:
    first, second = Shelf("first", URI), Shelf("second", "notes:///tomorrow")
    gateway = serving(first, second)
    assert await named(gateway, URI, "notes:///tomorrow") == [URI, "notes:///tomorrow"]
    looked = second.looked
    assert not gateway.shared.any
    await named(gateway, URI)
    assert second.looked == looked


async def test_resources_are_not_listed_again_because_tools_have_changed() -> None:
    first, second = Shelf("first", URI), Shelf("second", URI)
    gateway = serving(first, second)
    assert await named(gateway, URI) == [wrap("second", URI)]
    looked = second.looked
    gateway.tools_changed()
    assert await named(gateway, URI) == [wrap("second", URI)]
    assert second.looked == looked


async def test_what_changes_is_looked_at_anew() -> None:
    first, second = Shelf("first", URI), Shelf("second", URI)
    gateway = serving(first, second)
    assert await named(gateway, URI) == [wrap("second", URI)]
    first.uris.clear()
    assert first.changes is not None
    first.changes.resources_changed()
    assert await named(gateway, URI) == [URI]


@pytest.mark.parametrize("templates", [(), (TEMPLATE,)])
async def test_what_is_of_one_stays_with_it_when_another_before_it_comes_to_have_it(templates: Sequence[str]) -> None:
    uri = "days:///monday" if templates else URI
    first, second = Shelf("first", "notes:///before"), Shelf("second", uri)
    gateway = serving(first, second)
    assert await named(gateway, uri) == [uri]
    first.uris.append(uri)
    first.templates += templates
    assert first.changes is not None
    first.changes.resources_changed()
    assert [each.uri for each in gateway.resources.named(Caller())] == ["notes:///before", wrap("first", uri), uri]
    assert await named(gateway, uri) == [uri]
    assert [await text_of(gateway, asked) for asked in (uri, wrap("first", uri))] == ["second", "first"]
    gateway.unregister("second")
    assert await text_of(gateway, uri) == "first"


class Greedy(Shelf):
    """Has whatever it is asked for."""

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        return [ResourceContent(uri, text=self.namespace)]


async def test_a_server_with_a_template_for_everything_has_what_nobody_else_has() -> None:
    gateway = serving()
    gateway.register(cast("Provider", Greedy("first", templates=["{+uri}"])), server="first")
    gateway.register(cast("Provider", Shelf("second", URI)), server="second")
    assert [each.uri for each in gateway.resources.named(Caller())] == [URI]
    assert [each.uri for each in gateway.resources.named_templates(Caller())] == ["{+uri}"]
    assert [await text_of(gateway, uri) for uri in (URI, ELSEWHERE)] == ["second", "first"]


async def test_one_that_was_away_comes_back_behind_those_that_stayed() -> None:
    first, second = Shelf("first", URI), Shelf("second", URI)
    gateway = serving(first, second)
    assert await named(gateway, URI) == [wrap("second", URI)]
    gateway.unregister("first")
    assert await named(gateway, URI) == [URI]
    gateway.register(cast("Provider", first))
    gateway.arrange(["second"])
    assert await named(gateway, URI) == [URI]
    assert await text_of(gateway, URI) == "second"


async def text_of(gateway: Gateway, uri: str) -> str:
    read = await gateway.resources.read(uri, Reader(Caller(), SilentTalk()))
    return json.loads(read)["contents"][0]["text"]


class Stage(Shelf):
    """The tool of it is shown with a page."""

    pages = frozenset({PAGE})

    def list_tools(self) -> Sequence[Tool]:
        meta = {"ui": {"resourceUri": PAGE}}
        return (Tool("name", json.dumps({"name": "name", "inputSchema": {"type": "object"}, "_meta": meta}).encode()),)


async def test_agents_hear_that_the_page_of_a_tool_is_spelled_otherwise() -> None:
    first = Shelf("first", PAGE)
    async with pipe(serving(first, Stage("second", PAGE))) as caller:
        await caller.initialize()
        assert await page_of(caller) == wrap("second", PAGE)
        first.uris.clear()
        assert first.changes is not None
        first.changes.resources_changed()
        await caller.notice("notifications/tools/list_changed")
        assert await page_of(caller) == PAGE


async def page_of(caller: Pipe) -> str:
    """Of the last tool that is listed."""
    return (await caller.ask("tools/list"))["result"]["tools"][-1]["_meta"]["ui"]["resourceUri"]


async def test_whoever_comes_first_keeps_it() -> None:
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    gateway.arrange(["first"])
    assert await named(gateway, URI) == [URI]
    assert [each.uri for each in gateway.resources.named(Caller())] == [URI, wrap("first", URI)]


async def test_a_list_that_changed_without_a_word_is_never_told_with_one_uri_twice() -> None:
    first, second = Shelf("first"), Shelf("second", URI)
    gateway = serving(first, second)
    assert await named(gateway, URI) == [URI]
    first.uris.append(URI)
    assert [each.uri for each in gateway.resources.named(Caller())] == [wrap("first", URI), URI]
    assert await named(gateway, URI) == [URI]


async def test_what_an_earlier_template_takes_is_wrapped_in_lists_and_links() -> None:
    gateway = serving(Shelf("first", templates=[TEMPLATE]), Shelf("second", "days:///monday"))
    listed = [each.uri for each in gateway.resources.named(Caller())]
    assert listed == await named(gateway, "days:///monday") == [wrap("second", "days:///monday")]
    read = await gateway.resources.read(listed[0], Reader(Caller(), SilentTalk()))
    assert json.loads(read)["contents"] == [{"uri": listed[0], "text": "second"}]


@pytest.mark.parametrize("more", [MAX_SPELLED_HERE, 2 * LARGE_WORK])
async def test_a_large_result_is_spelled_as_a_small_one_is(more: int) -> None:
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    assert await named(gateway, URI, ELSEWHERE, more=more) == [wrap("second", URI), ELSEWHERE]


async def test_one_that_only_says_what_changed_is_watched_by_its_wrapped_uri() -> None:
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    heard: list[str] = []
    asked = wrap("second", URI)
    end = await gateway.resources.watch(asked, Reader(Caller(), SilentTalk()), lambda uri, _: heard.append(uri))
    gateway.resource_updated(URI)
    end()
    gateway.resource_updated(URI)
    assert heard == [asked]


async def test_what_is_typed_for_a_template_goes_to_whoever_is_listed_by_it() -> None:
    gateway = serving(Shelf("silent", templates=[TEMPLATE]), Shelf("second", templates=[TEMPLATE]))

    async def complete(template: str) -> list[str]:
        ref = {"type": "ref/resource", "uri": template}
        return list((await gateway.prompts.complete(Caller(), Completing(ref, "day", "m"))).values)

    silent, second = (each.uri for each in gateway.resources.named_templates(Caller()))
    assert [await complete(silent), await complete(second)] == [[], ["second"]]


async def test_one_owner_that_is_asked_alone_answers_by_the_uri_it_is_listed_under() -> None:
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    read = await gateway.resources.read(URI, Reader(Caller(), SilentTalk()), "second")
    assert json.loads(read)["contents"] == [{"uri": wrap("second", URI), "text": "second"}]


async def test_who_was_forgotten_for_others_is_told_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_uris, "_MAX_SPELLED", 2)
    gateway = serving(Shelf("first", URI), Shelf("second", URI))
    told = [await named(gateway, URI, caller=Caller(principal=str(number))) for number in range(5)]
    assert told == [[wrap("second", URI)]] * 5


class Rooms:
    """Something else for each person, by the proof they come with; something for nobody else."""

    namespace = "second"

    def __init__(self, **rooms: Shelf) -> None:
        self._rooms = rooms

    def list_tools(self) -> Sequence[Tool]:
        return ()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise NotImplementedError

    async def run(self, call: Call) -> Reply:
        return await self._rooms[call.caller.proof].run(call)

    def of(self, caller: Caller) -> Provider | None:
        return self._rooms.get(caller.proof)

    async def ready(self, caller: Caller) -> None:
        pass

    def refusal(self, caller: Caller) -> ClawftError | None:
        return None


@requirement("GUARD-06")
@pytest.mark.parametrize("most", [1, 256])
async def test_what_one_person_has_changes_nothing_for_another(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_uris, "_MAX_GROUPS", most)
    rooms = Rooms(ada=Shelf("second", URI), bob=Shelf("second", "notes:///bob", ELSEWHERE))
    gateway = serving(Shelf("first", URI, "notes:///bob"), rooms)
    ada, bob = Caller(proof="ada"), Caller(proof="bob")
    for _ in range(2):
        assert await named(gateway, URI, "notes:///bob", caller=ada) == [wrap("second", URI), "notes:///bob"]
        assert await named(gateway, URI, "notes:///bob", caller=bob) == [URI, wrap("second", "notes:///bob")]


class Careless(Shelf):
    def __init__(self, namespace: str, wrong: Callable[[], Any]) -> None:
        super().__init__(namespace)
        self._wrong = wrong

    def list_resources(self) -> Sequence[Resource]:
        return self._wrong()


@pytest.mark.parametrize("wrong", [lambda: [None], lambda: 1 / 0, lambda: [Resource(cast("Any", 5), "n")]])
async def test_one_that_lists_nonsense_takes_no_call_from_anybody(wrong: Callable[[], Any]) -> None:
    gateway = serving(Careless("careless", wrong), Shelf("first", URI), Shelf("second", URI))
    async with pipe(gateway) as one:
        await one.initialize()
        told = await one.call("second__name", uris=[URI])
        assert told["result"]["content"][0]["uri"] == wrap("second", URI)
