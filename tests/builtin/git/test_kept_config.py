"""What was checked of an untrusted repository is what git goes by, however fast somebody puts another file there."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.git import GitSettings, kept_config, repo
from clawft.builtin.git.hostile_config import GitWork
from clawft.builtin.git.settings import Bounds
from clawft.errors import ExecutionFailed, PermissionDenied
from clawft.sandbox import temporary
from tests.builtin.git.plain import GRANTED, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, requirement("GIT-12")]

LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("status", {}),
    ("diff", {}),
    ("log", {"path": "a.txt"}),
    ("show", {}),
    ("show", {"file_path": "a.txt"}),
    ("blame", {"file_path": "a.txt"}),
    ("branch", {}),
    ("conflicts", {}),
    ("tag", {}),
    ("stash", {"action": "list"}),
)
Swap = Callable[[Path], None]


class Racer:
    """Somebody who changes the configuration in the moment between the check and git."""

    def __init__(self, workspace: Path) -> None:
        self.repo = new(workspace / "r")
        self.mark = workspace / "mark"
        self.program = workspace / "program"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\ncat\n")
        self.program.chmod(0o755)
        save(self.repo, a_txt="one\n")
        (self.repo / ".gitattributes").write_text("* filter=evil diff=evil\n")
        (self.repo / "a.txt").write_text("two\n")

    @property
    def evil(self) -> str:
        runs = self.program
        return f'[filter "evil"]\nclean = {runs}\n[diff "evil"]\ntextconv = {runs}\n[core]\nfsmonitor = {runs}\n'

    def shared(self) -> None:
        self._append(self.repo / ".git" / "config")

    def of_work_tree(self) -> None:
        self._append(self.repo / ".git" / "config.worktree")

    def new_of_work_tree(self) -> None:
        git(self.repo, "config", "extensions.worktreeConfig", "true")
        self.of_work_tree()

    def elsewhere(self) -> None:
        """Another folder with another configuration, as linked work trees have it."""
        folder = self.repo / "shared"
        git(self.repo, "clone", "--quiet", "--bare", ".", str(folder))
        self._append(folder / "config")
        (self.repo / ".git" / "commondir").write_text(f"{folder}\n")

    def _append(self, file: Path) -> None:
        with file.open("a") as config:
            config.write(self.evil)


@pytest.fixture
def racer(workspace: Path) -> Racer:
    return Racer(workspace)


@pytest.fixture
def tools(workspace: Path) -> Tools:
    """Without a cell, as it is for all looks."""
    return Tools(workspace, GitSettings(granted=GRANTED, sandbox="off"))


def win_the_race(monkeypatch: pytest.MonkeyPatch, swap: Callable[[], None]) -> None:
    checked = repo.Repo.prepare

    async def prepare(self: repo.Repo, work: GitWork) -> None:
        await checked(self, work)
        swap()

    monkeypatch.setattr(repo.Repo, "prepare", prepare)


def test_plain_git_would_start_it(racer: Racer) -> None:
    racer.shared()
    git(racer.repo, "status")
    assert racer.mark.exists()


@pytest.mark.parametrize("swap", ["shared", "of_work_tree", "new_of_work_tree", "elsewhere"])
@pytest.mark.parametrize(("name", "arguments"), LOOKS, ids=str)
async def test_a_configuration_that_comes_after_the_check_is_not_read(
    tools: Tools, racer: Racer, monkeypatch: pytest.MonkeyPatch, name: str, arguments: dict[str, Any], swap: str
) -> None:
    if swap == "of_work_tree":
        git(racer.repo, "config", "extensions.worktreeConfig", "true")
    win_the_race(monkeypatch, getattr(racer, swap))
    await tools(name, repo_path="r", **arguments)
    assert not racer.mark.exists()


@pytest.mark.parametrize("swap", ["shared", "new_of_work_tree", "elsewhere"])
async def test_without_the_copy_it_would_be(
    tools: Tools, racer: Racer, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    monkeypatch.setattr(repo, "can_be_kept", lambda: False)
    win_the_race(monkeypatch, getattr(racer, swap))
    await tools("status", repo_path="r")
    assert racer.mark.exists()


async def test_what_a_work_tree_sets_of_its_own_counts(tools: Tools, racer: Racer) -> None:
    git(racer.repo, "config", "extensions.worktreeConfig", "true")
    git(racer.repo, "config", "--worktree", "user.name", "Grace")
    git(racer.repo, "config", "--worktree", "user.email", "grace@example.org")
    (racer.repo / ".gitattributes").unlink()
    for _ in range(2):  # read, and remembered
        await tools("tag", repo_path="r", action="create", name="t", message="m")
        assert said(racer.repo, "log", "-1", "--format=%an") == NAME
        assert "Grace" in said(racer.repo, "cat-file", "tag", "t")
        await tools("tag", repo_path="r", action="delete", name="t")


@pytest.mark.parametrize("line", ["[extensions]\nworktreeConfig = true", "[include]\npath = /etc/x"])
async def test_what_a_work_tree_sets_is_checked_as_well(tools: Tools, racer: Racer, line: str) -> None:
    git(racer.repo, "config", "extensions.worktreeConfig", "true")
    (racer.repo / ".git" / "config.worktree").write_text(f"{line}\n")
    with pytest.raises(PermissionDenied, match="not trusted"):
        await tools("status", repo_path="r")


async def test_linked_work_trees_bare_repositories_and_borrowed_objects_are_read_as_ever(
    tools: Tools, racer: Racer, workspace: Path
) -> None:
    git(racer.repo, "worktree", "add", "--quiet", str(workspace / "linked"), "-b", "w")
    git(workspace, "clone", "--quiet", "--bare", "r", "bare")
    git(workspace, "clone", "--quiet", "--shared", "r", "borrowing")
    relative = "../../../r/.git/objects"
    (workspace / "borrowing" / ".git" / "objects" / "info" / "alternates").write_text(f"{relative}\n")
    for name, current in (("r", "main"), ("linked", "w"), ("bare", "main"), ("borrowing", "main")):
        assert len((await tools("log", repo_path=name))["result"]) == 1
        assert (await tools("branch", repo_path=name))["current"] == current
    trees = (await tools("worktree", repo_path="r"))["result"]
    assert [(each["path"], each["branch"]) for each in trees] == [("r", "main"), ("linked", "w")]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of all copies that are made from now on."""

    def private_folder(base: str) -> str:
        return tempfile.mkdtemp(dir=tmp_path / "copies")

    monkeypatch.setattr(temporary, "private_folder", private_folder)
    monkeypatch.setattr(repo, "_known", {})
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies"


async def test_a_copy_serves_many_calls_and_goes_with_its_configuration(
    tools: Tools, racer: Racer, workspace: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repo, "MOST_REMEMBERED", 1)
    for name in ("status", "log"):
        await tools(name, repo_path="r")
        assert len(list(copies.iterdir())) == 1
    (kept,) = copies.iterdir()
    git(workspace, "clone", "--quiet", "r", "other")
    await tools("status", repo_path="other")
    assert not kept.exists()
    assert len(list(copies.iterdir())) == 1


async def test_a_call_keeps_its_copy_while_others_push_it_out(
    tools: Tools, racer: Racer, workspace: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repo, "MOST_REMEMBERED", 1)
    git(workspace, "clone", "--quiet", "r", "other")
    many = [tools("status", repo_path=name) for name in ("r", "other") * 5]
    assert all(each["branch"] == "main" for each in await asyncio.gather(*many))
    assert len(list(copies.iterdir())) == 1


async def test_a_copy_that_somebody_cleaned_up_is_made_anew(tools: Tools, racer: Racer, copies: Path) -> None:
    await tools("status", repo_path="r")
    (kept,) = copies.iterdir()
    (kept / "refs").unlink()
    assert (await tools("status", repo_path="r"))["branch"] == "main"
    assert len(list(copies.iterdir())) == 1


async def test_a_copy_made_anew_takes_the_place_of_its_own_and_of_no_other(
    tools: Tools, racer: Racer, workspace: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repo, "MOST_REMEMBERED", 2)
    git(workspace, "clone", "--quiet", "r", "other")
    await tools("status", repo_path="r")
    (of_r,) = copies.iterdir()
    await tools("status", repo_path="other")
    (of_other,) = set(copies.iterdir()) - {of_r}
    (of_other / "refs").unlink()
    await tools("status", repo_path="other")
    assert of_r.exists()
    assert not of_other.exists()
    assert len(list(copies.iterdir())) == 2


async def test_a_call_that_fails_leaves_no_copy(tools: Tools, racer: Racer, copies: Path) -> None:
    (racer.repo / ".git" / "config").write_text("no configuration")
    with pytest.raises(ExecutionFailed):
        await tools("status", repo_path="r")
    assert list(copies.iterdir()) == []


async def test_a_copy_is_made_once_looks_have_no_cell_any_more(
    racer: Racer, workspace: Path, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Tools(workspace, GitSettings(sandbox="strict"))("status", repo_path="r")
    assert list(copies.iterdir()) == []
    win_the_race(monkeypatch, racer.shared)
    await Tools(workspace, GitSettings(sandbox="off"))("status", repo_path="r")
    assert not racer.mark.exists()


@pytest.mark.parametrize("writable", [True, False])
def test_copies_lie_where_nobody_works(workspace: Path, home: Path, writable: bool) -> None:
    if not writable:
        home.rmdir()
        home.write_text("no folder")
    kept = kept_config.KeptConfig(workspace)
    assert Path(kept.folder).is_relative_to(home.resolve() if writable else os.path.realpath(tempfile.gettempdir()))
    assert not Path(kept.folder).is_relative_to(workspace.resolve())
    kept.remove()


def test_no_copy_outlives_us(workspace: Path, copies: Path) -> None:
    kept = kept_config.KeptConfig(workspace)
    kept.is_remembered = True
    kept_config.remove_all()
    assert not Path(kept.folder).exists()


async def test_a_configuration_without_end_is_refused(workspace: Path, racer: Racer) -> None:
    tools = Tools(workspace, GitSettings(sandbox="off"))
    with (racer.repo / ".git" / "config").open("a") as config:
        config.write("#" * (Bounds().config_bytes + 1))
    with pytest.raises(ExecutionFailed, match="is longer than"):
        await tools("status", repo_path="r")
