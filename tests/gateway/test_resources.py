"""Resources of several providers under one roof."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from clawft.errors import Busy, ResourceNotFound
from clawft.gateway.core import Gateway
from clawft.gateway.offer import resources
from clawft.gateway.offer.resources import Reader, wire_of
from clawft.guard.permission import Permission
from clawft.model import (
    Caller,
    CallToolResult,
    ForeignResource,
    Grant,
    Resource,
    ResourceContent,
    ResourceTemplate,
    SilentTalk,
    Tool,
)
from tests.requirements import requirement

URI = "notes:///today"
BY = Reader(Caller(), SilentTalk())


class Shelf:
    """One resource, held as text or as a server's own JSON."""

    def __init__(self, namespace: str, raw: bool = False) -> None:
        self.namespace = namespace
        self._raw = raw

    def list_tools(self) -> Sequence[Tool]:
        return ()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise NotImplementedError

    def list_resources(self) -> Sequence[Resource | ForeignResource]:
        if self._raw:
            return [ForeignResource(URI, b'{"uri":"notes:///today","name":"today","extra":1.0}')]
        return [Resource(URI, "today")]

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return [ResourceTemplate("notes:///{day}", "day")]

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | bytes | None:
        if uri != URI:
            return None
        if self._raw:
            return b'{"contents":[{"uri":"notes:///today","text":"' + self.namespace.encode() + b'","n":1.0}],"x":2}'
        return [ResourceContent(uri, text=self.namespace)]


def two(raw: bool) -> Gateway:
    gateway = Gateway()
    gateway.register(Shelf("first"))
    gateway.register(Shelf("second", raw))
    return gateway


@requirement("RES-05", "RES-01")
@pytest.mark.parametrize("raw", [False, True])
async def test_one_uri_of_two_servers_reads_from_the_right_one(raw: bool) -> None:
    gateway = two(raw)
    (_, mine), (owner, other) = gateway.resources.owned(Caller())
    assert (mine.uri, owner) == (URI, "second")
    assert other.uri != URI
    own = await gateway.resources.read(mine.uri, BY)
    assert msgspec.json.decode(own) == {"contents": [{"uri": URI, "text": "first"}]}
    wrapped = await gateway.resources.read(other.uri, BY)
    content = msgspec.json.decode(wrapped)["contents"][0]
    assert (content["uri"], content["text"]) == (other.uri, "second")


@requirement("RES-05", "WIRE-21")
async def test_what_a_server_said_besides_stays_as_it_was() -> None:
    gateway = two(raw=True)
    listed = gateway.resources.named(Caller())[1]
    assert b'"extra":1.0' in wire_of(listed)
    assert listed.uri.encode() in wire_of(listed)
    read = await gateway.resources.read(listed.uri, BY)
    assert b'"n":1.0' in read
    assert b'"x":2' in read


@requirement("RES-01", "MGR-09")
async def test_one_owner_can_be_asked_alone() -> None:
    gateway = two(raw=False)
    assert msgspec.json.decode(await gateway.resources.read(URI, BY, "second"))["contents"][0]["text"] == "second"
    with pytest.raises(ResourceNotFound):
        await gateway.resources.read(URI, BY, "third")


@requirement("RES-05", "RES-06")
def test_templates_are_told_apart_too() -> None:
    first, second = (template.uri_template for template in two(raw=False).resources.templates(Caller()))
    assert first == "notes:///{day}"
    assert second != first
    assert second.endswith("{day}")


@requirement("GUARD-06", "RES-05")
async def test_a_caller_hears_nothing_of_a_provider_it_does_not_reach() -> None:
    gateway = Gateway([Permission(lambda call: (call.name,))])
    gateway.register(Shelf("first"))
    gateway.register(Shelf("second"))
    heard: list[tuple[str, str]] = []
    for name in ("first", "third"):
        caller = Caller(grant=Grant((f"{name}__*",)))
        by = Reader(caller, SilentTalk())
        await gateway.resources.watch(URI, by, lambda uri, _, name=name: heard.append((name, uri)))
    gateway.unregister("second")
    gateway.resource_updated(URI)
    assert heard == [("first", URI)]


@requirement("GUARD-06", "RES-05")
async def test_a_uri_is_spelled_as_if_the_hidden_provider_were_not_there() -> None:
    gateway = Gateway([Permission(lambda call: (call.name,))])
    gateway.register(Shelf("first"))
    gateway.register(Shelf("second"))
    caller = Caller(grant=Grant(("second__*",)))
    assert list(gateway.resources.owned(caller)) == [("second", Resource(URI, "today"))]
    read = await gateway.resources.read(URI, Reader(caller, SilentTalk()))
    assert msgspec.json.decode(read)["contents"][0]["text"] == "second"


@requirement("QUAL-12")
async def test_one_person_watches_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MAX_WATCHED_OF_ONE", 2)
    watched = Gateway().resources
    greedy, other = Reader(Caller("greedy"), SilentTalk()), Reader(Caller("other"), SilentTalk())
    ends = [await watched.watch(f"notes:///{number}", greedy, print) for number in range(2)]
    with pytest.raises(Busy, match="you watch 2"):
        await watched.watch(URI, greedy, print)
    assert await watched.watch(URI, other, print)
    ends[0]()
    ends[0]()
    assert await watched.watch(URI, greedy, print)
    with pytest.raises(Busy):
        await watched.watch(URI, greedy, print)


@requirement("QUAL-12")
async def test_a_long_uri_counts_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept as long as somebody watches: thousands of the longest would be a good part of our memory."""
    monkeypatch.setattr(resources, "MAX_WATCHED_OF_ONE", 10)
    monkeypatch.setattr(resources, "MAX_WATCHED", 12)
    watched = Gateway().resources
    greedy, other = Reader(Caller("greedy"), SilentTalk()), Reader(Caller("other"), SilentTalk())
    long = "notes:///" + "n" * (resources.MAX_URI - len("notes:///"))
    end = await watched.watch(long, greedy, print)
    with pytest.raises(Busy, match="shorter URIs"):
        await watched.watch(long, greedy, print)
    with pytest.raises(Busy, match="12 resources are watched already"):
        await watched.watch(long, other, print)
    assert await watched.watch(URI, greedy, print)
    end()
    assert await watched.watch(long, other, print)
