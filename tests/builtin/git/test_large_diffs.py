"""A diff may be as long as it likes: each page of it can be read, and costs what that page costs."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.git.diff_cursor import DiffStart, DiffTotals, cursor_of, read_start
from clawft.builtin.git.patch import DiffReading, DiffSlice
from clawft.builtin.git.settings import BOUNDS
from clawft.errors import InvalidArguments
from tests.builtin.git.histories import KINDS, History
from tests.builtin.git.plain import Tools, git, new, save
from tests.requirements import requirement

FILES = 1200
LINE = "x" * 9999 + "\n"
MIB = 1024 * 1024


@pytest.fixture
def huge(workspace: Path) -> Path:
    """A commit whose patch is longer than what git may say."""
    repo = new(workspace / "huge")
    save(repo)
    for number in range(FILES):
        (repo / f"f{number:04}").write_text(LINE)
    save(repo, "huge")
    assert FILES * len(LINE) > BOUNDS.output_bytes
    return repo


async def pages(tools: Tools, name: str, **arguments: Any) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        assert len(found) < 2000
        found.append(await tools(name, **arguments, cursor=cursor))
        cursor = found[-1].get("next_cursor")
    return found


def totals(page: Any) -> tuple[int, int, int]:
    return page.get("files", 0), page.get("additions", 0), page.get("deletions", 0)


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"context": 0}, {"hunks": False}])
async def test_a_page_of_a_diff_of_any_length_can_be_read(tools: Tools, huge: Path, how: dict[str, Any]) -> None:
    for name, more in (("diff", {"revision": "HEAD~1"}), ("show", {})):
        page = await tools(name, repo_path="huge", limit=1, **more, **how)
        assert [each["new_file"] for each in page["result"]] == ["f0000"]
        assert totals(page) == (FILES, FILES, 0)


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
async def test_all_pages_of_a_long_diff_are_the_whole(tools: Tools, huge: Path) -> None:
    found = await pages(tools, "diff", repo_path="huge", revision="HEAD~1", limit=60)
    assert {totals(each) for each in found} == {(FILES, FILES, 0)}
    entries = [entry for each in found for entry in each["result"]]
    assert [each["new_file"] for each in entries] == [f"f{number:04}" for number in range(FILES)]
    cut = f"+{LINE[: BOUNDS.line_chars - 1]} [… {len(LINE) - BOUNDS.line_chars} more characters]"
    assert {line for each in entries for hunk in each["hunks"] for line in hunk["lines"]} == {cut}


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
async def test_a_page_costs_no_more_than_itself(tools: Tools, huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed, heard = DiffReading.feed, [0]

    def count(reading: DiffReading, data: bytes) -> bool:
        heard[0] += len(data)
        return feed(reading, data)

    monkeypatch.setattr(DiffReading, "feed", count)
    page = await tools("diff", repo_path="huge", revision="HEAD~1", limit=1)
    assert heard[0] < BOUNDS.counts_bytes + MIB
    heard[0] = 0
    for _ in range(20):
        page = await tools("diff", repo_path="huge", revision="HEAD~1", limit=1, cursor=page["next_cursor"])
    assert heard[0] < 20 * MIB  # a pipe may be full when it is enough


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
async def test_one_long_file_and_a_line_without_end(tools: Tools, repo: Path) -> None:
    lines = [f"line {number} {'y' * 100}\n" for number in range(90_000)]
    (repo / "a.txt").write_text("".join(lines))
    (repo / "b.txt").write_text("z" * (BOUNDS.output_bytes + MIB))
    first = await tools("diff", repo_path="r", limit=1)
    assert totals(first) == (2, 90_001, 4)
    [entry] = first["result"]
    assert (entry["new_file"], entry["additions"], entry["deletions"]) == ("a.txt", 90_000, 3)
    last = await tools("diff", repo_path="r", paths=["b.txt"])
    assert "more characters]" in last["result"][0]["hunks"][0]["lines"][1]
    second = await tools("diff", repo_path="r", limit=1, cursor=first["next_cursor"])
    assert second["result"][0]["hunks"][0]["lines"][0].startswith("+line ")
    assert totals(second) == totals(first)


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + 2 * len(KINDS)))
async def test_pages_of_one_say_what_one_page_says(tools: Tools, workspace: Path, seed: int) -> None:
    history = History(workspace, seed)
    for how in ({"hunks": False}, {"hunks": True, "context": 0}):
        [whole] = await pages(tools, "diff", repo_path=history.name, limit=1000, **how)
        parts = await pages(tools, "diff", repo_path=history.name, limit=1, **how)
        assert {totals(each) for each in parts} <= {totals(whole)}
        units = [entry for each in parts for entry in each["result"]]
        told = [
            {**entry, "hunks": [hunk]} if entry.get("hunks") else entry
            for entry in whole["result"]
            for hunk in entry.get("hunks") or [None]
        ]
        assert units == told, history.name


@requirement("QUAL-12", "GIT-06")
@pytest.mark.slow
async def test_a_page_that_begins_where_nothing_differs_any_more_says_so(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("a\n")
    (repo / "b.txt").write_text("changed\n")
    page = await tools("diff", repo_path="r", limit=1)
    git(repo, "restore", "b.txt")
    with pytest.raises(InvalidArguments, match="no longer differs") as refused:
        await tools("diff", repo_path="r", limit=1, cursor=page["next_cursor"])
    assert "start again" in refused.value.hint


@requirement("QUAL-12")
@given(st.binary(min_size=1, max_size=300), st.integers(0, 999_999_999), st.integers(0, 10**17))
def test_cursors_are_read_as_they_were_written(name: bytes, skip: int, count: int) -> None:
    name = name.replace(b"\0", b"0")
    known = DiffTotals(count, count + 1, count + 2)
    cursor = cursor_of(name, skip, known)
    assert cursor.isascii()
    assert cursor.isprintable()
    assert read_start("diff", cursor) == DiffStart(name, skip, known)


@requirement("QUAL-12")
@pytest.mark.parametrize(
    "cursor", ["1", "0:1:1:1:", "0:1:1:1", "x:1:1:1:a", "0:1:1:1:a%00b", "٣:1:1:1:a", "-1:1:1:1:a"]
)
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidArguments, match="no cursor of ours"):
        read_start("diff", cursor)


@requirement("GIT-06")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed, kind in enumerate(KINDS) if kind != "submodule"])
def test_it_does_not_matter_in_which_parts_it_comes(workspace: Path, seed: int) -> None:
    repo, chance = History(workspace, seed).repo, random.Random(seed)
    empty = git(repo, "hash-object", "-t", "tree", "--stdin").decode().strip()
    said = git(repo, "diff", "--raw", "-z", "--patch", "--submodule=short", "--find-renames", empty)

    def read(sizes: list[int]) -> tuple[Any, ...]:
        reading, at = DiffReading(DiffSlice(3, 0, 100, MIB)), 0
        while at < len(said):
            size = chance.choice(sizes)
            assert not reading.feed(said[at : at + size])
            at += size
        reading.end()
        return reading.files, reading.units, reading.sections, reading.additions, reading.deletions

    assert read([1]) == read([len(said) or 1]) == read([1, 2, 3, 10, 1000])
