"""What somebody began and did not finish (a merge and its like) is theirs: no tool ends it or loses what is in it."""

from pathlib import Path
from typing import Any

import pytest

from clawft.errors import ExecutionFailed
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

WHO = {"author_name": NAME, "author_email": EMAIL}
RESOLVED = "an hour of resolving\n"
PULLS: tuple[dict[str, Any], ...] = (
    {},
    {"ff_only": False},
    {"ff_only": False, "keep_conflicts": True},
    {"branch": "main"},
)


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", NAME)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", EMAIL)


@pytest.fixture
def two(workspace: Path) -> Path:
    """A clone in which two files differ from those of its origin, and from those of the branch `side`."""
    origin = new(workspace / "origin")
    save(origin, a_txt="1\n", b_txt="1\n")
    git(workspace, "clone", "--quiet", "origin", "two")
    repo = workspace / "two"
    save(origin, a_txt="theirs\n", b_txt="theirs\n")
    git(repo, "switch", "--quiet", "--create", "side")
    save(repo, a_txt="side\n", b_txt="side\n")
    git(repo, "switch", "--quiet", "main")
    save(repo, a_txt="ours\n", b_txt="ours\n")
    return repo


BEGUN = {
    "merge": ("merge", "side"),
    "cherry-pick": ("cherry-pick", "side"),
    "revert": ("revert", "--no-edit", "side"),
    "rebase": ("rebase", "side"),
}


def begin(repo: Path, state: str) -> None:
    """It stops at two conflicts, and one of them is resolved."""
    git(repo, *BEGUN[state], ok=False)
    (repo / "a.txt").write_text(RESOLVED)
    git(repo, "add", "a.txt")


def seen(repo: Path) -> tuple[str, str, str, set[str]]:
    """What would be lost."""
    heads = {path.name for path in (repo / ".git").iterdir() if path.name.endswith("_HEAD") or path.is_dir()}
    return (repo / "a.txt").read_text(), said(repo, "status", "--porcelain"), said(repo, "ls-files", "--stage"), heads


@requirement("GIT-12", "QUAL-12")
@pytest.mark.parametrize("state", BEGUN)
async def test_a_pull_leaves_alone_what_was_begun_before_it(tools: Tools, two: Path, state: str) -> None:
    begin(two, state)
    before = seen(two)
    for how in PULLS:
        with pytest.raises(ExecutionFailed, match=f"a {state} is not finished here") as refused:
            await tools("pull", repo_path="two", **how, **WHO)
        assert f"git {state} --abort" in refused.value.hint
    assert seen(two) == before
    assert said(two, "rev-parse", "origin/main") == said(two, "merge-base", "main", "side")  # nothing was fetched


@requirement("GIT-12")
async def test_a_pull_leaves_alone_conflicts_of_a_stash(tools: Tools, two: Path) -> None:
    (two / "a.txt").write_text("put aside\n")
    await tools("stash", repo_path="two", action="push")
    save(two, a_txt="and then\n")
    assert (await tools("stash", repo_path="two", action="pop"))["conflicts"] == ["a.txt"]
    before = seen(two)
    with pytest.raises(ExecutionFailed, match=r"conflicts are not resolved: a\.txt"):
        await tools("pull", repo_path="two", ff_only=False, **WHO)
    assert seen(two) == before


@requirement("GIT-12")
async def test_a_merge_that_is_resolved_is_left_alone_until_it_is_committed(tools: Tools, two: Path) -> None:
    begin(two, "merge")
    git(two, "add", "b.txt")
    before = seen(two)
    with pytest.raises(ExecutionFailed, match="a merge is not finished here"):
        await tools("pull", repo_path="two", ff_only=False, **WHO)
    for action in ("push", "pop", "apply"):
        with pytest.raises(ExecutionFailed):
            await tools("stash", repo_path="two", action=action)
    with pytest.raises(ExecutionFailed, match="merging"):
        await tools("switch", repo_path="two", branch="side")
    with pytest.raises(ExecutionFailed, match="merging"):
        await tools("switch", repo_path="two", branch="new", create=True)
    assert seen(two) == before
    await tools("commit", repo_path="two", message="merged", paths=[], **WHO)
    assert len(said(two, "log", "-1", "--format=%P").split()) == 2


@requirement("GIT-12")
@pytest.mark.parametrize("state", ["merge", "cherry-pick", "revert"])
async def test_a_stash_would_forget_what_is_under_way(tools: Tools, two: Path, state: str) -> None:
    begin(two, state)
    git(two, "add", "b.txt")
    before = seen(two)
    with pytest.raises(ExecutionFailed, match=f"a {state} is not finished here"):
        await tools("stash", repo_path="two", action="push")
    assert seen(two) == before


@requirement("GIT-12")
async def test_a_stash_may_be_made_while_a_rebase_stands_still(tools: Tools, two: Path) -> None:
    begin(two, "rebase")
    git(two, "add", "b.txt")
    await tools("stash", repo_path="two", action="push")
    await tools("stash", repo_path="two", action="pop")
    assert (two / "a.txt").read_text() == RESOLVED
    assert (two / ".git" / "rebase-merge").is_dir()


@requirement("GIT-10")
async def test_a_stash_is_refused_for_conflicts_and_says_so(tools: Tools, two: Path) -> None:
    (two / "a.txt").write_text("put aside\n")
    await tools("stash", repo_path="two", action="push")
    begin(two, "cherry-pick")
    before = seen(two)
    for action in ("push", "pop", "apply"):
        with pytest.raises(ExecutionFailed, match=r"a cherry-pick is not finished here"):
            await tools("stash", repo_path="two", action=action)
    assert seen(two) == before
    assert len((await tools("stash", repo_path="two"))["result"]) == 1


@requirement("GIT-10")
async def test_a_stash_that_does_not_exist_is_an_error_also_during_conflicts(tools: Tools, two: Path) -> None:
    (two / "a.txt").write_text("put aside\n")
    await tools("stash", repo_path="two", action="push")
    for action in ("pop", "apply", "drop"):
        with pytest.raises(ExecutionFailed, match="there is no stash 9") as refused:
            await tools("stash", repo_path="two", action=action, index=9)
        assert "git__stash" in refused.value.hint
    begin(two, "cherry-pick")
    for action in ("pop", "apply", "drop"):
        with pytest.raises(ExecutionFailed, match="there is no stash 9"):
            await tools("stash", repo_path="two", action=action, index=9)
