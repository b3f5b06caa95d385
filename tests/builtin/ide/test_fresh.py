"""Diagnostics are called fresh only when they describe the text as it is, in whatever order a server says things."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawft.builtin.ide.lsp import settling
from clawft.builtin.ide.lsp.backend import HeadlessIde
from clawft.builtin.ide.lsp.messages import LspAction, LspEdit, LspWorkspaceEdit, uri_of
from clawft.builtin.ide.lsp.rpc import CONTENT_MODIFIED, SERVER_CANCELLED
from clawft.builtin.ide.lsp.server import LspServer
from clawft.builtin.ide.model import FileEdit, Position, Range, TextEdit
from clawft.errors import IdeFailed, PermissionDenied
from tests.builtin.ide import puppet_server
from tests.requirements import requirement

PATIENCE_MS = 20_000
TOP = Range(Position(0, 0), Position(0, 0))
WORK: dict[str, Any] = {"id": "w", "method": "window/workDoneProgress/create", "params": {"token": "work"}}
DONE: dict[str, Any] = {"method": "$/progress", "params": {"token": "work", "value": {"kind": "end"}}}


def judged(*problems: str, version: str | None = "newest") -> dict[str, Any]:
    items = [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}, "message": each}
             for each in problems]  # fmt: skip
    return {
        "method": "textDocument/publishDiagnostics",
        "params": {"uri": "URI", "diagnostics": items, "version": version},
    }


class Puppet:
    """The language server in place of an editor, and its strings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ide = HeadlessIde(folder)

    async def says(self, *messages: dict[str, Any], path: str = "main.sh") -> None:
        """All of it has been heard when this returns."""
        (self.folder / "next").write_text(json.dumps(messages))
        await self.ide.document_symbols(self._whole(path))

    async def edit(self, path: str = "main.sh", *, save: bool = False) -> None:
        await self.ide.apply_edit([FileEdit(self._whole(path), [TextEdit(TOP, "#\n")])], save=save)

    async def problems(self, path: str = "main.sh", wait_ms: int = 0) -> tuple[list[str], bool]:
        """And whether they are said to be fresh."""
        found = await self.ide.get_diagnostics(self._whole(path), wait_ms)
        return [each.message for each in found.items], found.fresh

    def _whole(self, path: str) -> str:
        return str(self.folder.resolve() / path)


@pytest.fixture
async def puppet(workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Puppet]:
    programs = workspace.parent / "bin"
    programs.mkdir()
    program = programs / "bash-language-server"
    program.write_text(f"#!{sys.executable}\n{Path(puppet_server.__file__).read_text()}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin:/bin")
    for name in ("main.sh", "other.sh"):
        (workspace / name).write_text("x\n")
    found = Puppet(workspace)
    yield found
    await found.ide.close()


@requirement("IDE-09")
async def test_what_a_server_says_while_it_still_works_is_not_the_last_word(puppet: Puppet) -> None:
    """Pyright gives what it knows of the old text the number of the new one, until it has come to check that."""
    await puppet.says(judged("wrong"))
    assert await puppet.problems() == (["wrong"], True)
    await puppet.edit()
    await puppet.says(WORK, judged("wrong"))
    assert await puppet.problems() == (["wrong"], False)
    await puppet.says(judged(), DONE)
    assert await puppet.problems() == ([], True)


@requirement("IDE-09")
async def test_a_late_word_on_a_text_that_was_closed_is_not_about_the_one_opened_since(puppet: Puppet) -> None:
    await puppet.edit()
    await puppet.edit(save=True)
    await puppet.says(judged("wrong"))
    (puppet.folder / "main.sh").unlink()
    puppet.ide.changed_on_disk(None)
    await puppet.problems("other.sh")  # by looking at the folder it learns that the text is gone
    (puppet.folder / "main.sh").write_text("y\n")
    await puppet.says(judged("wrong", version="former"))
    assert await puppet.problems() == (["wrong"], False)
    await puppet.says(judged())
    assert await puppet.problems() == ([], True)


@requirement("IDE-09")
async def test_who_numbers_its_words_means_no_text_by_one_without(
    puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So Pyright clears what it has said of a text that was closed, even if it has been opened again since."""
    monkeypatch.setattr(settling, "QUIET_SECONDS", 0.0)
    await puppet.says(judged("wrong"))
    await puppet.edit()
    await puppet.says(judged(version=None))
    assert await puppet.problems() == ([], False)
    await puppet.says(judged("wrong"))
    assert await puppet.problems() == (["wrong"], True)


@requirement("IDE-09")
async def test_one_that_never_numbers_its_words_is_believed_when_it_is_quiet(
    puppet: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "QUIET_SECONDS", 0.0)
    await puppet.says(judged("wrong", version=None))
    assert await puppet.problems() == (["wrong"], True)
    await puppet.edit()
    assert await puppet.problems() == (["wrong"], False)
    await puppet.says(judged(version=None))
    assert await puppet.problems() == ([], True)


@requirement("IDE-09")
async def test_a_text_judged_before_another_one_changed_is_judged_again(puppet: Puppet) -> None:
    """What comes in after the change may have been thought out before it."""
    await puppet.problems()
    await puppet.edit("other.sh")
    await puppet.says(judged("wrong"))
    assert await puppet.problems() == (["wrong"], False)
    await puppet.says(judged())
    assert await puppet.problems() == ([], True)


@requirement("IDE-09")
@pytest.mark.parametrize("code", [CONTENT_MODIFIED, SERVER_CANCELLED])
async def test_one_that_is_asked_and_not_ready_is_pending(puppet: Puppet, code: int) -> None:
    """As Rust's is while it still reads the project."""
    (puppet.folder / "pulled").write_text(json.dumps({"error": {"code": code, "message": "not now"}}))
    assert await puppet.problems(wait_ms=PATIENCE_MS) == ([], False)
    said = judged("wrong")["params"]["diagnostics"]
    (puppet.folder / "pulled").write_text(json.dumps({"result": {"kind": "full", "items": said}}))
    assert await puppet.problems(wait_ms=PATIENCE_MS) == (["wrong"], True)
    (puppet.folder / "pulled").write_text(json.dumps({"error": {"code": -32603, "message": "broken"}}))
    with pytest.raises(IdeFailed, match="broken"):
        await puppet.problems(wait_ms=PATIENCE_MS)


@requirement("IDE-09")
async def test_a_server_that_does_not_come_up_is_not_left_running(puppet: Puppet) -> None:
    (puppet.folder / "unwilling").touch()
    with pytest.raises(IdeFailed, match="not today"):
        await puppet.says()
    left = [each.cmdline() for each in psutil.Process().children(recursive=True)]
    assert not [words for words in left if any("bash-language-server" in word for word in words)]


@requirement("IDE-08")
@pytest.mark.parametrize("asked", ["textDocument/rename", "textDocument/codeAction"])
async def test_what_a_server_answers_is_not_done_to_a_text_that_changed_meanwhile(
    puppet: Puppet, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    file = str(puppet.folder.resolve() / "main.sh")
    await puppet.ide.read(file)
    change = LspWorkspaceEdit({uri_of(file): [LspEdit(TOP, "renamed ")]})

    async def request(server: LspServer, method: str, *_: Any) -> Any:
        assert method == asked
        await puppet.edit()
        return change if method == "textDocument/rename" else [LspAction("fix", edit=change)]

    monkeypatch.setattr(LspServer, "request", request)
    if asked == "textDocument/rename":
        changes = await puppet.ide.rename(file, Position(0, 0), "renamed")
    else:
        [offered] = await puppet.ide.code_actions(file, TOP)
        changes = offered.changes
    with pytest.raises(IdeFailed, match="the text has version 2, not 1") as refused:
        await puppet.ide.apply_edit(changes, save=True)
    assert refused.value.kind == "stale"
    assert (await puppet.ide.read(file)).text == "#\nx\n"


@requirement("IDE-08")
@pytest.mark.parametrize("place", ["outside", "inside"])
async def test_a_link_that_is_put_on_the_way_leads_a_change_nowhere(
    puppet: Puppet, workspace: Path, place: str
) -> None:
    """Time and size of the file behind it are those of the file that was changed."""
    target = workspace.parent / "outside" if place == "outside" else workspace / ".vscode"
    for folder in (workspace / "sub", target):
        folder.mkdir()
        (folder / "a.sh").write_text("x\n")
        os.utime(folder / "a.sh", (1, 1))
    await puppet.edit("sub/a.sh")
    (workspace / "sub").rename(workspace / "aside")
    (workspace / "sub").symlink_to(target)
    with pytest.raises((IdeFailed, PermissionDenied)):
        await puppet.ide.save(str(workspace.resolve() / "sub" / "a.sh"))
    assert (target / "a.sh").read_text() == "x\n"
    assert (workspace / "aside" / "a.sh").read_text() == "x\n"
