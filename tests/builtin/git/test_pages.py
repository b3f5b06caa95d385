"""Long results come in pages; together they are the whole."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.git.hunks import Hunk, pieces
from clawft.builtin.git.page import fitting, page, shorten
from clawft.builtin.git.settings import BOUNDS
from clawft.errors import InvalidArguments
from clawft.guard.result import DEFAULT_LIMIT
from tests.builtin.git.plain import Tools, git, save
from tests.docs.pages import ROOT, inline_code, rows
from tests.requirements import requirement


async def whole(tools: Tools, name: str, **arguments: Any) -> list[Any]:
    """All pages. Each of them passes the limit of results in one piece."""
    found: list[Any] = []
    cursor = ""
    for _ in range(500):
        done = await tools.whole(name, **arguments, cursor=cursor)
        assert len(msgspec.json.encode(done.structured_content)) <= DEFAULT_LIMIT
        assert len(done.content[0]["text"]) < 20_000
        found += done.structured_content["result"]
        cursor = done.structured_content.get("next_cursor")
        if cursor is None:
            return found
    raise AssertionError("no end")


@requirement("QUAL-12", "QUAL-14")
def test_the_page_of_limits_names_every_bound() -> None:
    place = "clawft.builtin.git.settings.Bounds."
    cells = [row[-1] for row in rows((ROOT / "docs/reference/limits.md").read_text())]
    told = {name.removeprefix(place) for cell in cells for name in inline_code(cell) if name.startswith(place)}
    assert told == msgspec.structs.asdict(BOUNDS).keys()


@requirement("QUAL-12", "GIT-09")
async def test_status_in_pages(tools: Tools, repo: Path) -> None:
    names = [f"{'long-name-' * 15}{number:04}" for number in range(600)]
    for name in names:
        (repo / name).write_text("")
    assert [each["path"] for each in await whole(tools, "status", repo_path="r")] == names
    assert len((await tools("status", repo_path="r", limit=7))["result"]) == 7


@requirement("QUAL-12", "GIT-07")
async def test_blame_in_pages(tools: Tools, repo: Path) -> None:
    lines = [f"line {number} {'x' * (number % 300)}" for number in range(1200)]
    save(repo, long_txt="\n".join(lines) + "\n")
    found = await whole(tools, "blame", repo_path="r", file_path="long.txt")
    assert [each["content"] for each in found] == lines
    assert [each["line_number"] for each in found] == list(range(1, 1201))


@requirement("QUAL-12", "GIT-06")
async def test_a_long_diff_in_pages_is_the_whole_diff(tools: Tools, repo: Path) -> None:
    save(repo, long_txt="".join(f"old {number}\n" for number in range(5000)))
    (repo / "long.txt").write_text("".join(f"new {number}\n" for number in range(5000)))
    (repo / "a.txt").write_text("")
    found = await whole(tools, "diff", repo_path="r")
    assert {each["new_file"]: (each["additions"], each["deletions"]) for each in found} == {
        "a.txt": (0, 3),
        "long.txt": (5000, 5000),
    }
    lines = [
        line for each in found if each["new_file"] == "long.txt" for hunk in each["hunks"] for line in hunk["lines"]
    ]
    assert lines == [f"-old {n}" for n in range(5000)] + [f"+new {n}" for n in range(5000)]


@requirement("QUAL-12", "GIT-08")
async def test_log_pages_by_size_too(tools: Tools, repo: Path) -> None:
    for number in range(12):
        git(repo, "commit", "--quiet", "--allow-empty", "--message", f"{number}\n\n{'x' * 9000}")
    found = await whole(tools, "log", repo_path="r", max_count=100)
    assert len(found) == 14


@requirement("QUAL-12")
async def test_a_file_of_a_commit_in_pages(tools: Tools, repo: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(9000))
    save(repo, long_txt=text)
    parts: list[str] = []
    cursor = ""
    while True:
        done = await tools("show", repo_path="r", file_path="long.txt", cursor=cursor, limit=1000)
        parts.append(done["content"])
        cursor = done.get("next_cursor")
        if cursor is None:
            break
    assert "\n".join(parts) == text


@requirement("QUAL-12")
async def test_a_line_too_long_says_so(tools: Tools, repo: Path) -> None:
    (repo / "b.txt").write_text("y" * 100_000 + "\n")
    [entry] = (await tools("diff", repo_path="r", paths=["b.txt"]))["result"]
    assert entry["hunks"][0]["lines"][1].endswith(f"[… {100_001 - BOUNDS.line_chars} more characters]")


@requirement("QUAL-12")
@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "٣", "9" * 30])
async def test_a_foreign_cursor_is_refused(tools: Tools, repo: Path, cursor: str) -> None:
    for name in ("status", "log", "branch", "diff", "tag", "conflicts", "show"):
        with pytest.raises(InvalidArguments, match="cursor"):
            await tools(name, repo_path="r", cursor=cursor)


@requirement("QUAL-12")
@given(st.lists(st.text(max_size=50), max_size=60), st.integers(1, 20))
def test_pages_together_are_everything(items: list[str], limit: int) -> None:
    found: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        shown, cursor = page(items, int(cursor), limit)
        assert shown or not items
        found += shown
    assert found == items


@requirement("QUAL-12")
def test_one_item_always_fits() -> None:
    assert fitting(["x" * 10 * BOUNDS.page_bytes], 5) == 1
    assert fitting([], 5) == 0
    assert shorten("abc", 3) == "abc"


@requirement("GIT-06")
@given(st.lists(st.sampled_from([" a", "-bb", "+ccc", "\\ no"]), min_size=1, max_size=60), st.integers(1, 40))
def test_pieces_of_a_hunk_say_the_same(lines: list[str], most: int) -> None:
    removed = sum(line[0] in " -" for line in lines)
    added = sum(line[0] in " +" for line in lines)
    found = list(pieces(Hunk(5, removed, 9, added, "", []), lines, most))
    assert [line for piece in found for line in piece.lines] == lines
    old, new = 5, 9
    for piece in found:
        assert (piece.old_start, piece.new_start) == (old, new)
        old, new = old + piece.old_lines, new + piece.new_lines
    assert (old, new) == (5 + removed, 9 + added)
