"""The seven tools of the requirements, on real repositories."""

import re
from pathlib import Path

import jsonschema
import msgspec
import pytest

from clawft.builtin.git import MANIFEST, GitSettings, git_tools
from clawft.builtin.git.family import PARTIAL_TOOLS
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied
from clawft.provider.function import definition_of
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

SEVEN = ("clone", "commit", "branch", "diff", "blame", "log", "status")
WHO = {"author_name": NAME, "author_email": EMAIL}


@requirement("GIT-01", "F1-A02", "F1-A03", "F1-A04")
def test_the_seven_are_tools_of_their_own_with_schemas() -> None:
    tools = {definition_of(function).name: definition_of(function).tool for function in git_tools(GitSettings())}
    assert list(tools)[:7] == list(SEVEN)
    for name, tool in tools.items():
        assert tool.alias == f"git_{name}"
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(msgspec.json.decode(schema))
        assert msgspec.json.decode(tool.wire)["outputSchema"] == msgspec.json.decode(tool.output_schema)
        assert msgspec.json.decode(tool.input_schema)["additionalProperties"] is False
        assert "git" not in msgspec.json.decode(tool.input_schema)["properties"]


@requirement("GIT-02", "GIT-03", "GIT-05", "GIT-06", "GIT-07", "GIT-08", "GIT-09")
@pytest.mark.parametrize(
    ("name", "required", "optional"),
    [
        ("clone", {"url", "target_path"}, set[str]()),
        ("commit", {"repo_path", "message"}, {"author_name", "author_email"}),
        ("branch", {"repo_path"}, {"pattern"}),
        ("diff", {"repo_path"}, set[str]()),
        ("blame", {"repo_path", "file_path"}, set[str]()),
        ("log", {"repo_path"}, {"max_count"}),
        ("status", {"repo_path"}, set[str]()),
    ],
)
def test_parameters_are_those_of_the_requirements(name: str, required: set[str], optional: set[str]) -> None:
    function = git_tools(GitSettings())[[partial_tool.name for partial_tool in PARTIAL_TOOLS].index(name)]
    schema = definition_of(function).input_schema
    assert set(schema["required"]) == required
    assert optional <= schema["properties"].keys()


@requirement("PLUG-01", "PLUG-02", "F1-A06")
def test_the_manifest_is_that_of_the_requirements() -> None:
    assert (MANIFEST.id, MANIFEST.name, MANIFEST.version) == ("com.clawft.plugin-git", "Git Operations", "0.1.0")
    granted = MANIFEST.permissions
    assert granted.filesystem == ("$WORKSPACE",)
    assert granted.network == ("github.com", "gitlab.com", "bitbucket.org")
    assert set(granted.env_vars) == {
        f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    assert granted.shell is False


@requirement("GIT-02", "test_git_clone_creates_repo")
async def test_clone_makes_a_repository(tools: Tools, workspace: Path, repo: Path) -> None:
    done = await tools("clone", url="r", target_path="deep/copy")
    assert done == {"path": "deep/copy", "head_commit": said(repo, "rev-parse", "HEAD")}
    assert said(workspace / "deep/copy", "log", "--format=%s") == "second\nfirst"
    assert sorted(path.name for path in workspace.iterdir()) == ["deep", "r"]


@requirement("GIT-02")
async def test_a_clone_of_nothing_has_no_head(tools: Tools, workspace: Path) -> None:
    new(workspace / "empty")
    assert await tools("clone", url="empty", target_path="copy") == {"path": "copy", "head_commit": None}


@requirement("GIT-02", "GIT-12")
async def test_a_clone_that_fails_leaves_nothing(tools: Tools, workspace: Path, repo: Path) -> None:
    with pytest.raises(ExecutionFailed, match="Remote branch nope not found"):
        await tools("clone", url="r", target_path="a/b", branch="nope")
    with pytest.raises(ExecutionFailed, match="exists and is not an empty folder"):
        await tools("clone", url="r", target_path="r")
    assert [path.name for path in workspace.iterdir()] == ["r"]


@requirement("GIT-03", "GIT-04", "test_git_commit_creates_oid")
async def test_commit_takes_everything_but_what_is_ignored(tools: Tools, repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "x.log").write_text("")
    (repo / "new file").write_text("")
    (repo / "a.txt").write_text("changed\n")
    (repo / "b.txt").unlink()
    done = await tools("commit", repo_path="r", message="all\n\nof it", **WHO)
    assert re.fullmatch("[0-9a-f]{40}", done["oid"])
    assert done["message"] == "all\n\nof it"
    assert said(repo, "rev-parse", "HEAD") == done["oid"]
    names = said(repo, "show", "--format=%an <%ae>", "--name-status").splitlines()
    assert names == [f"{NAME} <{EMAIL}>", "", "A\t.gitignore", "M\ta.txt", "D\tb.txt", "A\tnew file"]
    assert said(repo, "status", "--porcelain") == ""


@requirement("GIT-04")
async def test_the_first_commit_has_no_parent(tools: Tools, workspace: Path) -> None:
    repo = new(workspace / "n")
    (repo / "a").write_text("")
    await tools("commit", repo_path="n", message="first", **WHO)
    assert said(repo, "log", "--format=%P|%s|%D") == "|first|HEAD -> main"


@requirement("GIT-03")
async def test_the_author_is_given_or_of_the_environment_or_of_the_configuration(
    tools: Tools, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def author(number: int, **given: str) -> str:
        (repo / "a.txt").write_text(f"{number}\n")
        await tools("commit", repo_path="r", message=str(number), **given)
        return said(repo, "log", "-1", "--format=%an <%ae> %cn <%ce>")

    with pytest.raises(ExecutionFailed, match="nobody is named as author: no author_name and no author_email"):
        await author(1)
    assert said(repo, "diff", "--cached", "--name-only") == ""
    git(repo, "config", "user.name", "Local")
    git(repo, "config", "user.email", "l@x")
    assert await author(2) == "Local <l@x> Local <l@x>"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Env")
    assert await author(3) == "Env <l@x> Local <l@x>"
    assert await author(4, author_name="Given", author_email="g@x") == "Given <g@x> Local <l@x>"


@requirement("GIT-03")
async def test_the_users_own_configuration_names_the_author_too(tools: Tools, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / ".gitconfig").write_text("[user]\nname = Own\nemail = o@x\n")
    (repo / "a.txt").write_text("")
    await tools("commit", repo_path="r", message="m")
    assert said(repo, "log", "-1", "--format=%an <%ae>") == "Own <o@x>"


@requirement("GIT-03", "GIT-04")
async def test_commit_with_paths_takes_only_these_and_without_any_what_is_staged(tools: Tools, repo: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (repo / name).write_text("new\n")
    git(repo, "add", "c.txt")
    await tools("commit", repo_path="r", message="m", paths=["a.txt"], **WHO)
    assert said(repo, "show", "--format=", "--name-only") == "a.txt"
    await tools("commit", repo_path="r", message="m", paths=[], **WHO)
    assert said(repo, "show", "--format=", "--name-only") == "c.txt"
    with pytest.raises(ExecutionFailed, match="nothing to commit"):
        await tools("commit", repo_path="r", message="m", paths=[], **WHO)
    with pytest.raises(InvalidArguments, match="nothing to stage at 'nope'"):
        await tools("commit", repo_path="r", message="m", paths=["nope"], **WHO)


@requirement("GIT-04")
async def test_what_we_are_still_making_is_not_committed(tools: Tools, repo: Path) -> None:
    save(new(repo / ".weft-clone-1"), a_txt="half\n")
    (repo / "d").mkdir()
    (repo / "d" / ".weft-1.tmp").write_text("half")
    (repo / "d" / "whole").write_text("")
    await tools("commit", repo_path="r", message="m", **WHO)
    assert said(repo, "ls-files") == "a.txt\nb.txt\nd/whole"


@requirement("GIT-04")
async def test_a_file_that_became_a_folder_and_back(tools: Tools, repo: Path) -> None:
    (repo / "b.txt").unlink()
    (repo / "b.txt").mkdir()
    (repo / "b.txt" / "inner").write_text("x\n")
    await tools("commit", repo_path="r", message="folder", **WHO)
    assert said(repo, "ls-files") == "a.txt\nb.txt/inner"
    (repo / "b.txt" / "inner").unlink()
    (repo / "b.txt").rmdir()
    (repo / "b.txt").write_text("again\n")
    await tools("commit", repo_path="r", message="file", **WHO)
    assert said(repo, "ls-files") == "a.txt\nb.txt"
    assert said(repo, "status", "--porcelain") == ""


@requirement("GIT-04")
async def test_a_folder_that_became_a_link_and_back(tools: Tools, repo: Path) -> None:
    (repo / "d").mkdir()
    save(repo, **{"d/a": "1\n", "d/b": "2\n"})
    (repo / "d").rename(repo / "moved")
    (repo / "d").symlink_to("moved")
    await tools("commit", repo_path="r", message="link", **WHO)
    assert said(repo, "ls-files") == "a.txt\nb.txt\nd\nmoved/a\nmoved/b"
    assert said(repo, "status", "--porcelain") == ""
    (repo / "d").unlink()
    (repo / "moved").rename(repo / "d")
    await tools("commit", repo_path="r", message="folder", paths=["d", "moved"], **WHO)
    assert said(repo, "ls-files") == "a.txt\nb.txt\nd/a\nd/b"


@requirement("GIT-04")
async def test_a_file_takes_the_place_of_a_folder_that_is_staged_and_back(tools: Tools, repo: Path) -> None:
    (repo / "d").mkdir()
    save(repo, **{"d/a": "1\n"})
    (repo / "d" / "a").unlink()
    (repo / "d" / "a").mkdir()
    (repo / "d" / "a" / "deep").write_text("2\n")
    await tools("add", repo_path="r", paths=["d/a/deep"])
    assert said(repo, "ls-files") == "a.txt\nb.txt\nd/a/deep"


@requirement("GIT-04", "GIT-07", "GIT-08")
async def test_a_name_with_a_line_break_is_a_name(tools: Tools, repo: Path) -> None:
    (repo / "two\nlines").write_text("x\n")
    [entry] = (await tools("status", repo_path="r"))["result"]
    assert await tools("add", repo_path="r", paths=[entry["path"]]) == {"paths": ["two\nlines"]}
    await tools("commit", repo_path="r", message="odd", paths=["two\nlines"], **WHO)
    assert [each["message"] for each in (await tools("log", repo_path="r", path="two\nlines"))["result"]] == ["odd"]
    [line] = (await tools("blame", repo_path="r", file_path="two\nlines"))["result"]
    assert line["content"] == "x"
    assert (await tools("show", repo_path="r", file_path="two\nlines"))["content"] == "x\n"
    (repo / "two\nlines").write_text("y\n")
    assert [each["new_file"] for each in (await tools("diff", repo_path="r", paths=["two\nlines"]))["result"]] == [
        "two\nlines"
    ]
    await tools("restore", repo_path="r", paths=["two\nlines"])
    assert (repo / "two\nlines").read_text() == "x\n"


@requirement("GIT-05", "test_git_branch_lists_default")
async def test_branch_lists_local_and_remote_ones(tools: Tools, workspace: Path, repo: Path) -> None:
    git(repo, "branch", "topic/one")
    assert await tools("branch", repo_path="r") == {"result": ["main", "topic/one"], "current": "main"}
    git(workspace, "clone", "--quiet", "r", "copy")
    assert (await tools("branch", repo_path="copy"))["result"] == ["main", "origin/main", "origin/topic/one"]
    assert (await tools("branch", repo_path="copy", pattern="opic"))["result"] == ["origin/topic/one"]
    assert (await tools("branch", repo_path="copy", pattern="zzz"))["result"] == []


@requirement("GIT-06", "test_git_diff_detects_changes")
async def test_diff_counts_truly(tools: Tools, repo: Path) -> None:
    git(repo, "mv", "b.txt", "c.txt")
    (repo / "a.txt").write_text("one\nTWO\nthree\nfour\n")
    (repo / "new").write_text("x\n")
    (repo / "bin").write_bytes(b"\0\1")
    git(repo, "add", "new", "bin")
    found = {each.get("new_file"): each for each in (await tools("diff", repo_path="r"))["result"]}
    assert {name: (each["status"], each["additions"], each["deletions"]) for name, each in found.items()} == {
        "a.txt": ("Modified", 2, 1),
        "bin": ("Added", 0, 0),
        "c.txt": ("Renamed", 0, 0),
        "new": ("Added", 1, 0),
    }
    assert found["bin"]["binary"] is True
    assert found["c.txt"]["old_file"] == "b.txt"
    assert "old_file" not in found["new"]
    assert found["a.txt"]["hunks"] == [
        {
            "old_start": 1,
            "old_lines": 3,
            "new_start": 1,
            "new_lines": 4,
            "heading": "",
            "lines": [" one", "-two", "+TWO", " three", "+four"],
        }
    ]


@requirement("GIT-06")
async def test_diff_knows_staged_unstaged_and_commits(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("staged\n")
    git(repo, "add", "a.txt")
    (repo / "b.txt").unlink()

    async def names(**more: object) -> list[str]:
        found = await tools("diff", repo_path="r", hunks=False, **more)
        return [
            f"{each['status']} {each['old_file']} +{each['additions']} -{each['deletions']}" for each in found["result"]
        ]

    assert await names() == ["Modified a.txt +1 -3", "Deleted b.txt +0 -1"]
    assert await names(scope="staged") == ["Modified a.txt +1 -3"]
    assert await names(scope="unstaged") == ["Deleted b.txt +0 -1"]
    assert await names(revision="HEAD~1..HEAD") == ["Modified a.txt +1 -0"]
    assert await names(paths=["b.txt"]) == ["Deleted b.txt +0 -1"]


@requirement("GIT-07", "test_git_blame_returns_hunks")
async def test_blame_has_an_entry_for_each_line(tools: Tools, repo: Path) -> None:
    first, second = said(repo, "rev-parse", "HEAD~1"), said(repo, "rev-parse", "HEAD")
    assert (await tools("blame", repo_path="r", file_path="a.txt"))["result"] == [
        {"line_number": 1, "commit_id": first, "author": NAME, "content": "one"},
        {"line_number": 2, "commit_id": first, "author": NAME, "content": "two"},
        {"line_number": 3, "commit_id": second, "author": NAME, "content": "three"},
    ]
    assert len((await tools("blame", repo_path="r", file_path="a.txt", revision="HEAD~1"))["result"]) == 2
    (repo / "a.txt").write_text("mine\n")
    [line] = (await tools("blame", repo_path="r", file_path="a.txt"))["result"]
    assert (line["commit_id"], line["content"]) == ("0" * 40, "mine")


@requirement("GIT-07")
async def test_blame_of_an_empty_and_of_an_unknown_file(tools: Tools, repo: Path) -> None:
    save(repo, empty="")
    assert (await tools("blame", repo_path="r", file_path="empty"))["result"] == []
    with pytest.raises(InvalidArguments, match="git has no file 'nope' there"):
        await tools("blame", repo_path="r", file_path="nope")


@requirement("GIT-08", "test_git_log_returns_commits")
async def test_log_is_newest_first(tools: Tools, repo: Path) -> None:
    found = (await tools("log", repo_path="r"))["result"]
    assert [(each["author"], each["message"]) for each in found] == [
        (NAME, "second\n\nand its reason"),
        (NAME, "first"),
    ]
    assert [each["oid"] for each in found] == said(repo, "log", "--format=%H").split()
    assert [each["timestamp"] for each in found] == [int(when) for when in said(repo, "log", "--format=%at").split()]
    assert len((await tools("log", repo_path="r", max_count=1))["result"]) == 1


@requirement("GIT-08")
async def test_log_gives_twenty_unless_told(tools: Tools, repo: Path) -> None:
    for number in range(25):
        git(repo, "commit", "--quiet", "--allow-empty", "--message", str(number))
    first = await tools("log", repo_path="r")
    assert [each["message"] for each in first["result"]] == [str(number) for number in range(24, 4, -1)]
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "later")
    rest = await tools("log", repo_path="r", cursor=first["next_cursor"])
    assert [each["message"].split("\n")[0] for each in rest["result"]] == ["4", "3", "2", "1", "0", "second", "first"]
    assert "next_cursor" not in rest


@requirement("GIT-08")
async def test_log_by_path_and_range(tools: Tools, repo: Path) -> None:
    git(repo, "branch", "old", "HEAD~1")
    assert [each["message"] for each in (await tools("log", repo_path="r", path="b.txt"))["result"]] == ["first"]
    assert len((await tools("log", repo_path="r", revision="old..main"))["result"]) == 1
    assert len((await tools("log", repo_path="r", revision="old"))["result"]) == 1


@requirement("GIT-08")
async def test_a_missing_author_is_unknown(tools: Tools, repo: Path) -> None:
    tree = said(repo, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nauthor  <> 1700000000 +0000\ncommitter  <> 1700000000 +0000\n\nno name\n".encode()
    oid = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).decode().strip()
    [entry] = (await tools("log", repo_path="r", revision=oid))["result"]
    assert (entry["author"], entry["message"], entry["timestamp"]) == ("unknown", "no name", 1_700_000_000)


@requirement("GIT-09", "test_git_status_shows_untracked", "test_git_status_tool_execute")
async def test_status_words(tools: Tools, repo: Path) -> None:
    save(repo, c_txt="c\n" * 9, d_txt="d\n", e_txt="e\n")
    (repo / "new").write_text("")
    (repo / "added").write_text("1\n")
    git(repo, "add", "added")
    (repo / "added").write_text("2\n")
    (repo / "a.txt").write_text("")
    (repo / "b.txt").unlink()
    git(repo, "mv", "c.txt", "moved")
    (repo / "d.txt").unlink()
    (repo / "d.txt").symlink_to("a.txt")
    found = await tools("status", repo_path="r")
    assert {each["path"]: each["status"] for each in found["result"]} == {
        "a.txt": "modified",
        "added": "added,modified",
        "b.txt": "deleted",
        "d.txt": "typechange",
        "moved": "renamed",
        "new": "untracked",
    }
    assert (found["branch"], found["head"]) == ("main", said(repo, "rev-parse", "HEAD"))
    [moved] = [each for each in found["result"] if each["path"] == "moved"]
    assert moved == {"path": "moved", "status": "renamed", "staged": "renamed", "old_path": "c.txt"}


@requirement("GIT-09")
async def test_status_of_a_conflict_and_of_a_distance(tools: Tools, workspace: Path, repo: Path) -> None:
    git(workspace, "clone", "--quiet", "r", "copy")
    copy = workspace / "copy"
    save(copy, a_txt="ours\n")
    save(repo, a_txt="theirs\n")
    git(copy, "fetch", "--quiet")
    found = await tools("status", repo_path="copy")
    assert (found["upstream"], found["ahead"], found["behind"]) == ("origin/main", 1, 1)
    git(copy, "merge", "--quiet", "origin/main", ok=False)
    assert (await tools("status", repo_path="copy"))["result"] == [{"path": "a.txt", "status": "conflicted"}]
    with pytest.raises(ExecutionFailed, match=r"conflicts are not resolved: a\.txt"):
        await tools("commit", repo_path="copy", message="m", **WHO)


@requirement("GIT-10", "test_git_tool_missing_repo_path")
@pytest.mark.parametrize("name", [name for name in SEVEN if name != "clone"])
async def test_a_missing_repo_path_is_named(tools: Tools, name: str) -> None:
    more = {"blame": {"file_path": "a"}, "commit": {"message": "m"}}.get(name, {})
    with pytest.raises(InvalidArguments, match="missing 'repo_path'"):
        await tools(name, **more)
    with pytest.raises(InvalidArguments, match="'repo_path' must be str"):
        await tools(name, repo_path=7, **more)


@requirement("GIT-10")
@pytest.mark.parametrize("name", [name for name in SEVEN if name != "clone"])
async def test_no_repository_is_a_clear_error(tools: Tools, workspace: Path, name: str) -> None:
    (workspace / "plain").mkdir()
    (workspace / "file").write_text("")
    more = {"blame": {"file_path": "a"}, "commit": {"message": "m", **WHO}}.get(name, {})
    with pytest.raises(ExecutionFailed, match="'plain' is not in a git repository"):
        await tools(name, repo_path="plain", **more)
    with pytest.raises(ExecutionFailed, match="no such file or directory: 'nope'"):
        await tools(name, repo_path="nope", **more)
    with pytest.raises(ExecutionFailed, match="'file' is not a folder"):
        await tools(name, repo_path="file", **more)


@requirement("GIT-10")
async def test_a_repository_without_commits_is_empty(tools: Tools, workspace: Path) -> None:
    repo = new(workspace / "n")
    (repo / "a").write_text("x\n")
    assert (await tools("log", repo_path="n"))["result"] == []
    assert (await tools("branch", repo_path="n"))["result"] == []
    assert (await tools("diff", repo_path="n"))["result"] == []
    assert (await tools("status", repo_path="n")) == {
        "result": [{"path": "a", "status": "untracked"}],
        "branch": "main",
        "total": 1,
    }
    git(repo, "add", "a")
    [entry] = (await tools("diff", repo_path="n"))["result"]
    assert (entry["status"], entry["additions"]) == ("Added", 1)
    with pytest.raises(ExecutionFailed):
        await tools("blame", repo_path="n", file_path="zzz")


@requirement("GIT-10")
@pytest.mark.parametrize("name", ["log", "diff"])
@pytest.mark.parametrize("head", ["nonsense", "1" * 40])
async def test_a_head_that_leads_nowhere_is_not_taken_for_the_beginning(
    tools: Tools, repo: Path, name: str, head: str
) -> None:
    (repo / ".git/HEAD").write_text(f"{head}\n")
    with pytest.raises(ExecutionFailed, match="HEAD names no commit that is there"):
        await tools(name, repo_path="r")


@requirement("GIT-01", "PLUG-08")
async def test_a_short_text_stands_beside_the_structure(tools: Tools, repo: Path) -> None:
    (repo / "new").write_text("")
    done = await tools.whole("git_status", repo_path="r")
    assert done.content == [{"type": "text", "text": "on main: 1 changed\nuntracked: new"}]
    done = await tools.whole("log", repo_path="r")
    assert done.content[0]["text"].splitlines()[0] == "2 commits"
    assert done.content[0]["text"].splitlines()[1].endswith(f"{NAME}: second")
    done = await tools.whole("log", repo_path="r", max_count=1)
    assert done.content[0]["text"].splitlines()[0] == "1 commit"
    done = await tools.whole("git_branch", repo_path="r")
    assert done.content[0]["text"].splitlines()[0] == "1 branch"
    done = await tools.whole("git_show", repo_path="r")
    assert "\n1 file changed, +1 -0\n" in done.content[0]["text"]


@requirement("GIT-01")
async def test_results_keep_their_schemas(tools: Tools, repo: Path) -> None:
    (repo / "a.txt").write_text("changed\n")
    for name in ("status", "diff", "log", "branch", "conflicts", "tag", "stash", "worktree", "show"):
        schema = next(tool.output_schema for tool in tools.provider.list_tools() if tool.name == name)
        jsonschema.validate(await tools(name, repo_path="r"), msgspec.json.decode(schema))


@requirement("GIT-12")
@pytest.mark.parametrize("path", ["..", "../..", "/", "/etc"])
async def test_a_repository_outside_is_refused(tools: Tools, repo: Path, path: str) -> None:
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await tools("status", repo_path=path)
