"""Answers to what makes no sense, or not what it seems to: clear ones."""

from pathlib import Path

import pytest

from clawft.errors import ExecutionFailed, InvalidArguments
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

WHO = {"author_name": NAME, "author_email": EMAIL}


@requirement("GIT-08", "GIT-10")
@pytest.mark.usefixtures("repo")
async def test_a_log_of_what_is_no_commit_is_an_error(tools: Tools) -> None:
    for revision in ("HEAD^{tree}", "HEAD:a.txt"):
        with pytest.raises(InvalidArguments, match="is no commit"):
            await tools("log", repo_path="r", revision=revision)
    for revision, path in (("HEAD..HEAD", ""), ("HEAD", "nope"), ("^HEAD", "")):
        assert (await tools("log", repo_path="r", revision=revision, path=path))["result"] == []


@requirement("GIT-06", "GIT-10")
@pytest.mark.usefixtures("repo")
async def test_a_diff_of_a_file_of_a_commit_is_a_clear_error(tools: Tools) -> None:
    with pytest.raises(ExecutionFailed, match="the revision names no commit") as refused:
        await tools("diff", repo_path="r", revision="HEAD:a.txt")
    assert "git__show" in refused.value.hint
    assert (await tools("diff", repo_path="r", revision="HEAD~1^{tree}"))["files"] == 1


@requirement("GIT-07", "GIT-10")
async def test_a_blame_before_the_first_commit_says_so(tools: Tools, workspace: Path) -> None:
    (new(workspace / "n") / "a").write_text("")
    with pytest.raises(ExecutionFailed, match="the repository has no commits yet"):
        await tools("blame", repo_path="n", file_path="a")


@requirement("GIT-07", "GIT-10")
@pytest.mark.parametrize("whole", [".", "./", "./."])
async def test_a_blame_of_a_whole_workspace_says_that_it_is_no_file(tools: Tools, workspace: Path, whole: str) -> None:
    save(new(workspace), a_txt="text")
    with pytest.raises(InvalidArguments, match="git has no file"):
        await tools("blame", repo_path=".", file_path=whole)


@requirement("GIT-04")
async def test_a_repository_within_is_told_of_when_it_is_taken_in(tools: Tools, repo: Path) -> None:
    for name in ("one", "two"):
        save(new(repo / name), n_txt="")
    added = await tools("add", repo_path="r", paths=["one"])
    assert added == {"paths": ["one"], "embedded": ["one"]}
    (repo / "a.txt").write_text("")
    whole = await tools.whole("commit", repo_path="r", message="all", **WHO)
    assert whole.structured_content is not None
    assert whole.structured_content["embedded"] == ["two"]
    assert "only the commit of each repository in two" in whole.content[0]["text"]
    kinds = [(line.split()[1], line.split()[3]) for line in said(repo, "ls-tree", "HEAD").splitlines()]
    assert kinds[2:] == [("commit", "one"), ("commit", "two")]
    save(repo / "two", n_txt="more")
    assert "embedded" not in await tools("commit", repo_path="r", message="moved", **WHO)  # it is known by now


@requirement("GIT-12")
async def test_a_path_that_looks_like_an_option_is_told_how_it_is_written(tools: Tools, repo: Path) -> None:
    (repo / "-dash").write_text("")
    with pytest.raises(InvalidArguments, match="could take it for an option") as refused:
        await tools("add", repo_path="r", paths=["-dash"])
    assert "'./-dash'" in refused.value.hint
    assert await tools("add", repo_path="r", paths=["./-dash"]) == {"paths": ["-dash"]}
    assert git(repo, "diff", "--cached", "--name-only") == b"-dash\n"
