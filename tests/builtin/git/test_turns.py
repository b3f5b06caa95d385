"""Calls that change one repository at once: each change is whole and of its own call. Who only reads never waits."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.git import Bounds, GitSettings, one_at_a_time, pull, worktree
from clawft.builtin.git.one_at_a_time import FOLDER, alone
from clawft.errors import ExecutionFailed
from clawft.store.home import home
from tests.builtin.git.plain import EMAIL, GRANTED, NAME, Tools, git, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

WHO = {"author_name": NAME, "author_email": EMAIL}
MANY = 12
PATIENCE_S = 60.0
COMMITTING = """
import asyncio, sys
from pathlib import Path
from tests.builtin.git.plain import Tools

async def main(workspace, numbers):
    tools = Tools(Path(workspace))
    who = dict(author_name="Ada", author_email="ada@example.org")
    commits = [tools("commit", repo_path="r", message=f"m{n}", paths=[f"f{n}"], **who) for n in numbers]
    await asyncio.gather(*commits)

print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""
HOLDING = """
import asyncio, sys
from pathlib import Path
from clawft.builtin.git.one_at_a_time import alone

async def main(repository):
    async with alone("stash", Path(repository), "files", 60.0):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main(sys.argv[1]))
"""


@contextmanager
def beside(code: str, *args: str) -> Generator[subprocess.Popen[str]]:
    """Another process with our home, once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def impatient(workspace: Path) -> Tools:
    return Tools(workspace, GitSettings(granted=GRANTED, bounds=Bounds(turn_seconds=0.2)))


def write_many(repo: Path) -> None:
    for number in range(MANY):
        (repo / f"f{number}").write_text(f"{number}\n")


def check_each_its_own(repo: Path) -> None:
    found = [each.split() for each in said(repo, "log", "--name-status", "--format=@%s").split("@")[1:]]
    own = sorted([f"m{number}", "A", f"f{number}"] for number in range(MANY))
    assert sorted(each for each in found if each[0] not in ("first", "second")) == own
    assert said(repo, "status", "--porcelain") == ""


@requirement("GIT-03", "GIT-04")
async def test_commits_at_once_have_each_its_own_files(tools: Tools, repo: Path) -> None:
    write_many(repo)
    done = await asyncio.gather(
        *(tools("commit", repo_path="r", message=f"m{n}", paths=[f"f{n}"], **WHO) for n in range(MANY))
    )
    check_each_its_own(repo)
    told = {each["oid"]: each["message"] for each in done}
    assert told == {oid: said(repo, "log", "-1", "--format=%s", oid) for oid in told}
    assert len(told) == MANY


@requirement("GIT-03", "GIT-04")
def test_two_processes_take_turns(workspace: Path, repo: Path) -> None:
    write_many(repo)
    numbers = [str(number) for number in range(MANY)]
    with (
        beside(COMMITTING, str(workspace), *numbers[::2]) as one,
        beside(COMMITTING, str(workspace), *numbers[1::2]) as other,
    ):
        for each in (one, other):
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        assert [each.wait(PATIENCE_S) for each in (one, other)] == [0, 0]
    check_each_its_own(repo)


@requirement("GIT-10")
async def test_who_waits_too_long_is_told_for_whom(workspace: Path, repo: Path) -> None:
    tools = impatient(workspace)
    (repo / "new").write_text("")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("commit", {"message": "m", **WHO}),
        ("add", {"paths": ["new"]}),
        ("restore", {"paths": ["a.txt"]}),
        ("switch", {"branch": "main"}),
        ("stash", {"action": "push"}),
        ("tag", {"action": "create", "name": "v"}),
        ("worktree", {"action": "add", "path": "w"}),
        ("worktree", {"action": "remove", "path": "w"}),
    ]
    with beside(HOLDING, str(repo / ".git")) as holder:
        for name, arguments in calls:
            with pytest.raises(ExecutionFailed, match=f"{name}: the repository is busy") as refused:
                await tools(name, repo_path="r", **arguments)
            assert f"stash of process {holder.pid} in '{repo / '.git'}'" in refused.value.message
            assert "try again" in refused.value.hint
    assert said(repo, "status", "--porcelain") == "?? new"


@requirement("GIT-10")
@pytest.mark.skipif(sys.platform == "win32", reason="no locks on folders there")
async def test_wefts_with_other_homes_take_turns_too(
    workspace: Path, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "new").write_text("")
    with beside(HOLDING, str(repo / ".git")):
        monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "another"))
        with pytest.raises(ExecutionFailed, match=r"the turn of a weft with another home, and we waited 0\.2 s"):
            await impatient(workspace)("add", repo_path="r", paths=["new"])
        await impatient(workspace)("status", repo_path="r")
    await impatient(workspace)("add", repo_path="r", paths=["new"])


@requirement("GIT-10")
async def test_who_only_reads_does_not_wait(workspace: Path, repo: Path) -> None:
    tools = impatient(workspace)
    with beside(HOLDING, str(repo / ".git")):
        for name in ("status", "log", "diff", "show", "branch", "conflicts", "stash", "tag", "worktree"):
            await tools(name, repo_path="r")
        await tools("blame", repo_path="r", file_path="a.txt")


@requirement("GIT-10")
async def test_a_turn_ends_with_who_had_it_however_that_ends(workspace: Path, repo: Path) -> None:
    (repo / "new").write_text("")
    with beside(HOLDING, str(repo / ".git")) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait(PATIENCE_S)
        await impatient(workspace)("commit", repo_path="r", message="m", **WHO)
    assert said(repo, "log", "-1", "--format=%s") == "m"


@requirement("GIT-10")
async def test_a_turn_that_is_given_up_is_free_for_the_next(repo: Path) -> None:
    began = asyncio.Event()

    async def hold() -> None:
        async with alone("one", repo, "files", 1.0):
            began.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    await began.wait()
    waiting = asyncio.create_task(_take(repo))
    with pytest.raises(ExecutionFailed, match=f"one of process {os.getpid()}"):
        async with alone("other", repo, "files", 0.05):
            raise AssertionError("two at once")
    async with alone("beside", repo, "remotes", 1.0):
        pass
    holder.cancel()
    await waiting
    assert not one_at_a_time._queues  # pyright: ignore[reportPrivateUsage] - nothing is kept of who was here


async def _take(repo: Path) -> None:
    async with alone("waiting", repo, "files", PATIENCE_S):
        pass


@requirement("QUAL-12")
async def test_the_files_of_turns_are_few_and_ours_alone(workspace: Path) -> None:
    for number in range(300):
        await _take(workspace / str(number))
    files = list((home() / FOLDER).iterdir())
    assert 250 < len(files) <= min(300, one_at_a_time.SLOTS)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@requirement("GIT-10")
async def test_a_home_that_cannot_be_written_is_named(
    tools: Tools, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no-folder").write_text("")
    monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "no-folder"))
    with pytest.raises(ExecutionFailed, match=r"no turn to change .* can be had: .*no-folder/git-turns"):
        await tools("add", repo_path="r", paths=["."])


@requirement("GIT-12")
async def test_others_change_the_repository_while_a_pull_waits_for_the_network(
    tools: Tools, workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(workspace, "clone", "--quiet", "r", "copy")
    (workspace / "copy" / "new").write_text("")
    theirs = save(repo, a_txt="theirs\n")
    fetch = pull.fetch_refs

    async def slowly(*args: Any) -> None:
        await tools("commit", repo_path="copy", message="meanwhile", **WHO)
        await fetch(*args)

    monkeypatch.setattr(pull, "fetch_refs", slowly)
    done = await tools("pull", repo_path="copy", ff_only=False, **WHO)
    assert said(workspace / "copy", "log", "-1", "--format=%s", done["before"]) == "meanwhile"
    assert said(workspace / "copy", "rev-parse", "HEAD^2") == theirs


@requirement("GIT-12")
async def test_a_pull_merges_into_no_other_branch_than_it_was_told_on(
    tools: Tools, workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(workspace, "clone", "--quiet", "r", "copy")
    before = said(workspace / "copy", "rev-parse", "HEAD")
    save(repo, a_txt="theirs\n")
    fetch = pull.fetch_refs

    async def slowly(*args: Any) -> None:
        await tools("switch", repo_path="copy", branch="other", create=True)
        await fetch(*args)

    monkeypatch.setattr(pull, "fetch_refs", slowly)
    with pytest.raises(ExecutionFailed, match="another branch was checked out"):
        await tools("pull", repo_path="copy")
    assert said(workspace / "copy", "rev-parse", "other", "main").split() == [before, before]


@requirement("GIT-12")
async def test_pulls_at_once_merge_each_what_it_fetched(tools: Tools, workspace: Path, repo: Path) -> None:
    """What was fetched is named in one file: a fetch between a pull's own and its merge would be merged instead."""
    git(repo, "branch", "other", "HEAD~1")
    git(workspace, "clone", "--quiet", "r", "copy")
    theirs = save(repo, a_txt="theirs\n")
    await asyncio.gather(
        tools("pull", repo_path="copy"), *(tools("fetch", repo_path="copy", branch="other") for _ in range(4))
    )
    assert said(workspace / "copy", "rev-parse", "HEAD") == theirs


@requirement("GIT-12")
async def test_nobody_has_the_turn_while_a_person_is_asked(
    workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = impatient(workspace)
    await tools("worktree", repo_path="r", action="add", path="w", branch="topic")
    (repo / "new").write_text("")

    async def asked(*args: object) -> None:
        await tools("add", repo_path="r", paths=["new"])

    monkeypatch.setattr(worktree, "ensure_granted", asked)
    await tools("worktree", repo_path="r", action="remove", path="w", force=True)
    assert said(repo, "status", "--porcelain") == "A  new"


@requirement("GIT-12")
async def test_work_trees_of_one_repository_share_a_turn(workspace: Path, repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "-b", "topic", str(workspace / "w"))
    (workspace / "w" / "new").write_text("")
    with beside(HOLDING, str(repo / ".git")), pytest.raises(ExecutionFailed, match="is busy"):
        await impatient(workspace)("add", repo_path="w", paths=["new"])
