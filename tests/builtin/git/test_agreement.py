"""The tools say what plain git says, on 60 histories made by chance. Each answer is asked of git in another form."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.git.histories import KINDS, History
from tests.builtin.git.plain import Tools, git
from tests.requirements import requirement

HISTORIES = 60
EACH = 10
WORDS = {"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "T": "typechange"}
STATUS = {"A": "Added", "D": "Deleted", "M": "Modified", "R": "Renamed", "T": "TypeChanged"}


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def has_commits(repo: Path) -> bool:
    return bool(git(repo, "rev-parse", "--verify", "--quiet", "HEAD", ok=False))


def plain_status(repo: Path) -> list[tuple[str, str, str | None]]:
    """The first format of `git status`, which the tool does not use."""
    records = iter(
        git(repo, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=dirty").split(b"\0")
    )
    found: list[tuple[str, str, str | None]] = []
    for record in records:
        if record:
            letters, path = record[:2].decode(), text(record[3:])
            found.append((path, _words(letters), text(next(records)) if "R" in letters else None))
    return sorted(found, key=str)


def _words(letters: str) -> str:
    if letters == "??":
        return "untracked"
    if "U" in letters or letters in ("AA", "DD"):
        return "conflicted"
    return ",".join(dict.fromkeys(WORDS[letter] for letter in letters if letter in WORDS))


def plain_names(repo: Path, base: str) -> list[tuple[str, str, str]]:
    words = iter(
        git(repo, "diff", "--name-status", "-z", "--find-renames", "--ignore-submodules=dirty", base).split(b"\0")
    )
    found: list[tuple[str, str, str]] = []
    for word in words:
        if word and word != b"U":
            old = text(next(words))
            found.append((STATUS[chr(word[0])], old, text(next(words)) if word[:1] == b"R" else old))
        elif word:
            next(words)
    return found


def plain_counts(repo: Path, base: str) -> tuple[int, int]:
    """Of everything; binary files count for nothing."""
    said = git(repo, "diff", "--shortstat", "--find-renames", "--ignore-submodules=dirty", base).decode()
    added, deleted = re.search(r"(\d+) insertion", said), re.search(r"(\d+) deletion", said)
    return int(added[1]) if added else 0, int(deleted[1]) if deleted else 0


def plain_patch(repo: Path, base: str) -> list[str]:
    """Every line of every hunk; headers are recognized by what they say, as the tool counts."""
    said = git(repo, "diff", "--no-color", "--find-renames", "--ignore-submodules=dirty", base)
    lines: list[str] = []
    left = right = 0
    for line in said.split(b"\n"):
        if left > 0 or right > 0 or (lines and line[:1] == b"\\"):
            left -= line[:1] in (b" ", b"-")
            right -= line[:1] in (b" ", b"+")
            lines.append(text(line))
        elif found := re.match(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line):
            left, right = int(found[1] or 1), int(found[2] or 1)
    return lines


def bare(lines: list[str]) -> list[str]:
    """Without a carriage return at the end: where it is told is `test_line_ends`' business."""
    return [line.removesuffix("\r") for line in lines]


async def whole(tools: Tools, name: str, **arguments: Any) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        done = await tools(name, **arguments, cursor=cursor)
        found += done["result"]
        cursor = done.get("next_cursor")
    return found


async def check_status(tools: Tools, history: History) -> None:
    found = await whole(tools, "status", repo_path=history.name)
    told = sorted(((each["path"], each["status"], each.get("old_path")) for each in found), key=str)
    assert told == plain_status(history.repo), history.name


async def check_diff(tools: Tools, history: History) -> None:
    commits = has_commits(history.repo)
    empty = git(history.repo, "hash-object", "-t", "tree", "--stdin").decode().strip()
    base = "HEAD" if commits else empty
    names, counts = plain_names(history.repo, base), plain_counts(history.repo, base)
    for hunks in (True, False):
        found = await whole(tools, "diff", repo_path=history.name, hunks=hunks)
        files = {(each["status"], each.get("old_file"), each.get("new_file")): each for each in found}
        told = [(status, old or new, new or old) for status, old, new in files]
        assert told == names, history.name
        assert (
            sum(each["additions"] for each in files.values()),
            sum(each["deletions"] for each in files.values()),
        ) == counts
        if hunks:
            lines = [line for each in found for hunk in each.get("hunks", ()) for line in hunk["lines"]]
            assert bare(lines) == bare(plain_patch(history.repo, base)), history.name


async def check_log(tools: Tools, history: History) -> None:
    found = await whole(tools, "log", repo_path=history.name, max_count=3)
    if not has_commits(history.repo):
        assert found == []
        return
    assert [each["oid"] for each in found] == git(history.repo, "rev-list", "HEAD").decode().split()
    messages = [each["message"].partition("\n")[0] for each in found]
    assert messages == git(history.repo, "log", "--format=%s").decode().splitlines()
    path = await whole(tools, "log", repo_path=history.name, path="dir")
    assert [each["oid"] for each in path] == git(history.repo, "rev-list", "HEAD", "--", "dir").decode().split()


async def check_blame(tools: Tools, history: History) -> None:
    if not has_commits(history.repo):
        return
    tracked = [each for each in git(history.repo, "ls-tree", "-r", "-z", "HEAD").split(b"\0") if b"blob" in each]
    for record in tracked[:2]:
        name = record.partition(b"\t")[2]
        if b"\n" in name or b"\xe9" in name or name.startswith((b"-", b".git")):
            continue  # names that cannot be given, or need another spelling
        found = await whole(tools, "blame", repo_path=history.name, file_path=name.decode(), revision="HEAD")
        said = git(history.repo, "blame", "--line-porcelain", "HEAD", "--", f":(literal){name.decode()}", ok=False)
        said = said or git(history.repo, "blame", "--line-porcelain", "HEAD", "--", name.decode())
        heads = re.findall(rb"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", said, re.MULTILINE)
        contents = [text(line[1:]) for line in said.split(b"\n") if line[:1] == b"\t"]
        assert [(each["commit_id"], each["line_number"]) for each in found] == [(o.decode(), int(n)) for o, n in heads]
        assert [each["content"] for each in found] == bare(contents)


async def check_branches(tools: Tools, history: History) -> None:
    found = await whole(tools, "branch", repo_path=history.name)
    plain = git(history.repo, "branch", "--all", "--format=%(refname:lstrip=2)").decode().splitlines()
    assert found == [name for name in plain if not name.startswith("(")]


@requirement("GIT-05", "GIT-06", "GIT-07", "GIT-08", "GIT-09")
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, HISTORIES, EACH))
async def test_the_tools_agree_with_git(tools: Tools, workspace: Path, first: int) -> None:
    for seed in range(first, first + EACH):
        history = History(workspace, seed)
        for check in (check_status, check_diff, check_log, check_blame, check_branches):
            await check(tools, history)


@requirement("GIT-04")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + 2 * len(KINDS)))
async def test_a_commit_of_everything_is_that_of_git(tools: Tools, workspace: Path, seed: int) -> None:
    """The files are committed once through the tool, once through `git add --all`."""
    history = History(workspace, seed)
    if history.kind == "conflict":
        git(history.repo, "checkout", "--ours", "zz.txt")
        git(history.repo, "add", "zz.txt")
    index = workspace / "index"
    git(history.repo, "read-tree", "--empty", GIT_INDEX_FILE=str(index))
    git(history.repo, "add", "--all", GIT_INDEX_FILE=str(index))
    wanted = git(history.repo, "write-tree", GIT_INDEX_FILE=str(index)).decode().strip()
    await tools("commit", repo_path=history.name, message="all", author_name="a", author_email="a@b")
    assert git(history.repo, "rev-parse", "HEAD^{tree}").decode().strip() == wanted
