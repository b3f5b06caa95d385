"""What git starts in a trusted repository stays in a cell, and git itself in one that is not."""

import asyncio
from pathlib import Path

import pytest

from clawft.builtin.git import GitSettings, cell
from clawft.builtin.git.cell import CellSurroundings, cell_of, surroundings_of
from clawft.builtin.git.run import RunPurpose
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied, ToolError
from clawft.sandbox.bounds import access_to
from clawft.sandbox.probe import Means
from tests.builtin.escaping import EVERYTHING, escaping, needs_bubblewrap
from tests.builtin.git.plain import EMAIL, GRANTED, NAME, Tools, new, said, save
from tests.requirements import requirement

UNSEEN = r"git does not see '\.aws/credentials' where it runs"
WHO = {"author_name": NAME, "author_email": EMAIL}


@pytest.fixture
def around(workspace: Path) -> CellSurroundings:
    return surroundings_of("/usr/bin/git", workspace, GitSettings())


@requirement("PLUG-04")
@pytest.mark.slow
@needs_bubblewrap
async def test_a_hook_gets_nothing_but_the_workspace(
    workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with escaping(workspace, monkeypatch) as escape:
        hook = repo / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nexec {' '.join(escape.command)}\n")
        hook.chmod(0o755)
        for sandbox, expected in (("off", EVERYTHING), ("auto", {"workspace"}), ("strict", {"workspace"})):
            settings = GitSettings(trusted=lambda place: True, granted=GRANTED, sandbox=sandbox)
            (repo / "a.txt").write_text(sandbox)
            await Tools(workspace, settings)("commit", repo_path="r", message="m", **WHO)
            assert escape.got() == expected, sandbox


@requirement("PLUG-04")
@pytest.mark.slow
@needs_bubblewrap
async def test_a_clone_goes_out_by_the_door_to_its_host_alone(workspace: Path) -> None:
    """What listens there hears the first bytes of TLS, and has nothing to say."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.put_nowait(await reader.read(1))
        writer.close()

    async with await asyncio.start_server(visited, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/r.git"
        with pytest.raises(ToolError):
            await Tools(workspace, GitSettings(hosts=("127.0.0.1",)))("clone", url=url, target_path="copy")
        assert await asyncio.wait_for(heard.get(), 10) == b"\x16"
        with pytest.raises(PermissionDenied, match=r"network to reach '127\.0\.0\.1'"):
            await Tools(workspace)("clone", url=url, target_path="copy")
    assert heard.empty()


@requirement("PLUG-04", "GIT-04")
@pytest.mark.slow
@needs_bubblewrap
async def test_our_own_folder_is_not_staged_nor_said_to_be(
    tools: Tools, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "own").mkdir()
    (repo / "own/state.key").write_text("k\n")
    (repo / "new.txt").write_text("n\n")
    monkeypatch.setenv("CLAWFT_HOME", str(repo / "own"))
    with pytest.raises(InvalidArguments, match=r"nothing to stage at 'own/state\.key'"):
        await tools("add", repo_path="r", paths=["own/state.key"])
    assert await tools("add", repo_path="r", paths=["."]) == {"paths": ["new.txt"]}
    assert said(repo, "diff", "--cached", "--name-only") == "new.txt"


@requirement("PLUG-04", "GIT-04")
@pytest.mark.slow
@needs_bubblewrap
async def test_a_file_that_git_does_not_see_is_not_staged_as_deleted(
    workspace: Path, trusting: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a trusted home its cell keeps secrets from git: they look deleted to it."""
    monkeypatch.setenv("HOME", str(workspace))
    home = new(workspace)
    (home / ".aws").mkdir()
    (home / ".aws/credentials").write_text("k\n")
    save(home, gone_txt="g\n")
    (home / "gone.txt").unlink()
    for paths in ([".aws/credentials"], ["."]):
        with pytest.raises(ExecutionFailed, match=UNSEEN):
            await trusting("add", repo_path=".", paths=paths)
    assert said(home, "diff", "--cached", "--name-only") == ""
    assert await trusting("add", repo_path=".", paths=["gone.txt"]) == {"paths": ["gone.txt"]}
    assert said(home, "diff", "--cached", "--name-status") == "D\tgone.txt"


@requirement("PLUG-04")
async def test_where_nothing_can_hold_it_a_required_cell_refuses(
    workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell, "this_machine", lambda: Means(reason="there is nothing"))
    assert (await Tools(workspace, GitSettings(sandbox="auto"))("status", repo_path="r"))["branch"] == "main"
    with pytest.raises(ExecutionFailed, match="its required sandbox is not available: there is nothing") as refused:
        await Tools(workspace, GitSettings(sandbox="require"))("status", repo_path="r")
    assert "weft doctor" in refused.value.hint


def rules(around: CellSurroundings, work: RunPurpose, sandbox: str = "auto") -> tuple[str, str, str, tuple[str, ...]]:
    """What it may do with the workspace, the home folder and its keys, and which hosts it reaches."""
    found = cell_of(around, work, GitSettings(sandbox=sandbox, hosts=("git.example",)))
    assert found is not None
    assert found.bounds is not None
    known = around.around
    paths = (known.workspace, known.home, f"{known.home}/.ssh")
    workspace, home, keys = (access_to(path, found.bounds.rules) for path in paths)
    return workspace, home, keys, found.bounds.network


HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "git.example")


@requirement("PLUG-04")
def test_each_kind_of_work_gets_what_it_needs(around: CellSurroundings) -> None:
    assert rules(around, RunPurpose(trusted=False), "strict") == ("read", "hide", "hide", ())
    assert rules(around, RunPurpose(trusted=False, write=True)) == ("write", "hide", "hide", ())
    assert rules(around, RunPurpose(trusted=False, write=True, protocols=["file"])) == ("write", "hide", "hide", ())
    assert rules(around, RunPurpose(trusted=False, write=True, protocols=["https"])) == ("write", "hide", "hide", HOSTS)
    assert rules(around, RunPurpose(trusted=False, write=True, protocols=["ssh"])) == ("write", "hide", "read", ("*",))
    assert rules(around, RunPurpose(trusted=True)) == ("write", "read", "read", ())
    assert rules(around, RunPurpose(trusted=True, write=True)) == ("write", "read", "read", HOSTS)
    assert rules(around, RunPurpose(trusted=True), "strict") == ("write", "hide", "hide", ())


@requirement("PLUG-04", "GIT-11")
def test_a_look_at_a_repository_that_is_not_trusted_is_spared_its_cost(around: CellSurroundings) -> None:
    assert cell_of(around, RunPurpose(trusted=False), GitSettings()) is None
    for sandbox in ("strict", "require"):
        assert cell_of(around, RunPurpose(trusted=False), GitSettings(sandbox=sandbox)) is not None


@requirement("PLUG-04")
def test_the_users_own_configuration_is_seen_where_it_is_read(around: CellSurroundings) -> None:
    found = cell_of(around, RunPurpose(trusted=False, users_own=True), GitSettings(sandbox="strict"))
    assert found is not None
    assert found.bounds is not None
    assert access_to(f"{around.around.home}/.gitconfig", found.bounds.rules) == "read"


@requirement("PLUG-04")
def test_a_path_in_a_variable_the_user_passes_on_is_open(workspace: Path, tmp_path: Path) -> None:
    socket = tmp_path / "agent.sock"
    socket.touch()
    settings = GitSettings(variables=("SSH_AUTH_SOCK",))
    known = surroundings_of("/usr/bin/git", workspace, settings, {"SSH_AUTH_SOCK": str(socket)})
    found = cell_of(known, RunPurpose(trusted=True), settings)
    assert found is not None
    assert found.bounds is not None
    assert access_to(str(socket.resolve()), found.bounds.rules) == "write"
    closed = cell_of(known, RunPurpose(trusted=False, write=True), settings)
    assert closed is not None
    assert closed.bounds is not None
    assert access_to(str(socket.resolve()), closed.bounds.rules) == "empty"
