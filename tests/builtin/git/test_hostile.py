"""A poisoned repository starts nothing, whatever tool looks at it, until a person approved it."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.git import GitSettings
from clawft.builtin.git.family import PARTIAL_TOOLS
from clawft.builtin.git.hostile_config import FIXED, GitWork, find, forms, read_listing
from clawft.builtin.git.program import SHAPE
from clawft.builtin.git.program import environment as git_environment
from clawft.builtin.git.run import RunPurpose
from clawft.builtin.git.settings import Bounds
from clawft.errors import ExecutionFailed, PermissionDenied, ToolError
from tests.builtin.git.plain import EMAIL, GRANTED, NAME, Tools, environment, git, said
from tests.builtin.git.poison import REFUSED_KEYS, Poisoned, add_key
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

WHO = {"author_name": NAME, "author_email": EMAIL}

CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("status", {}, "done"),
    ("diff", {}, "done"),
    ("diff", {"scope": "staged"}, "done"),
    ("diff", {"scope": "unstaged"}, "done"),
    ("diff", {"revision": "HEAD~1", "hunks": False}, "done"),
    ("diff", {"revision": "HEAD~2..HEAD"}, "done"),
    ("log", {"max_count": 1}, "done"),
    ("log", {"path": "a.txt"}, "done"),
    ("blame", {"file_path": "a.txt"}, "done"),
    ("blame", {"file_path": "a.txt", "revision": "HEAD~1"}, "done"),
    ("branch", {}, "done"),
    ("show", {}, "done"),
    ("show", {"file_path": "a.txt"}, "done"),
    ("conflicts", {"contents": True}, "done"),
    ("commit", {"message": "m", **WHO}, "is to pass the filter 'evil'"),
    ("commit", {"message": "m", "paths": ["b.bin"], **WHO}, "done"),
    ("commit", {"message": "m", "paths": ["sub"], **WHO}, "nothing to stage"),
    ("add", {"paths": ["a.txt"]}, "is to pass the filter 'evil'"),
    ("add", {"paths": ["c.dat"]}, "is to pass the filter 'long'"),
    ("add", {"paths": ["b.bin", ".gitattributes"]}, "done"),
    ("restore", {"paths": ["."]}, "done"),
    ("restore", {"paths": ["."], "staged": True}, "done"),
    ("restore", {"paths": ["a.txt"], "source": "HEAD~2"}, "done"),
    ("switch", {"branch": "n", "create": True}, "done"),
    ("switch", {"branch": "other"}, "local changes would be lost"),
    ("switch", {"branch": "HEAD~1", "detach": True}, "done"),
    ("fetch", {}, "done"),
    ("pull", {}, "done"),
    ("pull", {"ff_only": False, **WHO}, "done"),
    ("push", {}, "would start that repository's hooks"),
    ("stash", {"action": "push"}, "done"),
    ("stash", {}, "done"),
    ("worktree", {"action": "add", "path": "second", "branch": "w"}, "done"),
    ("worktree", {}, "done"),
    ("tag", {"action": "create", "name": "t"}, "done"),
    ("tag", {"action": "create", "name": "t", "message": "m"}, "git does not know who you are"),
    ("tag", {}, "done"),
)


@pytest.fixture
def tools(workspace: Path) -> Tools:
    """Without a cell: what git is told has to hold by itself, and in a cell the poison could leave no mark."""
    return Tools(workspace, GitSettings(granted=GRANTED, sandbox="off"))


@pytest.fixture
def poisoned(workspace: Path) -> Poisoned:
    return Poisoned(workspace, workspace / "poison")


def plainly(repo: Path, *args: str) -> None:
    """As an unsuspecting tool would run it."""
    subprocess.run(
        ["git", "-C", str(repo), *args],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )


@requirement("GIT-12")
def test_without_the_defence_the_poison_works(poisoned: Poisoned) -> None:
    """Else the tests below would prove nothing."""
    everyday = (
        ("status",),
        ("diff", "--", "b.bin"),
        ("diff",),
        ("diff", "--no-ext-diff", "--submodule=diff"),
        ("log", "-p", "-3"),
        ("blame", "--", "a.txt"),
        ("add", "--all"),
        ("commit", "--quiet", "--no-gpg-sign", "--message", "m"),
        ("switch", "--quiet", "--create", "n"),
        ("fetch", "origin"),
    )
    for args in everyday:
        plainly(poisoned.repo, *args)
    git(poisoned.repo, "config", "--unset", "filter.long.process")  # this one stops git where it stands
    for args in everyday:
        plainly(poisoned.repo, *args)
    assert poisoned.started() >= {
        "fsmonitor",
        "clean",
        "smudge",
        "textconv",
        "diff-command",
        "process",
        "sub-fsmonitor",
        "sub-clean",
        "hook-post-index-change",
        "hook-pre-commit",
        "hook-post-checkout",
        "hook-reference-transaction",
    }  # fmt: skip - a list of words


@requirement("GIT-12")
@pytest.mark.parametrize(("name", "arguments", "outcome"), CALLS, ids=lambda value: str(value)[:40])
async def test_no_tool_starts_anything(
    tools: Tools, poisoned: Poisoned, name: str, arguments: dict[str, Any], outcome: str
) -> None:
    """And what can be done safely is done."""
    try:
        await tools(name, repo_path="poisoned", **arguments)
        told = "done"
    except ToolError as refused:
        told = str(refused)
    assert poisoned.started() == set()
    assert outcome in told


@requirement("GIT-12")
def test_every_tool_is_tried_on_the_poison() -> None:
    assert {partial_tool.name for partial_tool in PARTIAL_TOOLS} - {name for name, _, _ in CALLS} == {"clone"}


@requirement("GIT-12", "GIT-02")
async def test_cloning_it_starts_nothing(tools: Tools, poisoned: Poisoned, workspace: Path) -> None:
    await tools("clone", url="poisoned", target_path="copy")
    assert poisoned.started() == set()
    assert not (workspace / "copy/.git/hooks").exists()
    await tools("status", repo_path="copy")
    assert poisoned.started() == set()


@requirement("GIT-12")
async def test_stashes_come_and_go_without_starting_anything(tools: Tools, poisoned: Poisoned) -> None:
    git(poisoned.repo, "config", "--file", str(poisoned.repo / ".git/config"), "user.name", NAME)
    git(poisoned.repo, "config", "--file", str(poisoned.repo / ".git/config"), "user.email", EMAIL)
    poisoned.forget()
    await tools("stash", repo_path="poisoned", action="push", message="aside", include_untracked=True)
    assert (poisoned.repo / "b.bin").read_text() == "x\n"
    await tools("stash", repo_path="poisoned", action="pop")
    assert (poisoned.repo / "b.bin").read_text() == "y\n"
    await tools("tag", repo_path="poisoned", action="create", name="t", message="annotated")
    await tools("worktree", repo_path="poisoned", action="add", path="second", branch="w")
    await tools("status", repo_path="second")
    await tools("worktree", repo_path="poisoned", action="remove", path="second", force=True)
    assert poisoned.started() == set()


@requirement("GIT-12")
@pytest.mark.parametrize("key", REFUSED_KEYS)
async def test_what_cannot_be_made_harmless_is_refused_by_name(tools: Tools, repo: Path, key: str) -> None:
    git(repo, "remote", "add", "origin", str(repo.parent / "nowhere"))
    add_key(repo, key, "/bin/false")
    first, *middle, last = key.split(".")
    lowered = ".".join((first.lower(), *middle, last.lower()))
    with pytest.raises(PermissionDenied, match="not trusted") as refused:
        await tools("pull", repo_path="r", ff_only=False, **WHO)
    assert f"'{lowered}'" in str(refused.value)
    assert ".clawft/trusted" in refused.value.hint


@requirement("GIT-12")
async def test_what_only_matters_elsewhere_does_not_stop_a_look(tools: Tools, repo: Path) -> None:
    add_key(repo, "http.proxy", "http://evil.example")
    add_key(repo, "merge.evil.driver", "evil")
    assert (await tools("status", repo_path="r"))["branch"] == "main"
    add_key(repo, "include.path", "/nowhere")
    with pytest.raises(PermissionDenied, match=r"'include\.path'"):
        await tools("status", repo_path="r")


@requirement("GIT-12")
async def test_a_change_of_the_configuration_is_seen_at_once(tools: Tools, poisoned: Poisoned) -> None:
    """What was found out about a repository is remembered only as long as it is true."""
    await tools("status", repo_path="poisoned")
    config = poisoned.repo / ".git/config"
    old = config.stat()
    add_key(poisoned.repo, "filter.late.clean", poisoned.program("late"))
    os.utime(config, ns=(old.st_atime_ns, old.st_mtime_ns))
    (poisoned.repo / ".git/info/attributes").write_text("*.txt filter=late\n")
    await tools("diff", repo_path="poisoned")
    assert poisoned.started() == set()


@requirement("GIT-12")
async def test_in_a_trusted_repository_everything_works_as_usual(
    trusting: Tools, poisoned: Poisoned, workspace: Path
) -> None:
    for key in ("commit.gpgSign", "filter.long.process", "filter.evil.required"):
        git(poisoned.repo, "config", "--file", str(poisoned.repo / ".git/config"), "--unset-all", key)
    poisoned.forget()
    await trusting("commit", repo_path="poisoned", message="m", paths=["a.txt"], **WHO)
    assert poisoned.started() >= {"clean", "hook-pre-commit", "hook-commit-msg", "hook-post-commit"}


@requirement("GIT-12")
async def test_trust_is_asked_for_the_work_tree_and_for_where_its_repository_is(workspace: Path, repo: Path) -> None:
    asked: list[Path] = []

    def trusted(place: Path) -> bool:
        asked.append(place)
        return True

    git(repo, "worktree", "add", "--quiet", str(workspace / "second"))
    tools = Tools(workspace, GitSettings(trusted=trusted))
    await tools("status", repo_path="r")
    await tools("status", repo_path="second")
    real = workspace.resolve()
    assert asked == [real / "r", real / "second", real / "r/.git"]


@requirement("GIT-12")
async def test_missing_objects_are_not_fetched_behind_our_back(tools: Tools, poisoned: Poisoned, repo: Path) -> None:
    """A partial clone makes git fetch while it reads, by a program its configuration names."""
    add_key(repo, "core.repositoryFormatVersion", "1")
    add_key(repo, "extensions.partialClone", "evil")
    add_key(repo, "remote.evil.url", str(repo.parent / "origin.git"))
    add_key(repo, "remote.evil.promisor", "true")
    add_key(repo, "remote.evil.uploadpack", poisoned.program("uploadpack", "exit 1"))
    blob = said(repo, "rev-parse", "HEAD:a.txt")
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    poisoned.forget()
    plainly(repo, "show", "HEAD:a.txt")
    assert poisoned.started() == {"uploadpack"}
    poisoned.forget()
    with pytest.raises(ToolError):
        await tools("show", repo_path="r", file_path="a.txt")
    assert poisoned.started() == set()


@requirement("GIT-12")
async def test_no_git_of_the_repositorys_own_is_run(
    tools: Tools, poisoned: Poisoned, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PATH with a relative place in it would find one there."""
    shutil.copy(poisoned.program("own-git", "exit 1"), repo / "git")
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    await tools("status", repo_path="r")
    await tools("fetch", repo_path="poisoned")
    assert poisoned.started() == set()


@requirement("GIT-12")
def test_listings_are_read_by_scope_and_name() -> None:
    listing = (
        b"global\0filter.own.clean\nx\0local\0filter.A b.clean\nmany\nlines\0worktree\0hook.x.command\0local\0a.b\n\0"
    )
    keys = read_listing(listing)
    assert keys == ["filter.A b.clean", "hook.x.command", "a.b"]
    found = find(keys)
    assert found.overridden == {"filter.A b.clean": ""}
    assert found.refused == {"hook.x.command": GitWork.LOOK}
    assert forms("filter.a.b.clean") == ("filter.a.b.clean", "filter.*.clean", "filter.*")


# ── a repository that is made to use up the machine ──────────────────────────────────────────────────────────────────

MEMORY = 256 * 1024 * 1024


@pytest.fixture
def bounded(workspace: Path) -> Tools:
    return Tools(workspace, GitSettings(bounds=Bounds(seconds=20.0, memory_bytes=MEMORY)))


@requirement("GIT-12")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("diff.orderFile", "/dev/zero"),
        ("diff.x.xfuncname", "((a{1,255}){1,255}){1,255}"),
        ("diff.x.funcname", r"\(\(a\{1,255\}\)\{1,255\}\)\{1,255\}"),
    ],
)
async def test_configuration_that_never_ends_is_not_read(bounded: Tools, repo: Path, key: str, value: str) -> None:
    git(repo, "config", key, value)
    (repo / ".gitattributes").write_text("* diff=x\n")
    (repo / "a.txt").write_text("else\n")
    for tool, arguments in (("status", {}), ("diff", {}), ("show", {})):
        await bounded(tool, repo_path="r", **arguments)


@requirement("GIT-12")
async def test_a_list_of_ignored_files_that_nobody_writes_is_not_waited_for(bounded: Tools, repo: Path) -> None:
    os.mkfifo(repo / "never")
    git(repo, "config", "core.excludesFile", str(repo / "never"))
    async with asyncio.timeout(20):
        await bounded("status", repo_path="r")


@requirement("GIT-12")
@pytest.mark.parametrize(("key", "kept"), [("checkout.workers", "1"), ("pack.threads", "0")])
def test_the_repository_does_not_say_how_many_work_for_it(repo: Path, key: str, kept: str) -> None:
    git(repo, "config", key, "5000")
    env = git_environment(GitSettings(), RunPurpose(trusted=False), config={**SHAPE, **FIXED})
    asked = subprocess.run(["git", "config", key], cwd=repo, env=env, capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == kept


@requirement("GIT-12")
@pytest.mark.parametrize("call", [("status", {}), ("add", {"paths": ["a.txt"]})])
async def test_git_does_not_take_all_memory_there_is(
    bounded: Tools, trusting: Tools, repo: Path, call: tuple[str, dict[str, Any]]
) -> None:
    """Where it only looks, and in its cell. Git reads the whole of this file."""
    (repo / "a.txt").write_text("else\n")
    with (repo / ".gitignore").open("wb") as ignored:
        ignored.truncate(3 * MEMORY)
    with pytest.raises(ExecutionFailed, match="needs more memory than it may take here"):
        await bounded(call[0], repo_path="r", **call[1])
    await trusting("status", repo_path="r")
