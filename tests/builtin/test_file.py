"""The file tools, on real files."""

import os
import stat
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawft import Gateway
from clawft.builtin import file as family
from clawft.builtin import search as searching
from clawft.builtin import tree as tree_module
from clawft.builtin.escaped_characters import restored
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied, ToolError
from clawft.model import CallToolResult
from clawft.provider.manifest import Manifest
from tests.requirements import requirement

CallTool = Callable[..., Awaitable[CallToolResult]]


def text_of(result: CallToolResult) -> str:
    return result.content[0]["text"]


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("FILE-01", "FILE-02")
async def test_a_name_that_is_no_utf8_is_understood_as_it_is_told(call: CallTool, workspace: Path) -> None:
    top = os.fsencode(workspace)
    (workspace / os.fsdecode(b"f\xff")).mkdir()
    Path(os.fsdecode(top + b"/f\xff/caf\xe9.txt")).write_text("raw")
    (workspace / "caf\\xe9.txt").write_text("raw in letters")
    entries = (await call("file", "list", recursive=True)).structured_content["entries"]
    told = [each["path"] for each in entries if each["type"] == "file"]
    assert told == ["caf\\x5cxe9.txt", "f\\xff/caf\\xe9.txt"]
    matches = (await call("file", "search", pattern="raw", glob="*\\xe9.txt")).structured_content["matches"]
    assert [each["path"] for each in matches] == [told[1]]
    assert [text_of(await call("file", "read", path=path)) for path in told] == ["raw in letters", "raw"]
    assert (await call("file", "write", path=told[1], content="new")).structured_content["path"] == told[1]
    assert Path(os.fsdecode(top + b"/f\xff/caf\xe9.txt")).read_text() == "new"
    with pytest.raises(ExecutionFailed, match=r"no such file or directory: 'f.xff/caf.xe8'"):
        await call("file", "read", path="f\\xff/caf\\xe8")
    ran = await call("shell", "exec", command="sh -c 'cat *.txt'", cwd="f\\xff")
    assert ran.structured_content["stdout"] == "new"


@requirement("FILE-01", "FILE-02")
@pytest.mark.parametrize("name", ["\u05d0\u200f.txt", "Icon\r", "\u202egnp.exe", "⟨U+202E⟩gnp.exe", "tag\U000e0041"])
async def test_a_name_with_letters_nobody_sees_is_understood_as_it_is_told(workspace: Path, name: str) -> None:
    (workspace / name).write_text("old")
    async with Gateway(workspace=workspace, builtin=True) as gateway:
        [told] = (await gateway.call_tool("file__list")).structured_content["entries"]
        assert told["path"].isprintable()
        written = await gateway.call_tool("file__write", path=told["path"], content="new")
        assert written.structured_content["path"] == told["path"]
        assert (await gateway.call_tool("file__read", path=told["path"])).content[0]["text"] == "new"
    assert {each.name: each.read_text() for each in workspace.iterdir()} == {name: "new"}


# ── read ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("FILE-01", "FR-005")
async def test_read_gives_the_text_or_a_range_of_lines(call: CallTool, workspace: Path) -> None:
    (workspace / "a.txt").write_bytes("one\ntwo ü\r\nthree\u2028still three\nlast".encode())
    assert text_of(await call("file", "read", path="a.txt")) == "one\ntwo ü\r\nthree\u2028still three\nlast"
    assert text_of(await call("file", "read", path="a.txt", offset=1, limit=1)) == "two ü\r\n"
    assert text_of(await call("file", "read", path="a.txt", offset=2)) == "three\u2028still three\nlast"
    assert text_of(await call("file", "read", path="a.txt", offset=99)) == ""
    assert text_of(await call("file", "read_file", path="a.txt", limit=1)) == "one\n"
    assert text_of(await call("file", "read", path="a.txt", offset=10**30, limit=10**30)) == ""


@requirement("FILE-01", "FR-005")
async def test_read_names_what_it_cannot_read(call: CallTool, workspace: Path) -> None:
    (workspace / "image.png").write_bytes(b"\x89PNG\0\0")
    (workspace / "latin.txt").write_bytes(b"caf\xe9")
    (workspace / "folder").mkdir()
    for path, said in (
        ("missing.txt", "no such file or directory: 'missing.txt'"),
        ("image.png", "'image.png' is a binary file"),
        ("latin.txt", "'latin.txt' is not UTF-8 text: .* at byte 3"),
        ("folder", "read: this is a folder, not a file: 'folder'"),
    ):
        with pytest.raises(ExecutionFailed, match=said):
            await call("file", "read", path=path)


async def test_a_workspace_that_is_gone_is_what_is_said(call: CallTool, workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    for name, arguments in (("list", {}), ("read", {"path": "a"}), ("write", {"path": "a", "content": "x"})):
        with pytest.raises(ExecutionFailed, match=r"the workspace '.*' is not a folder any more .*start weft again"):
            await call("file", name, **arguments)


@requirement("FILE-03")
async def test_every_tool_is_confined(call: CallTool, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for name, arguments in (
        ("read", {"path": "../secret"}),
        ("write", {"path": "../secret", "content": "x"}),
        ("write", {"path": "../new/x", "content": "x", "create_dirs": True}),
        ("list", {"path": ".."}),
        ("search", {"pattern": "secret", "path": "../secret"}),
    ):
        with pytest.raises(PermissionDenied, match=f"^{name}: permission denied: '.*' is outside the workspace"):
            await call("file", name, **arguments)
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (tmp_path / "new").exists()


async def test_read_has_a_bound(call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "MAX_TEXT_BYTES", 100)
    (workspace / "long").write_text("0123456789\n" * 20)
    (workspace / "wide").write_text("x" * 200)
    with pytest.raises(ExecutionFailed, match=r"gives more than 100 bytes .use offset and limit"):
        await call("file", "read", path="long")
    assert len(text_of(await call("file", "read", path="long", offset=15, limit=3))) == 33
    with pytest.raises(ExecutionFailed, match="a line of more than 100 bytes"):
        await call("file", "read", path="wide", limit=1)


@requirement("FILE-01")
async def test_lines_are_skipped_by_pieces_and_not_one_by_one(call: CallTool, workspace: Path) -> None:
    """A repository can bring a file of a million lines in every megabyte, and a hundred of them."""
    lines = 96 * 1024 * 1024
    (workspace / "lines.txt").write_bytes(b"\n" * lines + b"last")
    start = time.monotonic()
    assert text_of(await call("file", "read", path="lines.txt", offset=lines - 1)) == "\nlast"
    assert time.monotonic() - start < 4


@requirement("FILE-01")
async def test_lines_end_where_they_end_whatever_the_pieces(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "PIECE_BYTES", 3)
    (workspace / "a.txt").write_text("ab\nc\n\ndefgh\ni")
    lines = ["ab\n", "c\n", "\n", "defgh\n", "i"]
    for offset in range(7):
        assert text_of(await call("file", "read", path="a.txt", offset=offset)) == "".join(lines[offset:])
        for limit in range(1, 7):
            read = await call("file", "read", path="a.txt", offset=offset, limit=limit)
            assert text_of(read) == "".join(lines[offset : offset + limit])
    monkeypatch.setattr(family, "MAX_SKIP_SECONDS", -1.0)
    with pytest.raises(ExecutionFailed, match=r"skipping lines of 'a\.txt' took longer"):
        await call("file", "read", path="a.txt", offset=3)


@requirement("PLUG-04")
async def test_the_manifest_is_enforced(call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "a").write_text("a")
    monkeypatch.setattr(family, "MANIFEST", Manifest("com.example.none", "None"))
    with pytest.raises(PermissionDenied, match="does not grant filesystem"):
        await call("file", "read", path="a")


# ── write ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("FILE-02")
@pytest.mark.slow  # a process
def test_what_the_person_made_read_only_is_not_replaced(workspace: Path, tmp_path: Path) -> None:
    """To root nothing is read-only, so root is tried without that right."""
    mine = workspace / "a b.txt"
    mine.write_text("mine")
    mine.chmod(0o444)
    write = [sys.executable, "-m", "clawft", "tools", "call", "--workspace", str(workspace)]
    write += ["file__write", "path=a b.txt", "content=theirs"]
    env = {**os.environ, "CLAWFT_HOME": str(tmp_path / "home")}
    anybody = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    done = subprocess.run([*anybody, *write], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "'a b.txt' is read-only (chmod u+w 'a b.txt')" in done.stdout + done.stderr
    assert (done.returncode != 0, mine.read_text()) == (True, "mine")
    mine.chmod(0o644)
    done = subprocess.run([*anybody, *write], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, mine.read_text()) == (0, "theirs")
    if anybody:
        os.chown(mine, 12_345, 12_345)
        done = subprocess.run([*anybody, *write], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert "'a b.txt' is read-only (it belongs to another user)" in done.stdout + done.stderr


@requirement("FILE-01")
async def test_a_folder_is_listed_and_a_file_is_not(call: CallTool, workspace: Path) -> None:
    (workspace / "a.txt").touch()
    with pytest.raises(ExecutionFailed, match=r"list: not a folder: 'a.txt' \(use file__read for a file\)"):
        await call("file", "list", path="a.txt")


@requirement("FILE-02")
async def test_write_makes_and_replaces(call: CallTool, workspace: Path) -> None:
    assert (await call("file", "write", path="a.txt", content="ü")).structured_content == {"path": "a.txt", "bytes": 2}
    (workspace / "a.txt").chmod(0o640)
    await call("file", "write_file", path="a.txt", content="new")
    assert (workspace / "a.txt").read_text() == "new"
    assert stat.S_IMODE((workspace / "a.txt").stat().st_mode) == 0o640
    assert os.listdir(workspace) == ["a.txt"]


@requirement("FILE-02", "FILE-03")
async def test_folders_are_made_only_when_asked(call: CallTool, workspace: Path) -> None:
    with pytest.raises(ExecutionFailed, match=r"no such file or directory: 'x/y/z.txt'") as missing:
        await call("file", "write", path="x/y/z.txt", content="")
    assert missing.value.hint == "create_dirs makes the folders"
    await call("file", "write", path="x/y/z.txt", content="deep", create_dirs=True)
    assert (workspace / "x/y/z.txt").read_text() == "deep"


@requirement("FILE-02", "FILE-03")
@pytest.mark.parametrize("path", ["new/deep/../../../out", "new/deep/" + "n" * 300])
async def test_a_write_that_is_refused_leaves_no_folders(call: CallTool, workspace: Path, path: str) -> None:
    with pytest.raises(ToolError):
        await call("file", "write", path=path, content="x", create_dirs=True)
    assert os.listdir(workspace) == []


@requirement("FILE-02")
async def test_write_follows_a_link_inside_and_keeps_it(call: CallTool, workspace: Path) -> None:
    (workspace / "real").write_text("old")
    (workspace / "link").symlink_to("real")
    (workspace / "dangling").symlink_to("made")
    await call("file", "write", path="link", content="new")
    await call("file", "write", path="dangling", content="new")
    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_text() == (workspace / "made").read_text() == "new"


@requirement("FILE-02")
async def test_a_failed_write_leaves_the_old_text_and_no_draft(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a.txt").write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExecutionFailed, match=r"no space left on device: 'a.txt'"):
        await call("file", "write", path="a.txt", content="new")
    assert (workspace / "a.txt").read_text() == "old"
    assert os.listdir(workspace) == ["a.txt"]


async def test_write_replaces_neither_folder_nor_pipe(call: CallTool, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    for path in ("folder", "pipe", "."):
        with pytest.raises(ExecutionFailed):
            await call("file", "write", path=path, content="x")
    assert sorted(os.listdir(workspace)) == ["folder", "pipe"]


@requirement("FILE-02")
@pytest.mark.skipif(sys.platform != "linux", reason="attributes of files are those of Linux")
async def test_a_file_that_is_replaced_keeps_its_attributes_and_owner(call: CallTool, workspace: Path) -> None:
    old = workspace / "a"
    old.write_text("old")
    try:
        os.setxattr(old, "user.origin", b"here")
    except OSError:
        pytest.skip("no attributes on this file system")
    if os.geteuid() == 0:
        os.chown(old, 1234, 1234)
    owner = old.stat().st_uid, old.stat().st_gid
    await call("file", "write", path="a", content="new")
    assert (old.read_text(), os.getxattr(old, "user.origin")) == ("new", b"here")
    assert (old.stat().st_uid, old.stat().st_gid) == owner


# ── list and search ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def tree(workspace: Path) -> Path:
    for path, text in (
        ("a.py", "import os\nprint('needle')\n"),
        ("src/b.py", "x = 'needle' # needle\n"),
        ("src/deep/c.txt", "Needle\nno\nneedle ü\r\n"),
        (".git/config", "needle"),
    ):
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_bytes(text.encode())
    (workspace / "bin").write_bytes(b"needle\0")
    (workspace / "away").symlink_to("/etc")
    return workspace


async def listed(call: CallTool, **arguments: Any) -> list[tuple[str, str]]:
    found = (await call("file", "list", **arguments)).structured_content
    return [(each["path"], each["type"]) for each in found["entries"]]


@requirement("FILE-03")
@pytest.mark.usefixtures("tree")
async def test_list_shows_a_folder_or_a_tree(call: CallTool) -> None:
    top = [(".git", "folder"), ("a.py", "file"), ("away", "link"), ("bin", "file"), ("src", "folder")]
    assert await listed(call) == top
    assert await listed(call, path="src", recursive=True) == [
        ("src/b.py", "file"),
        ("src/deep", "folder"),
        ("src/deep/c.txt", "file"),
    ]
    assert (".git/config", "file") not in await listed(call, recursive=True)
    cut = (await call("file", "list", limit=2)).structured_content
    assert (len(cut["entries"]), cut["truncated"]) == (2, True)
    with pytest.raises(ExecutionFailed, match=r"not a folder: 'a.py'"):
        await call("file", "list", path="a.py")


async def hits(call: CallTool, pattern: str, **arguments: Any) -> list[tuple[str, int]]:
    found = (await call("file", "search", pattern=pattern, **arguments)).structured_content
    return [(each["path"], each["line"]) for each in found["matches"]]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("regex", [False, True])
async def test_search_finds_lines(call: CallTool, regex: bool) -> None:
    everywhere = [("a.py", 2), ("src/b.py", 1), ("src/deep/c.txt", 3)]
    assert await hits(call, "needle", regex=regex) == everywhere
    assert await hits(call, "needle", regex=regex, glob="*.py") == everywhere[:2]
    assert await hits(call, "needle", regex=regex, glob="src/*") == everywhere[1:]
    assert await hits(call, "needle", regex=regex, path="src/deep") == everywhere[2:]
    assert await hits(call, "needle", regex=regex, path="a.py") == everywhere[:1]
    assert await hits(call, "nowhere", regex=regex) == []
    cut = (await call("file", "search", pattern="needle", regex=regex, limit=1)).structured_content
    assert (len(cut["matches"]), cut["truncated"]) == (1, "limit of 1 matches")


@requirement("QUAL-12")
@pytest.mark.parametrize("regex", [False, True])
async def test_a_name_that_is_no_utf8_costs_no_list_and_no_search(call: CallTool, workspace: Path, regex: bool) -> None:
    (workspace / "good").write_text("needle")
    (workspace / os.fsdecode(b"odd\xff")).write_text("needle")
    listed = (await call("file", "list")).structured_content
    assert [each["path"] for each in listed["entries"]] == ["good", "odd\\xff"]
    assert await hits(call, "needle", regex=regex) == [("good", 1), ("odd\\xff", 1)]


@requirement("QUAL-12")
async def test_what_lies_too_deep_is_not_left_out_in_silence(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (tree_module, searching):
        monkeypatch.setattr(each, "MAX_DEPTH", 2)
    (workspace / "a" / "b" / "c").mkdir(parents=True)
    (workspace / "a" / "b" / "needle").write_text("needle")
    listed = (await call("file", "list", recursive=True)).structured_content
    assert ([each["path"] for each in listed["entries"]], listed["truncated"]) == (["a", "a/b"], True)
    found = (await call("file", "search", pattern="needle")).structured_content
    assert (found["matches"], found["truncated"]) == ([], "folders 2 deep are not looked into; name one, like 'a/b'")
    for where in ("a", "a/b"):
        assert await hits(call, "needle", path=where) == [("a/b/needle", 1)]
    assert (await call("file", "list", path="a", recursive=True)).structured_content["truncated"] is True
    assert (await call("file", "list", path="a/b", recursive=True)).structured_content["truncated"] is False
    assert (await call("file", "list", path="a/b")).structured_content["truncated"] is False


@pytest.mark.usefixtures("tree")
async def test_a_pattern_is_literal_unless_said(call: CallTool) -> None:
    assert await hits(call, "n..dle") == []
    assert await hits(call, r"^\w+ ü$", regex=True) == [("src/deep/c.txt", 3)]
    with pytest.raises(InvalidArguments, match=r"the pattern is wrong: .*unterminated"):
        await call("file", "search", pattern="(", regex=True)


@requirement("QUAL-12")
async def test_a_pattern_that_explodes_is_killed(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_SECONDS", 0.5)
    (workspace / "a").write_text("a" * 40 + "!")
    with pytest.raises(ExecutionFailed, match=r"the pattern took longer than 0.5 s .simplify it"):
        await call("file", "search", pattern="(a+)+$", regex=True)


async def test_search_says_which_bound_it_reached(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_TOTAL_BYTES", 10)
    for name in "abc":
        (workspace / name).write_text("needle " * 100)
    found = (await call("file", "search", pattern="needle")).structured_content
    assert found["truncated"] == "10 bytes searched; name a folder or a glob"
    assert found["files"] == 1
    assert len(found["matches"][0]["text"]) == searching.MAX_LINE_CHARS + 1


async def test_the_clock_of_a_search_goes_on_over_what_it_passes_by(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (workspace / f"{number}.bin").write_bytes(b"\0")
    monkeypatch.setattr(searching, "MAX_SECONDS", -1.0)
    for arguments in ({}, {"glob": "*.nothing"}):
        found = (await call("file", "search", pattern="x", **arguments)).structured_content
        assert "s searched" in found["truncated"]


@pytest.mark.parametrize("regex", [False, True])
async def test_a_search_takes_no_file_apart(call: CallTool, workspace: Path, regex: bool) -> None:
    (workspace / "short.txt").write_bytes(b"ab\n" * 1_390_000 + "nädel\r\n".encode() + b"\xff nadel" * 900)
    tracemalloc.start()
    try:
        found = await call("file", "search", pattern="n.del" if regex else "del", regex=regex)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    first, second = found.structured_content["matches"]
    assert (first["line"], first["text"]) == (1_390_001, "nädel")
    assert second["line"] == 1_390_002
    assert second["text"].startswith("\ufffd nadel\ufffd")
    assert len(second["text"]) == searching.MAX_LINE_CHARS + 1
    assert most < 16 * 1024 * 1024


@requirement("FILE-03", "FILE-02")
@pytest.mark.parametrize(
    "path",
    [
        *(".git/hooks/pre-commit", ".clawft/tasks.toml", "sub/.GIT/config", "door/config", "door/new/x"),
        *(".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".cursor/mcp.json", ".husky/pre-commit"),
        *(".vscode/./tasks.json", "a/../.vscode/tasks.json", "sub/.VSCode/Tasks.json", "window/tasks.json"),
        *(".devcontainer/devcontainer.json", ".devcontainer.json", ".idea/workspace.xml", "sub/opencode.jsonc"),
        *(".qwen/settings.json", ".amazonq/mcp.json", ".junie/mcp/mcp.json", ".trae/mcp.json", ".windsurf/mcp.json"),
        *(".hg/hgrc", ".sl/config", ".jj/repo/config.toml", ".run/x.run.xml", ".fleet/run.json", "sub/crush.json"),
        *(".vs/tasks.vs.json", ".theia/tasks.json", ".helix/languages.toml", ".amp/settings.json", "a.code-workspace"),
        *(".continue/mcpServers/x.yaml", ".claude/hooks/x.sh", ".idea/runConfigurations/x.xml"),
        *(".v\u017fcode/tasks.json", ".vs\u200ccode/tasks.json", ".\uff4dcp.json", ".mcp.json.", ".husky /x"),
    ],
)
async def test_write_leaves_alone_what_decides_which_programs_run(call: CallTool, workspace: Path, path: str) -> None:
    (workspace / ".git").mkdir()
    (workspace / "door").symlink_to(".git")
    (workspace / ".vscode").mkdir()
    (workspace / "window").symlink_to(".vscode")
    there = sorted(workspace.rglob("*"))
    with pytest.raises(PermissionDenied, match="decides what programs run"):
        await call("file", "write", path=path, content="x", create_dirs=True)
    assert sorted(workspace.rglob("*")) == there


@requirement("FILE-03")
@pytest.mark.parametrize(
    "path",
    [
        *(".vscode/extensions.json", ".claude/commands/x.md", ".cursor/rules/x.mdc", ".github/workflows/x.yml"),
        *(".gitignore", "mcp.json", "x.mcp.json", "tasks.json", "docs/settings.json", "vscode/tasks.json", "husky/x"),
        "…/ä.txt",
    ],
)
async def test_write_writes_what_only_looks_like_it(call: CallTool, workspace: Path, path: str) -> None:
    await call("file", "write", path=path, content="x", create_dirs=True)
    assert (workspace / path).read_text() == "x"


# ── what reading spells out ──────────────────────────────────────────────────────────────────────────────────────────


@requirement("FILE-02")
@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfusing System;\r\nclass A {}\r\n",
        b"a\n\x0c\nb\x0c\n",
        b"a\rb\n",
        "soft\u00adhyphen \u202e \U000e0041 ⟨U+0041⟩\n".encode(),
        "it is shown as ⟨U+FEFF⟩\n".encode(),
    ],
)
async def test_a_text_that_was_read_can_be_written_back(workspace: Path, home: Path, data: bytes) -> None:
    """An agent reads `⟨U+FEFF⟩` for a byte order mark, and writes that."""
    (workspace / "a").write_bytes(data)
    async with Gateway(workspace=workspace, builtin=True) as gateway:
        read = text_of(await gateway.call_tool("file__read", path="a"))
        assert "⟨U+" in read
        written = await gateway.call_tool("file__write", path="a", content=read + "more\n")
    assert (workspace / "a").read_bytes() == data + b"more\n"
    assert written.structured_content.get("restored", 0) == read.count("⟨U+") - data.decode().count("⟨U+")


@requirement("FILE-02")
def test_a_spelling_is_put_back_only_for_what_was_there() -> None:
    assert restored("⟨U+FEFF⟩ is the mark", "plain") == ("⟨U+FEFF⟩ is the mark", 0)
    assert restored("⟨U+0041⟩ ⟨U+FEFF⟩", "A\ufeff") == ("⟨U+0041⟩ \ufeff", 1)
    assert restored("new", "\ufeff") == ("new", 0)
    for content, before in (("⟨U+FEFF⟩", "\ufeff ⟨U+FEFF⟩"), ("⟨and 24 more hidden⟩", "\u200b" * 40)):
        with pytest.raises(InvalidArguments, match="not clear"):
            restored(content, before)
