"""The tools beyond the seven."""

from pathlib import Path

import pytest

from clawft.builtin.git import GitSettings, git_tools
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied
from clawft.provider.function import FunctionProvider, definition_of
from tests.builtin.build.trusting import Listener, call_as
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

WHO = {"author_name": NAME, "author_email": EMAIL}


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody to stash and tag as."""
    monkeypatch.setenv("GIT_AUTHOR_NAME", NAME)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", EMAIL)


@pytest.fixture
def copy(workspace: Path, repo: Path) -> Path:
    """A clone of a bare repository made from `r`; both inside the workspace."""
    git(workspace, "clone", "--quiet", "--bare", "r", "origin.git")
    git(workspace, "clone", "--quiet", "origin.git", "copy")
    return workspace / "copy"


@requirement("GIT-01")
def test_annotations_are_honest() -> None:
    hints = {definition_of(each).name: definition_of(each).tool.annotations for each in git_tools(GitSettings())}
    reading = {name for name, hint in hints.items() if hint.read_only_hint}
    assert reading == {"branch", "diff", "blame", "log", "status", "show", "conflicts"}
    losing = {name for name, hint in hints.items() if hint.destructive_hint}
    assert losing == {"restore", "push", "stash", "worktree", "tag"}
    far = {name for name, hint in hints.items() if hint.open_world_hint}
    assert far == {"clone", "fetch", "pull", "push"}


@requirement("GIT-01", "GIT-06")
async def test_show_tells_a_commit_a_merge_and_a_file(tools: Tools, repo: Path) -> None:
    shown = await tools("show", repo_path="r")
    assert shown["commit"]["message"] == "second\n\nand its reason"
    assert [(each["new_file"], each["additions"], each["deletions"]) for each in shown["result"]] == [("a.txt", 1, 0)]
    first = await tools("show", repo_path="r", revision="HEAD~1", hunks=False)
    assert [each["status"] for each in first["result"]] == ["Added", "Added"]
    assert (await tools("show", repo_path="r", revision="HEAD~1", file_path="a.txt"))["content"] == "one\ntwo\n"
    with pytest.raises(InvalidArguments, match="no file 'nope'"):
        await tools("show", repo_path="r", file_path="nope")
    git(repo, "switch", "--quiet", "--create", "topic", "HEAD~1")
    save(repo, c_txt="c\n")
    git(repo, "merge", "--quiet", "--no-edit", "main")
    merged = await tools("show", repo_path="r")
    assert len(merged["commit"]["parents"]) == 2
    assert [each["new_file"] for each in merged["result"]] == ["a.txt"]
    (repo / "bin").write_bytes(b"\0")
    save(repo)
    with pytest.raises(ExecutionFailed, match="binary file of 1 bytes"):
        await tools("show", repo_path="r", file_path="bin")


@requirement("GIT-04", "GIT-09")
async def test_add_and_restore(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("changed\n")
    (repo / "b.txt").unlink()
    (repo / "d").mkdir()
    (repo / "d" / "new*").write_text("")
    assert await tools("add", repo_path="r", paths=["a.txt", "d"]) == {"paths": ["a.txt", "d/new*"]}
    assert said(repo, "diff", "--cached", "--name-only") == "a.txt\nd/new*"
    await tools("add", repo_path="r", paths=["."])
    assert said(repo, "diff", "--cached", "--name-status") == "M\ta.txt\nD\tb.txt\nA\td/new*"
    await tools("restore", repo_path="r", paths=["."], staged=True)
    assert said(repo, "diff", "--cached", "--name-only") == ""
    assert (repo / "a.txt").read_text() == "changed\n"
    await tools("restore", repo_path="r", paths=["a.txt", "b.txt"])
    assert said(repo, "status", "--porcelain") == "?? d/"
    await tools("restore", repo_path="r", paths=["a.txt"], source="HEAD~1")
    assert (repo / "a.txt").read_text() == "one\ntwo\n"
    with pytest.raises(InvalidArguments, match="git has no such file there: nope"):
        await tools("restore", repo_path="r", paths=["nope"])
    with pytest.raises(InvalidArguments, match="git has no such file"):
        await tools("restore", repo_path="r", paths=["*.txt"])
    with pytest.raises(InvalidArguments, match="nothing to stage at ':"):
        await tools("add", repo_path="r", paths=[":(top)b.txt"])


@requirement("GIT-04")
async def test_unstaging_before_the_first_commit(tools: Tools, workspace: Path) -> None:
    repo = new(workspace / "n")
    (repo / "a").write_text("")
    await tools("add", repo_path="n", paths=["a"])
    await tools("restore", repo_path="n", paths=["a"], staged=True)
    assert said(repo, "status", "--porcelain") == "?? a"


@requirement("GIT-05")
async def test_switch(tools: Tools, repo: Path) -> None:
    head, first = said(repo, "rev-parse", "HEAD"), said(repo, "rev-parse", "HEAD~1")
    done = await tools("switch", repo_path="r", branch="topic", create=True, start="HEAD~1")
    assert done == {"branch": "topic", "head": first}
    assert await tools("switch", repo_path="r", branch="main") == {"branch": "main", "head": head}
    assert await tools("switch", repo_path="r", branch="HEAD~1", detach=True) == {"branch": None, "head": first}
    assert said(repo, "status", "--branch", "--porcelain") == "## HEAD (no branch)"
    (repo / "a.txt").write_text("mine\n")
    with pytest.raises(ExecutionFailed, match="local changes would be lost"):
        await tools("switch", repo_path="r", branch="main")
    assert (repo / "a.txt").read_text() == "mine\n"
    with pytest.raises(InvalidArguments, match="exclude each other"):
        await tools("switch", repo_path="r", branch="x", create=True, detach=True)


@requirement("GIT-12")
async def test_fetch_tells_what_moved(tools: Tools, workspace: Path, repo: Path, copy: Path) -> None:
    old = said(repo, "rev-parse", "HEAD")
    assert (await tools("fetch", repo_path="copy"))["updated"] == []
    new_head = save(repo, a_txt="new\n")
    git(repo, "push", "--quiet", str(workspace / "origin.git"), "main", "main:topic")
    assert await tools("fetch", repo_path="copy") == {
        "remote": "origin",
        "updated": [
            {"ref": "refs/remotes/origin/main", "old": old, "new": new_head},
            {"ref": "refs/remotes/origin/topic", "old": None, "new": new_head},
        ],
    }
    git(workspace / "origin.git", "branch", "-D", "topic")
    assert (await tools("fetch", repo_path="copy", prune=True))["updated"] == [
        {"ref": "refs/remotes/origin/topic", "old": new_head, "new": None}
    ]
    with pytest.raises(ExecutionFailed, match="the remote has no branch"):
        await tools("fetch", repo_path="copy", branch="nope")


@requirement("GIT-12")
async def test_pull_goes_forward_merges_or_leaves_everything(
    tools: Tools, workspace: Path, repo: Path, copy: Path
) -> None:
    def publish(**files: str) -> str:
        head = save(repo, **files)
        git(repo, "push", "--quiet", str(workspace / "origin.git"), "main")
        return head

    before = said(copy, "rev-parse", "HEAD")
    head = publish(a_txt="forward\n")
    assert await tools("pull", repo_path="copy") == {"before": before, "after": head}
    assert (await tools.whole("pull", repo_path="copy")).content[0]["text"] == "already up to date"
    own = save(copy, own="mine\n")
    publish(b_txt="theirs\n")
    with pytest.raises(ExecutionFailed, match="histories have diverged"):
        await tools("pull", repo_path="copy")
    await tools("pull", repo_path="copy", ff_only=False, **WHO)
    assert said(copy, "rev-parse", "HEAD^1") == own
    own = save(copy, a_txt="ours\n")
    publish(a_txt="theirs\n")
    assert await tools("pull", repo_path="copy", ff_only=False, **WHO) == {
        "before": own,
        "after": own,
        "conflicts": ["a.txt"],
        "undone": True,
    }
    assert said(copy, "status", "--porcelain") == ""
    kept = await tools("pull", repo_path="copy", ff_only=False, keep_conflicts=True, **WHO)
    assert (kept["conflicts"], "undone" in kept) == (["a.txt"], False)


@requirement("GIT-12")
async def test_conflicts_show_the_three_sides_until_they_are_resolved(tools: Tools, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "topic")
    save(repo, a_txt="theirs\n", n_txt="their new\n")
    git(repo, "rm", "--quiet", "b.txt")
    save(repo)
    git(repo, "switch", "--quiet", "main")
    save(repo, a_txt="ours\n", n_txt="our new\n", b_txt="our b\n")
    assert await tools("conflicts", repo_path="r") == {"result": []}
    git(repo, "merge", "--quiet", "topic", ok=False)
    found = await tools("conflicts", repo_path="r", contents=True)
    assert found["state"] == "merge"
    sides = {
        each["path"]: {side: each[side].get("content") for side in ("base", "ours", "theirs") if side in each}
        for each in found["result"]
    }
    assert sides == {
        "a.txt": {"base": "one\ntwo\nthree\n", "ours": "ours\n", "theirs": "theirs\n"},
        "b.txt": {"base": "b\n", "ours": "our b\n"},
        "n.txt": {"ours": "our new\n", "theirs": "their new\n"},
    }
    for name in sides:
        (repo / name).write_text("resolved\n")
    with pytest.raises(ExecutionFailed, match="conflicts are not resolved"):
        await tools("commit", repo_path="r", message="m", paths=[], **WHO)
    await tools("add", repo_path="r", paths=["a.txt", "b.txt", "n.txt"])
    await tools("commit", repo_path="r", message="merged", paths=[], **WHO)
    assert said(repo, "log", "-1", "--format=%s %P").count(" ") == 2
    assert await tools("conflicts", repo_path="r") == {"result": []}


@requirement("GIT-12")
async def test_push_by_default_and_by_force_with_a_lease(trusting: Tools, workspace: Path, copy: Path) -> None:
    origin = workspace / "origin.git"
    head = save(copy, a_txt="pushed\n")
    done = await trusting("push", repo_path="copy")
    assert done["refs"][0]["status"] == "updated"
    assert said(origin, "rev-parse", "main") == head
    assert (await trusting("push", repo_path="copy"))["refs"][0]["status"] == "unchanged"
    git(copy, "commit", "--quiet", "--amend", "--message", "other")
    amended = said(copy, "rev-parse", "HEAD")
    with pytest.raises(ExecutionFailed, match="histories have diverged"):
        await trusting("push", repo_path="copy")
    with pytest.raises(ExecutionFailed, match="has moved since"):
        await trusting("push", repo_path="copy", force=True, expected="0" * 40)
    assert said(origin, "rev-parse", "main") == head
    assert (await trusting("push", repo_path="copy", force=True))["refs"][0]["status"] == "forced"
    assert said(origin, "rev-parse", "main") == amended
    git(workspace, "clone", "--quiet", "origin.git", "third")
    moved = save(workspace / "third", b_txt="by another\n")
    git(workspace / "third", "push", "--quiet")
    git(copy, "commit", "--quiet", "--amend", "--message", "again")
    with pytest.raises(ExecutionFailed, match="has moved since the last fetch"):
        await trusting("push", repo_path="copy", force=True)
    assert said(origin, "rev-parse", "main") == moved


@requirement("GIT-12")
async def test_push_and_force_need_a_word_of_the_user(workspace: Path, copy: Path) -> None:
    def granting(*what: str) -> FunctionProvider:
        settings = GitSettings(trusted=lambda place: True, granted=what)
        return Tools(workspace, settings).provider

    head = save(copy, a_txt="mine\n")
    with pytest.raises(
        PermissionDenied, match=r"sends refs/heads/main to 'origin', which nobody has allowed"
    ) as denied:
        await granting().call_tool("push", {"repo_path": "copy"})
    assert 'add "push" to git.allow' in denied.value.hint
    with pytest.raises(PermissionDenied, match="commits can be lost"):
        await granting("push").call_tool("push", {"repo_path": "copy", "force": True})
    assert said(workspace / "origin.git", "rev-parse", "main") != head

    person = Listener({"action": "accept", "content": {"allow": False}})
    with pytest.raises(PermissionDenied):
        await call_as(person, granting(), "push", can_answer=True, repo_path="copy")
    assert person.asked[0].params["message"].startswith("git push sends refs/heads/main")
    person = Listener({"action": "accept", "content": {"allow": True}})
    await call_as(person, granting(), "push", can_answer=True, repo_path="copy")
    assert said(workspace / "origin.git", "rev-parse", "main") == head

    (copy / "a.txt").write_text("not committed\n")
    git(copy, "worktree", "add", "--quiet", "../tree")
    (workspace / "tree" / "a.txt").write_text("not committed\n")
    with pytest.raises(PermissionDenied, match="removes 'tree' with what was not committed"):
        await granting().call_tool("worktree", {"repo_path": "copy", "action": "remove", "path": "tree", "force": True})
    assert (workspace / "tree" / "a.txt").exists()


@requirement("GIT-12")
async def test_push_of_new_branches_and_tags(trusting: Tools, workspace: Path, copy: Path) -> None:
    origin = workspace / "origin.git"
    git(copy, "branch", "topic")
    git(copy, "tag", "v1")
    assert (await trusting("push", repo_path="copy", branch="topic", set_upstream=True))["refs"][0]["status"] == "new"
    assert said(copy, "rev-parse", "--abbrev-ref", "topic@{upstream}") == "origin/topic"
    assert (await trusting("push", repo_path="copy", tag="v1"))["refs"] == [
        {"ref": "refs/tags/v1", "status": "new", "summary": "[new tag]"}
    ]
    assert said(origin, "tag") == "v1"
    with pytest.raises(ExecutionFailed):
        await trusting("push", repo_path="copy", branch="nope")
    git(copy, "switch", "--quiet", "--detach")
    with pytest.raises(ExecutionFailed, match="no branch is checked out"):
        await trusting("push", repo_path="copy")


@requirement("GIT-12")
async def test_a_push_to_a_repository_here_needs_trust_in_both(workspace: Path, copy: Path) -> None:
    """Its hooks would run, and nobody approved them."""
    real = workspace.resolve()
    for trusted in ({real / "copy"}, {real / "origin.git"}):
        tools = Tools(workspace, GitSettings(trusted=lambda place, trusted=trusted: place in trusted))
        with pytest.raises(PermissionDenied, match="would start that repository's hooks"):
            await tools("push", repo_path="copy")


@requirement("GIT-09")
@pytest.mark.usefixtures("named")
async def test_stash_push_pop_and_drop(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("aside\n")
    (repo / "new").write_text("")
    [entry] = (await tools("stash", repo_path="r", action="push", message="for later"))["result"]
    assert (entry["index"], entry["message"]) == (0, "On main: for later")
    assert said(repo, "status", "--porcelain") == "?? new"
    await tools("stash", repo_path="r", action="push", include_untracked=True)
    assert not (repo / "new").exists()
    await tools("stash", repo_path="r", action="pop")
    assert (repo / "new").exists()
    await tools("stash", repo_path="r", action="apply")
    assert (repo / "a.txt").read_text() == "aside\n"
    assert (await tools("stash", repo_path="r", action="drop"))["result"] == []
    with pytest.raises(ExecutionFailed):
        await tools("stash", repo_path="r", action="pop")


@requirement("GIT-03")
async def test_a_stash_needs_nobody_to_be_named(tools: Tools, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stasher() -> str:
        (repo / "a.txt").write_text("changed\n")
        await tools("stash", repo_path="r", action="push")
        who = said(repo, "log", "-1", "--format=%an <%ae> %cn <%ce>", "refs/stash")
        await tools("stash", repo_path="r", action="pop")
        return who

    assert await stasher() == "git stash <git@stash> git stash <git@stash>"
    assert (repo / "a.txt").read_text() == "changed\n"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    assert await stasher() == "Ada <git@stash> Ada <git@stash>"
    git(repo, "config", "user.email", "l@x")
    assert await stasher() == "Ada <l@x> Ada <l@x>"


@requirement("GIT-10")
async def test_an_annotated_tag_says_where_git_looks_for_who_makes_it(tools: Tools, repo: Path) -> None:
    with pytest.raises(ExecutionFailed, match=r"no user\.name and no user\.email") as failed:
        await tools("tag", repo_path="r", action="create", name="v1", message="one")
    assert "git config user.name" in failed.value.hint
    assert "author_name" not in f"{failed.value.message} {failed.value.hint}"
    git(repo, "config", "user.name", "Local")
    git(repo, "config", "user.email", "l@x")
    await tools("tag", repo_path="r", action="create", name="v1", message="one")
    assert said(repo, "for-each-ref", "--format=%(taggername)", "refs/tags/v1") == "Local"


@requirement("GIT-09")
@pytest.mark.usefixtures("named")
async def test_a_stash_that_conflicts_is_kept(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("aside\n")
    await tools("stash", repo_path="r", action="push")
    save(repo, a_txt="other\n")
    done = await tools("stash", repo_path="r", action="pop")
    assert (done["conflicts"], len(done["result"])) == (["a.txt"], 1)


@requirement("GIT-12")
async def test_worktrees_are_made_listed_and_removed(tools: Tools, workspace: Path, repo: Path) -> None:
    done = await tools("worktree", repo_path="r", action="add", path="trees/topic", branch="topic", start="HEAD~1")
    assert [(each["path"], each["branch"]) for each in done["result"]] == [("r", "main"), ("trees/topic", "topic")]
    assert said(workspace / "trees/topic", "log", "--format=%s") == "first"
    (workspace / "trees/topic/new").write_text("")
    with pytest.raises(ExecutionFailed, match="contains modified or untracked files"):
        await tools("worktree", repo_path="r", action="remove", path="trees/topic")
    await tools("worktree", repo_path="r", action="remove", path="trees/topic", force=True)
    assert not (workspace / "trees/topic").exists()
    again = await tools("worktree", repo_path="r", action="add", path="again", branch="topic")
    assert again["result"][1]["branch"] == "topic"
    alone = await tools("worktree", repo_path="r", action="add", path="alone")
    assert "branch" not in alone["result"][1 if alone["result"][1]["path"] == "alone" else 2]
    with pytest.raises(InvalidArguments, match="missing 'path'"):
        await tools("worktree", repo_path="r", action="add")
    with pytest.raises(ExecutionFailed, match="'again' exists"):
        await tools("worktree", repo_path="r", action="add", path="again", branch="x")


@requirement("GIT-12")
@pytest.mark.usefixtures("named")
async def test_tags(tools: Tools, repo: Path) -> None:
    head, first = said(repo, "rev-parse", "HEAD"), said(repo, "rev-parse", "HEAD~1")
    assert await tools("tag", repo_path="r", action="create", name="v1", revision="HEAD~1") == {
        "result": [{"name": "v1", "oid": first}]
    }
    await tools("tag", repo_path="r", action="create", name="v2", message="the second\n\nand more")
    assert (await tools("tag", repo_path="r"))["result"] == [
        {"name": "v1", "oid": first},
        {"name": "v2", "oid": head, "message": "the second"},
    ]
    assert said(repo, "cat-file", "-t", "v2") == "tag"
    with pytest.raises(ExecutionFailed, match="already exists"):
        await tools("tag", repo_path="r", action="create", name="v1")
    await tools("tag", repo_path="r", action="delete", name="v1")
    assert [each["name"] for each in (await tools("tag", repo_path="r", name="v"))["result"]] == ["v2"]
    with pytest.raises(InvalidArguments, match="missing 'name'"):
        await tools("tag", repo_path="r", action="delete")
