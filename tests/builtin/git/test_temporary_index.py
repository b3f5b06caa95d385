"""A commit of some paths holds these only, whatever else is staged; and that stays staged."""

from pathlib import Path

import pytest

from clawft.builtin.git.temporary_index import NAME as INDEX
from clawft.errors import ExecutionFailed
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

WHO = {"author_name": NAME, "author_email": EMAIL}


def committed(repo: Path) -> list[str]:
    return said(repo, "log", "-1", "--root", "--name-status", "--no-renames", "--format=").splitlines()


def status(repo: Path) -> list[str]:
    return git(repo, "status", "--porcelain", "--no-renames").decode().splitlines()


@requirement("GIT-03", "GIT-04")
async def test_what_else_is_staged_stays_staged(tools: Tools, repo: Path) -> None:
    save(repo, c_txt="c\n", d_txt="d\n", e_txt="e\n")
    (repo / "a.txt").write_text("theirs\n")
    (repo / "theirs").write_text("")
    git(repo, "rm", "--quiet", "--cached", "c.txt")
    git(repo, "add", "a.txt", "theirs")
    (repo / "a.txt").write_text("theirs, and more\n")
    (repo / "b.txt").write_text("mine\n")
    (repo / "d.txt").unlink()
    (repo / "e.txt").write_text("mine, staged before\n")
    git(repo, "add", "e.txt")
    (repo / "folder").mkdir()
    (repo / "folder" / "mine").write_text("")
    done = await tools("commit", repo_path="r", message="mine", paths=["b.txt", "d.txt", "e.txt", "folder"], **WHO)
    assert done["oid"] == said(repo, "rev-parse", "HEAD")
    assert committed(repo) == ["M\tb.txt", "D\td.txt", "M\te.txt", "A\tfolder/mine"]
    assert status(repo) == ["MM a.txt", "D  c.txt", "A  theirs", "?? c.txt"]
    assert said(repo, "show", ":a.txt") == "theirs"
    assert [path.name for path in (repo / ".git").glob(f"{INDEX}*")] == []
    await tools("commit", repo_path="r", message="theirs", paths=[], **WHO)
    assert committed(repo) == ["M\ta.txt", "D\tc.txt", "A\ttheirs"]


@requirement("GIT-03", "GIT-04")
async def test_the_first_commit_can_be_one_of_some_paths(tools: Tools, workspace: Path) -> None:
    repo = new(workspace / "n")
    for name in ("mine", "theirs"):
        (repo / name).write_text("")
    git(repo, "add", "theirs")
    await tools("commit", repo_path="n", message="mine", paths=["mine"], **WHO)
    assert committed(repo) == ["A\tmine"]
    assert status(repo) == ["A  theirs"]


@requirement("GIT-03", "GIT-04")
async def test_one_half_of_a_rename_is_committed_if_it_is_asked_for(tools: Tools, repo: Path) -> None:
    git(repo, "mv", "b.txt", "new.txt")
    await tools("commit", repo_path="r", message="half", paths=["new.txt"], **WHO)
    assert committed(repo) == ["A\tnew.txt"]
    assert status(repo) == ["D  b.txt"]


@requirement("GIT-03", "GIT-04")
async def test_a_folder_in_the_place_of_a_file(tools: Tools, repo: Path) -> None:
    git(repo, "rm", "--quiet", "b.txt")
    (repo / "b.txt").mkdir()
    (repo / "b.txt" / "mine").write_text("")
    await tools("commit", repo_path="r", message="folder", paths=["b.txt/mine"], **WHO)
    assert said(repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["a.txt", "b.txt/mine"]
    assert status(repo) == []


@requirement("GIT-03")
async def test_a_commit_that_fails_leaves_no_file_to_the_next(tools: Tools, repo: Path) -> None:
    (repo / "mine").write_text("")
    (repo / "other").write_text("")
    with pytest.raises(ExecutionFailed, match="nobody is named"):
        await tools("commit", repo_path="r", message="m", paths=["mine"])
    git(repo, "add", "mine")  # or it was staged already when it failed
    await tools("commit", repo_path="r", message="m", paths=["other"], **WHO)
    assert committed(repo) == ["A\tother"]


@requirement("GIT-03")
async def test_nothing_of_these_paths_is_nothing_to_commit(tools: Tools, repo: Path) -> None:
    (repo / "theirs").write_text("")
    git(repo, "add", "theirs")
    (repo / "b.txt").write_text("staged\n")
    git(repo, "add", "b.txt")
    (repo / "b.txt").write_text("b\n")
    with pytest.raises(ExecutionFailed, match="nothing to commit"):
        await tools("commit", repo_path="r", message="m", paths=["b.txt"], **WHO)
    assert status(repo) == ["A  theirs"]


@requirement("GIT-03", "GIT-04")
async def test_a_merge_is_committed_as_a_whole(tools: Tools, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "topic")
    save(repo, a_txt="theirs\n", b_txt="theirs\n")
    git(repo, "switch", "--quiet", "main")
    save(repo, a_txt="ours\n")
    git(repo, "merge", "--quiet", "topic", ok=False)
    (repo / "a.txt").write_text("both\n")
    with pytest.raises(ExecutionFailed, match="a merge is not finished here"):
        await tools("commit", repo_path="r", message="half", paths=["a.txt"], **WHO)
    assert (repo / ".git" / "MERGE_HEAD").exists()
    await tools("commit", repo_path="r", message="merged", paths=[], **WHO)
    assert len(said(repo, "log", "-1", "--format=%P").split()) == 2
    assert status(repo) == []


@requirement("GIT-03", "GIT-04")
async def test_conflicts_in_other_files_stop_it(tools: Tools, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "topic")
    save(repo, a_txt="theirs\n")
    git(repo, "switch", "--quiet", "main")
    save(repo, a_txt="ours\n")
    git(repo, "merge", "--quiet", "topic", ok=False)
    (repo / "new").write_text("")
    with pytest.raises(ExecutionFailed, match=r"conflicts are not resolved: a\.txt"):
        await tools("commit", repo_path="r", message="half", paths=["new"], **WHO)


@requirement("GIT-03", "GIT-04")
async def test_hooks_of_a_trusted_repository_see_what_is_committed(trusting: Tools, repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only > seen\n")
    hook.chmod(0o755)
    (repo / ".gitignore").write_text("seen\n")
    save(repo)
    for name in ("mine", "theirs"):
        (repo / name).write_text("")
    git(repo, "add", "theirs")
    await trusting("commit", repo_path="r", message="mine", paths=["mine"], **WHO)
    assert (repo / "seen").read_text() == "mine\n"
    assert status(repo) == ["A  theirs"]


@requirement("GIT-03", "GIT-04")
async def test_what_one_that_was_killed_left_is_no_obstacle(tools: Tools, repo: Path) -> None:
    for name in (INDEX, f"{INDEX}.lock"):
        (repo / ".git" / name).write_text("left")
    for name in ("mine", "theirs"):
        (repo / name).write_text("")
    git(repo, "add", "theirs")
    await tools("commit", repo_path="r", message="mine", paths=["mine"], **WHO)
    assert committed(repo) == ["A\tmine"]
