"""Lines are told without their ends; a carriage return is shown where a change is about it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.git.hunks import Hunk, HunkPieces, pieces, without_ends
from tests.builtin.git.plain import Tools, git, save
from tests.requirements import requirement


@pytest.fixture
def crlf(repo: Path) -> Path:
    """A file with CRLF in a commit, and a changed line in it."""
    write(repo, b"one\r\ntwo\r\nthree\r\n")
    save(repo)
    write(repo, b"one\r\n2\r\nthree\r\n")
    return repo


def write(repo: Path, data: bytes) -> None:
    (repo / "w.txt").write_bytes(data)


async def lines(tools: Tools, **arguments: Any) -> list[str]:
    page = await tools("diff", repo_path="r", paths=["w.txt"], **arguments)
    return [line for entry in page["result"] for hunk in entry["hunks"] for line in hunk["lines"]]


@requirement("GIT-07")
@pytest.mark.slow
@pytest.mark.usefixtures("crlf")
async def test_a_blame_tells_lines_without_their_ends(tools: Tools) -> None:
    for revision, second in (("", "2"), ("HEAD", "two")):
        found = await tools("blame", repo_path="r", file_path="w.txt", revision=revision)
        assert [each["content"] for each in found["result"]] == ["one", second, "three"]


@requirement("GIT-06")
@pytest.mark.slow
async def test_a_change_in_a_file_with_crlf_is_told_without_them(tools: Tools, crlf: Path) -> None:
    assert await lines(tools) == [" one", "-two", "+2", " three"]
    write(crlf, b"one\r\ntwo\r\nthree")
    assert await lines(tools) == [" one", " two", "-three", "+three", "\\ No newline at end of file"]
    git(crlf, "commit", "--quiet", "--all", "--message", "no end")
    write(crlf, b"one\r\ntwo\r\nthree and more")
    note = "\\ No newline at end of file"
    assert await lines(tools) == [" one", " two", "-three", note, "+three and more", note]


@requirement("GIT-06")
@pytest.mark.slow
async def test_a_change_of_line_ends_is_seen(tools: Tools, crlf: Path) -> None:
    write(crlf, b"one\r\ntwo\nthree\r\n")
    assert await lines(tools) == [" one\r", "-two\r", "+two", " three\r"]
    write(crlf, b"one\ntwo\nthree\n")
    assert await lines(tools) == ["-one\r", "-two\r", "-three\r", "+one", "+two", "+three"]


@requirement("GIT-06")
@pytest.mark.slow
async def test_a_change_of_line_ends_is_seen_in_every_page_of_it(tools: Tools, repo: Path) -> None:
    names = [f"line {number} {'x' * 60}" for number in range(2000)]
    write(repo, "".join(f"{name}\r\n" for name in names).encode())
    save(repo)
    write(repo, "".join(f"{name}\n" for name in names).encode())
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await tools("diff", repo_path="r", limit=1, cursor=cursor)
        found += [line for entry in page["result"] for hunk in entry["hunks"] for line in hunk["lines"]]
        cursor = page.get("next_cursor")
    assert found == [f"-{name}\r" for name in names] + [f"+{name}" for name in names]


@requirement("GIT-06")
def test_a_long_file_that_is_new_is_told_without_them_in_every_piece() -> None:
    long = [f"+{'x' * 50}\r"] * 100
    found = list(pieces(Hunk(0, 0, 1, 100, "", []), long, 1000))
    assert len(found) > 1
    assert [line for piece in found for line in piece.lines] == [line[:-1] for line in long]


@requirement("GIT-06")
@given(st.lists(st.sampled_from([" a\r", "-b\r", "+c\r", " a", "-b", "+c", "\\ no"]), max_size=12))
def test_ends_are_left_out_of_all_lines_or_of_none(said: list[str]) -> None:
    told = without_ends(said)
    left_out = [before != after for before, after in zip(said, told, strict=True)]
    assert all(before == after + "\r" for before, after, out in zip(said, told, left_out, strict=True) if out)
    if any(left_out):
        kept = [at for at, out in enumerate(left_out) if not out]
        assert all(said[at].startswith("\\") or said[at + 1].startswith("\\") for at in kept)


def test_a_piece_of_nothing_is_nothing() -> None:
    assert HunkPieces(Hunk(1, 1, 1, 1, "", [])).end().lines == []
