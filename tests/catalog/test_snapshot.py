"""One immutable table of everything offered: no tool takes another's name, every spelling finds its own."""

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from clawft.catalog.building import ProviderOffer, build
from clawft.catalog.names import NameForm
from clawft.catalog.snapshot import CatalogEntry, Snapshot, rename
from clawft.model import Call, Caller, Next, Origin, Reply, Tool
from tests.requirements import requirement


def tool(name: str, alias: str = "") -> Tool:
    return Tool(name, json.dumps({"name": name, "inputSchema": {"type": "object"}}).encode(), alias=alias)


def goes_to(place: str) -> Callable[[Tool], Next]:
    """A way down that answers with the place and the native name it was reached by."""

    def bind(bound: Tool) -> Next:
        async def run(call: Call) -> Reply:
            return Reply.text(f"{place}/{bound.name}")

        return run

    return bind


def server(name: str, *tools: Tool) -> ProviderOffer:
    return ProviderOffer(Origin(f"mcp:{name}", server=name, trusted=False), tools, goes_to(name))


def inside(namespace: str, *tools: Tool) -> ProviderOffer:
    return ProviderOffer(Origin(namespace), tools, goes_to(namespace))


def names(snapshot: Snapshot) -> list[str]:
    return [entry.name for entry in snapshot.entries]


def reached(snapshot: Snapshot, name: str) -> str:
    entry = snapshot.find(name)
    assert entry is not None, name
    return asyncio.run(_run(entry))


async def _run(entry: CatalogEntry) -> str:
    reply = await entry.run(Call(Caller(), entry.canonical, entry.tool, entry.origin))
    return json.loads(reply.result)["content"][0]["text"]


@requirement("PROV-06", "AC-14", "T-7.6", "S3-E11")
def test_equal_tool_names_of_different_servers_never_mix() -> None:
    snapshot = build([server("a", tool("search")), server("b", tool("search")), inside("git", tool("search"))])
    assert names(snapshot) == ["a__search", "b__search", "git__search"]
    assert [reached(snapshot, name) for name in names(snapshot)] == ["a/search", "b/search", "git/search"]


@requirement("PROV-09")
@pytest.mark.parametrize("form", list(NameForm))
def test_every_form_is_accepted_whatever_is_exported(form: NameForm) -> None:
    snapshot = build([server("github", tool("create_issue")), inside("file", tool("read", alias="read_file"))], form)
    for spelling in (
        "github__create_issue",
        "mcp:github__create_issue",
        "mcp__github__create_issue",
        "mcp:github:create_issue",
        "create_issue",
    ):
        assert reached(snapshot, spelling) == "github/create_issue"
    for spelling in ("file__read", "mcp__file__read", "mcp:file__read", "mcp:file:read", "read_file"):
        assert reached(snapshot, spelling) == "file/read"


@requirement("PROV-09", "MEM-01")
@pytest.mark.parametrize("form", list(NameForm))
def test_a_second_name_with_the_namespace_in_it_has_all_spellings(form: NameForm) -> None:
    snapshot = build([inside("memory", tool("recall", alias="memory_get"), tool("get_all"))], form)
    spellings = ("memory_get", "memory__get", "mcp__memory__get", "mcp:memory__get", "mcp:memory:get")
    for spelling in spellings:
        assert reached(snapshot, spelling) == "memory/recall"
    (recall, other) = snapshot.entries
    assert set(spellings) <= set(recall.names)
    assert not set(spellings) & set(other.names)
    real = build([inside("memory", tool("recall", alias="memory_get"), tool("get"))], form)
    assert reached(real, "memory__get") == "memory/get"


@requirement("PROV-07", "T-7.7")
@pytest.mark.parametrize(
    "name", ["", "issue", "other__create_issue", "github", "github__", "github__create", "GITHUB__create_issue"]
)
def test_other_names_find_nothing(name: str) -> None:
    assert build([server("github", tool("create_issue"))]).find(name) is None


@requirement("PROV-09", "PROV-06")
@pytest.mark.parametrize("form", [NameForm.PLAIN, NameForm.MCP, NameForm.CLAUDE])
def test_a_bare_name_that_is_not_listed_is_accepted_where_one_tool_alone_has_it(form: NameForm) -> None:
    offers = [
        inside("file", tool("read", alias="read_file"), tool("odd", alias="both")),
        server("one", tool("go"), tool("read_file"), tool("both"), tool("a.b")),
        server("two", tool("go"), tool("one__alone")),
    ]
    snapshot = build(offers, form)
    assert snapshot.find("go") is None, "nobody can say which"
    assert reached(snapshot, "read_file") == "file/read", "a second name is never taken over"
    assert reached(snapshot, "a.b") == "one/a.b"
    assert snapshot.find("one__alone") is None, "that is a tool of the server one, which it does not have"


SHADOWS = ("github__push", "mcp__github__push", "mcp:github:push", "mcp:github__push", "file__read")


@requirement("PROV-06", "PROV-09", "PROV-13")
@pytest.mark.parametrize("form", NameForm)
@pytest.mark.parametrize("name", SHADOWS)
def test_no_server_has_a_tool_by_the_name_of_another_whether_that_is_up_or_not(form: NameForm, name: str) -> None:
    evil = server("evil", *map(tool, SHADOWS))
    for there in ([], [server("github", tool("push")), inside("file", tool("read"))]):
        for offers in ([evil, *there], [*there, evil]):
            snapshot = build(offers, form)
            meant = "file/read" if name.startswith("file") else "github/push"
            found = snapshot.find(name)
            assert found is None if not there else reached(snapshot, name) == meant
            assert reached(snapshot, f"evil__{name}") == f"evil/{name}"


@requirement("PROV-13", "S4-EX-02")
def test_with_bare_names_a_server_wins_over_a_built_in() -> None:
    snapshot = build([inside("file", tool("read", alias="read_file")), server("fs", tool("read_file"))], NameForm.BARE)
    assert reached(snapshot, "read_file") == "fs/read_file"
    assert reached(snapshot, "file__read") == "file/read"
    assert names(snapshot) == ["read_file", "file__read"]


@requirement("PROV-13")
def test_of_two_servers_with_one_bare_name_the_later_keeps_its_prefix() -> None:
    snapshot = build([server("one", tool("go")), server("two", tool("go"))], NameForm.BARE)
    assert names(snapshot) == ["go", "two__go"]
    assert (reached(snapshot, "go"), reached(snapshot, "two__go"), reached(snapshot, "one__go")) == (
        "one/go",
        "two/go",
        "one/go",
    )


def held(first: Sequence[ProviderOffer], *then: Sequence[ProviderOffer]) -> Snapshot:
    """What there is in the end, where every list on the way was shown."""
    shown = build(first, NameForm.BARE)
    for offers in then:
        shown = build(offers, NameForm.BARE, before=shown, shown=shown)
    return shown


@requirement("PROV-13")
def test_a_bare_name_that_was_shown_stays_with_who_has_it_whoever_comes_later() -> None:
    one, two = server("one", tool("go")), server("two", tool("go"))
    assert names(held([two], [one, two])) == ["one__go", "go"]
    assert reached(held([two], [one, two]), "go") == "two/go"
    assert reached(held([two], [one, two], [one]), "go") == "one/go", "nobody else has it any more"
    assert reached(held([two], [one, two], [one], [one, two]), "go") == "one/go"


@requirement("PROV-13")
def test_a_server_that_comes_later_takes_no_bare_name_from_a_built_in() -> None:
    files = inside("file", tool("read", alias="read_file"))
    late = held([files], [files, server("fs", tool("read_file"))])
    assert reached(late, "read_file") == "file/read"
    assert reached(late, "fs__read_file") == "fs/read_file"


@requirement("PROV-13")
def test_a_bare_name_is_kept_for_a_server_while_nobody_knows_what_that_has() -> None:
    one, two = server("one", tool("go")), server("two", tool("go"))
    away = held([two], [one, two], [one, replace(server("two"), unknown=True)])
    assert names(away) == ["one__go"]
    assert away.find("go") is None, "it would be another's"
    assert reached(held([two], [one, two], [one, replace(server("two"), unknown=True)], [one, two]), "go") == "two/go"
    assert reached(held([two], [one, two], [one, server("two")]), "go") == "one/go", "it has none, and everybody knows"


@requirement("PROV-13")
def test_what_one_person_has_does_not_take_a_name_that_is_kept() -> None:
    away = held([server("two", tool("go"))], [replace(server("two"), unknown=True)])
    own = build([server("own", tool("go"))], NameForm.BARE, away)
    assert names(own) == ["own__go"]


@requirement("PROV-06")
def test_of_two_tools_with_one_name_the_second_is_refused_with_a_message() -> None:
    """`a_` + `__b` and `a` + `___b` would read the same."""
    snapshot = build([server("a_", tool("b")), server("a", tool("_b"))])
    assert names(snapshot) == ["a___b"]
    assert reached(snapshot, "a___b") == "a_/b"
    assert [clash.name for clash in snapshot.clashes] == ["a___b"]
    assert "would get the name of" in snapshot.clashes[0].reason


@requirement("PROV-06")
@pytest.mark.parametrize("form", list(NameForm))
def test_a_server_that_lists_a_tool_twice_has_it_once(form: NameForm) -> None:
    snapshot = build([server("a", tool("b"), tool("b"))], form)
    assert len(snapshot.entries) == 1
    assert len(snapshot.clashes) == 1


@requirement("PROV-06")
def test_no_spelling_takes_over_a_name_that_another_tool_is_listed_under() -> None:
    """A server called `mcp` could otherwise catch calls meant for others."""
    snapshot = build([server("x", tool("y")), server("mcp", tool("x__y"))])
    assert reached(snapshot, "mcp__x__y") == "mcp/x__y"
    assert reached(snapshot, "x__y") == "x/y"


@requirement("GUARD-06")
@pytest.mark.parametrize("form", list(NameForm))
def test_a_rule_about_a_tool_is_never_asked_about_another(form: NameForm) -> None:
    """A provider and a server of one name: the spellings of both are looked up by their own canonical name."""
    snapshot = build([inside("x", tool("y", alias="z")), server("x", tool("y"))], form)
    for entry in snapshot.entries:
        assert snapshot.canonical[entry.canonical] is entry


@requirement("SHELL-05", "PROV-04")
def test_the_order_is_the_order_of_registration() -> None:
    offers = [server(name, tool("b"), tool("a")) for name in ("z", "m", "a")]
    assert names(build(offers)) == ["z__b", "z__a", "m__b", "m__a", "a__b", "a__a"]
    assert names(build(offers)) == names(build(offers))


@requirement("PROV-18", "F9b-T26")
@pytest.mark.parametrize("form", list(NameForm))
def test_a_thousand_tools_of_twenty_servers_route_to_their_own(form: NameForm) -> None:
    offers = [server(f"s{n}", *(tool(f"tool_{i}") for i in range(50))) for n in range(20)]
    snapshot = build(offers, form)
    assert len(set(names(snapshot))) == 1000
    assert snapshot.clashes == ()
    for n in range(20):
        for i in range(0, 50, 7):
            assert reached(snapshot, f"s{n}__tool_{i}") == f"s{n}/tool_{i}"
    for entry in snapshot.entries:
        assert snapshot.table.get(entry.name) is entry


@requirement("WIRE-21")
def test_a_definition_is_renamed_and_otherwise_untouched() -> None:
    wire = b'{"x":1.10,"name":"old","inputSchema":{"maximum":123456789012345678901234567890,"$defs":{}},"z":[1E5]}'
    assert rename(wire, 'n"ew') == wire.replace(b'"old"', b'"n\\"ew"')


@requirement("SHELL-20")
def test_nothing_offered_is_nothing_found() -> None:
    assert build([]).entries == ()
    assert build([]).find("a") is None


@requirement("SHELL-05")
@pytest.mark.parametrize("form", list(NameForm))
def test_what_did_not_change_is_taken_over_and_the_rest_is_bound_anew(form: NameForm) -> None:
    stays, goes, restarted = server("a", tool("x")), server("b", tool("y")), server("c", tool("z"))
    before = build([stays, goes, restarted], form)
    again = replace(restarted, origin=replace(restarted.origin))
    after = build([stays, again, server("d", tool("w"))], form, before=before)
    kept = {entry.origin.server for entry in after.entries if any(entry is old for old in before.entries)}
    assert kept == {"a"}
    assert [reached(after, entry.name) for entry in after.entries] == ["a/x", "c/z", "d/w"]
    assert goes.origin not in [entry.origin for entry in after.entries]


@requirement("SHELL-05")
def test_a_bare_name_goes_to_the_server_that_is_left() -> None:
    one, two = server("one", tool("go")), server("two", tool("go"))
    before = build([one, two], NameForm.BARE)
    after = build([two], NameForm.BARE, before=before)
    assert (names(before), names(after)) == (["go", "two__go"], ["go"])
    assert reached(after, "go") == "two/go"
