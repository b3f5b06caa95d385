"""Repositories that are broken, or made to keep us busy: each is told for what it is, and soon."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from clawft.errors import ExecutionFailed, PermissionDenied
from tests.builtin.git.plain import Tools, git, new, said
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time


@requirement("GIT-12")
async def test_lists_of_borrowed_objects_that_name_one_another_many_times_are_read_once(
    tools: Tools, workspace: Path
) -> None:
    lenders = [new(workspace / f"lender{number}") for number in range(6)]
    for lender, next_one in pairwise(lenders):
        lines = [f"../../../{'./' * turn}{next_one.name}/.git/objects" for turn in range(100)]
        (lender / ".git/objects/info/alternates").write_text("\n".join(lines))
    assert (await tools("status", repo_path="lender0"))["branch"] == "main"


@requirement("GIT-12")
async def test_objects_are_borrowed_through_few_repositories_only(tools: Tools, workspace: Path) -> None:
    lenders = [new(workspace / f"lender{number}") for number in range(8)]
    for lender, next_one in pairwise(lenders):
        (lender / ".git/objects/info/alternates").write_text(f"../../../{next_one.name}/.git/objects\n")
    with pytest.raises(ExecutionFailed, match="borrows objects through more than 5 repositories"):
        await tools("status", repo_path="lender0")


@pytest.mark.parametrize("how", ["gone", "garbage", "replaced by itself"])
async def test_a_branch_whose_commit_cannot_be_read_is_no_empty_repository(tools: Tools, repo: Path, how: str) -> None:
    head = said(repo, "rev-parse", "HEAD")
    stored = repo / ".git/objects" / head[:2] / head[2:]
    if how == "gone":
        stored.unlink()
    elif how == "garbage":
        stored.chmod(0o644)
        stored.write_bytes(b"no object")
    else:
        (repo / ".git/refs/replace").mkdir()
        (repo / ".git/refs/replace" / head).write_text(f"{head}\n")
    for tool in ("log", "diff"):
        with pytest.raises(ExecutionFailed, match="HEAD names no commit that is there") as failed:
            await tools(tool, repo_path="r")
        assert "git fsck" in failed.value.hint


@requirement("GIT-10")
@pytest.mark.parametrize("tool", ["status", "log", "diff", "show", "branch", "stash", "conflicts", "tag"])
async def test_a_repository_that_needs_a_newer_git_is_told_as_that(tools: Tools, repo: Path, tool: str) -> None:
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.futureThing", "1")
    with pytest.raises(ExecutionFailed, match=r"this git does not support 'futurething', .*a newer git does"):
        await tools(tool, repo_path="r")


@requirement("GIT-08")
async def test_an_author_without_end_costs_no_list(tools: Tools, repo: Path) -> None:
    head, tree = said(repo, "rev-parse", "HEAD", "HEAD^{tree}").split()
    author = f"{'n' * 200_000} <{'e' * 200_000}>"
    content = f"tree {tree}\nparent {head}\nauthor {author} 1 +0000\ncommitter C <c@c> 1 +0000\n\nlong\n"
    made = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=content.encode()).decode().strip()
    git(repo, "update-ref", "HEAD", made)
    for found in ((await tools("log", repo_path="r"))["result"][0], (await tools("show", repo_path="r"))["commit"]):
        assert found["author"].endswith("more characters]")
        assert (found["message"], len(str(found)) < 20_000) == ("long", True)


async def test_a_branch_with_names_that_may_not_be_written_is_told_so(tools: Tools, repo: Path) -> None:
    blob = said(repo, "rev-parse", "HEAD:a.txt")
    inner = git(repo, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode()).decode().strip()
    entry = b"40000 GIT~1\0" + bytes.fromhex(inner)
    tree = git(repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=entry).decode().strip()
    git(repo, "branch", "evil", said(repo, "commit-tree", "-m", "evil", "-p", "HEAD", tree))
    with pytest.raises(ExecutionFailed, match=r"'GIT~1/config' may not be written") as failed:
        await tools("switch", repo_path="r", branch="evil")
    assert "git__show" in failed.value.hint


@pytest.mark.parametrize("target", ["../away", "../r2/.git"])
async def test_a_work_tree_whose_repository_was_removed_is_told_so(tools: Tools, workspace: Path, target: str) -> None:
    (workspace / "r2").mkdir()
    (workspace / "r2/.git").write_text(f"gitdir: {target}\n")
    with pytest.raises(ExecutionFailed, match="there is no repository at") as failed:
        await tools("status", repo_path="r2")
    assert "git worktree repair" in failed.value.hint


async def test_a_configuration_with_more_programs_than_can_be_switched_off_is_refused(tools: Tools, repo: Path) -> None:
    with (repo / ".git/config").open("a") as config:
        config.writelines(f'[filter "{number}"]\n\tclean = touch ran\n' for number in range(60_000))
    with pytest.raises(PermissionDenied, match="too many to be switched off"):
        await tools("status", repo_path="r")


async def test_a_file_of_names_outside_is_not_read(tools: Tools, repo: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "names")  # whoever opens it waits
    git(repo, "config", "mailmap.file", str(tmp_path / "names"))
    assert len((await tools("blame", repo_path="r", file_path="a.txt"))["result"]) == 3
