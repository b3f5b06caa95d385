"""Search: the tool that is meant is among the first five, whoever asks and however."""

from __future__ import annotations

import sys

import msgspec
import pytest

from clawft.catalog.search import Index
from clawft.catalog.surface import FINDERS, Surface, SurfaceForm, cost_of, without_finders
from clawft.catalog.words import words
from tests import peers
from tests.catalog import recall
from tests.catalog.recall.gather import gather

FOUND_AT_5 = 0.9


@pytest.fixture(scope="module")
def index() -> Index:
    return Index(recall.entries())


def test_the_set_is_large_and_real() -> None:
    entries = recall.entries()
    assert len(entries) >= 1_000
    assert len({entry.origin.server for entry in entries}) >= 30
    asked = list(recall.queries())
    assert len(asked) >= 200
    known = {recall.name_of(entry) for entry in entries}
    assert all(tools <= known for _, tools in asked)


def test_nine_of_ten_are_among_the_first_five(index: Index) -> None:
    hits = [bool(tools & {recall.name_of(e) for e in index.search(query, 5)}) for query, tools in recall.queries()]
    assert sum(hits) / len(hits) >= FOUND_AT_5


def test_names_are_found_by_their_parts(index: Index) -> None:
    for query in ("createPullRequest", "create_pull_request", "creating pull requests"):
        assert any(entry.tool.name == "create_pull_request" for entry in index.search(query, 5)), query
    assert index.search("kubect", 3)[0].origin.server == "kubernetes"


def test_nothing_is_found_by_nothing(index: Index) -> None:
    assert index.search("", 5) == []
    assert index.search("the of and", 5) == []
    assert index.search("xyzzyqwerty", 5) == []
    assert Index([]).search("file", 5) == []
    assert len(index.search("file " * 10_000, 7)) == 7


def test_words_are_stems() -> None:
    assert words("Listing the repositories") == words("list repository")
    assert words("HTTPServer getURL") == ["http", "server", "url"]
    assert words("déjà vu") != []


def test_what_is_listed_depends_on_what_it_costs() -> None:
    entries = recall.entries()
    assert cost_of(entries) > 100_000
    auto = Surface(SurfaceForm.AUTO, tokens=20_000)
    assert auto.searches(entries)
    assert not auto.searches(entries[:5])
    assert auto.listed(entries[:5], lambda entry: False) == without_finders(entries[:5])
    assert auto.listed(entries, lambda entry: False) == list(entries)  # nothing finds what is not listed
    pair = [msgspec.structs.replace(entries[0], canonical=name) for name in FINDERS]
    assert auto.listed([*entries, *pair], lambda entry: entry.tool.name == "Edit") == [
        *(entry for entry in entries if entry.tool.name == "Edit"),
        *pair,
    ]
    assert len(Surface().listed(entries, lambda entry: False)) == len(entries)


@pytest.mark.slow
async def test_the_set_is_what_real_servers_say() -> None:
    """Two of them asked again; the others were asked in the same way."""
    known = {recall.name_of(entry): entry.tool for entry in recall.entries()}
    everything = peers.PACKAGES / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    for name, argv in {
        "mcp-git": [sys.executable, "-m", "mcp_server_git"],
        "everything": [str(peers.node()), str(everything)],
    }.items():
        listed = await gather(name, argv)
        assert len(listed) >= 10
        for row in listed:
            assert known[f"{name}/{row['name']}"].description == row["description"]
