"""Language servers stay in a cell: a project decides what they read, and some run what it brings along."""

import asyncio
import os
import socket
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from clawft.builtin.ide.lsp import cell as held
from clawft.builtin.ide.lsp import rpc
from clawft.builtin.ide.lsp.backend import HeadlessIde
from clawft.builtin.ide.model import Position
from clawft.errors import IdeFailed, IdeNotConnected
from clawft.sandbox.probe import Means
from tests.builtin.ide import hostile_server
from tests.nesting import TOO_DEEP, nested
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, means

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

RUNS_PROJECT_CODE, RUNS_NONE = "rust-analyzer", "bash-language-server"
FILES = {RUNS_PROJECT_CODE: "main.rs", RUNS_NONE: "main.sh"}
EVERYTHING = {"secret", "ours", "letter", "login", "outside", "steering", "workspace", "network", "parent"}


@pytest.fixture
def project(workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A user with secrets, whose PATH has language servers that look for them; `home` is ours."""
    user = workspace.parent / "user"
    (user / ".ssh").mkdir(parents=True)
    (user / ".ssh/id_ed25519").write_text("secret")
    (user / "letter.txt").write_text("private")
    programs = user / "bin"
    programs.mkdir()
    for name in FILES:
        program = programs / name
        program.write_text(f"#!{sys.executable}\n{Path(hostile_server.__file__).read_text()}")
        program.chmod(0o755)
    (user / ".clawft").symlink_to(home)
    (home / "gateway.token").write_text("secret")
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    for name in FILES.values():
        (workspace / name).write_text("x\n")
    (workspace / ".mcp.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as service:
        where = (user, workspace.parent, service.getsockname()[1], os.getpid())
        (workspace / "attack").write_text("\n".join(map(str, where)))
        yield workspace


def trust(home: Path, workspace: Path) -> None:
    (home / "trusted").write_text(f"{workspace.resolve()}\n")
    (home / "trusted").chmod(0o600)


async def got(workspace: Path, server: str, sandbox: str = "auto") -> set[str]:
    headless = HeadlessIde(workspace, sandbox=sandbox)
    try:
        said = await headless.hover(str(workspace.resolve() / FILES[server]), Position(0, 0))
        assert said is not None
        found = set(said.contents.split())
    finally:
        await headless.close()
    outside = workspace.parent / "mark"  # seen from here: inside it may write to a /tmp of its own
    found = found - {"outside"} | ({"outside"} if outside.exists() else set[str]())
    outside.unlink(missing_ok=True)
    return found - {"nothing"}


@requirement("PLUG-04", "POOL-22")
@pytest.mark.parametrize("level", LEVELS)
async def test_a_server_gets_what_it_needs_and_no_more(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setattr(held, "this_machine", lambda: means(level))
    assert await got(project, RUNS_NONE) == set()
    assert await got(project, RUNS_NONE, "require") == set()
    trust(home, project)
    assert await got(project, RUNS_NONE) == {"letter"}
    assert await got(project, RUNS_NONE, "strict") == set()
    steering = set[str]() if level == "bwrap" else {"steering"}  # which Landlock cannot say, as the guide tells
    assert await got(project, RUNS_PROJECT_CODE) == {"letter", "workspace"} | steering
    assert await got(project, RUNS_PROJECT_CODE, "strict") == {"workspace"} | steering


@requirement("PLUG-04")
async def test_a_refusal_prints_the_line_that_trusts_the_folder(project: Path, home: Path) -> None:
    with pytest.raises(IdeNotConnected, match="is not trusted") as refused:
        await got(project, RUNS_PROJECT_CODE)
    assert refused.value.hint.endswith(f"run: echo {project.resolve()} >> {home / 'trusted'}")


@requirement("PLUG-04")
@pytest.mark.parametrize("folder", [".", "{}/node_modules/.bin"])
async def test_no_server_comes_from_the_workspace(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """The attack: a PATH that names a folder of the project, as `npm run` has one."""
    place = project / folder.format(project)
    place.mkdir(parents=True, exist_ok=True)
    (Path(os.environ["HOME"]) / "bin" / RUNS_NONE).rename(place / RUNS_NONE)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{folder.format(project)}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(IdeNotConnected, match="bash-language-server is not installed"):
        await got(project, RUNS_NONE)


@requirement("PLUG-04")
async def test_without_a_cell_it_gets_everything(project: Path, home: Path) -> None:
    """So the test above can see what it looks for."""
    trust(home, project)
    assert await got(project, RUNS_PROJECT_CODE, "off") == EVERYTHING


@requirement("PLUG-04")
async def test_one_line_says_what_holds_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "this_machine", lambda: Means(reason="bubblewrap is not installed"))
    headless = HeadlessIde(project)
    try:
        await headless.hover(str(project.resolve() / FILES[RUNS_NONE]), Position(0, 0))
        assert headless.window.sandbox == f"{RUNS_NONE}: none (bubblewrap is not installed)"
    finally:
        await headless.close()
    headless = HeadlessIde(project, sandbox="require")
    with pytest.raises(IdeFailed, match="its required sandbox is not available: bubblewrap is not installed"):
        await headless.hover(str(project.resolve() / FILES[RUNS_NONE]), Position(0, 0))
    await headless.close()


@pytest.mark.parametrize("level", LEVELS)
async def test_one_that_closes_its_output_has_ended_and_the_next_question_starts_another(
    project: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setattr(held, "this_machine", lambda: means(level))
    (project / "mute").touch()
    headless = HeadlessIde(project)
    file = str(project.resolve() / FILES[RUNS_NONE])
    try:
        async with asyncio.timeout(15):  # its deadline is longer
            with pytest.raises(IdeFailed, match=f"{RUNS_NONE} closed its output"):
                await headless.hover(file, Position(0, 0))
            (project / "mute").unlink()
            assert await headless.hover(file, Position(0, 0))
    finally:
        await headless.close()


async def test_one_that_does_not_read_is_given_up_before_much_waits_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "MAX_UNREAD_BYTES", 1024 * 1024)
    (project / "deaf").touch()
    headless = HeadlessIde(project)
    file = project.resolve() / FILES[RUNS_NONE]
    try:
        first = asyncio.create_task(headless.hover(str(file), Position(0, 0)))
        asking = {first}
        while not first.done():
            file.write_text(f"{os.urandom(200_000).hex()}\n")
            asking.add(asyncio.create_task(headless.hover(str(file), Position(0, 0))))
            await asyncio.wait({first}, timeout=0.1)
        with pytest.raises(IdeFailed, match="does not read: 1048576 bytes wait"):
            await first
        await asyncio.wait(asking)
    finally:
        await headless.close()


PUBLISHED = '{"method":"textDocument/publishDiagnostics","params":{"uri":"URI","version":1,"diagnostics":[%s]}}'
PLACED = '{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"message":"cut \\ud83d"}'


@requirement("IDE-13")
@pytest.mark.parametrize(
    "said",
    [
        '{"id":1,"method":"workspace/configuration","params":17}',
        '{"id":1,"method":"window/workDoneProgress/create","params":[]}',
        '{"method":"x","params":' + nested(TOO_DEEP) + "}",
    ],
    ids=["settings", "work", "deep"],
)
async def test_one_that_says_what_is_no_message_is_ended_and_told(project: Path, said: str) -> None:
    (project / "says").write_text(said)
    headless = HeadlessIde(project)
    file = str(project.resolve() / FILES[RUNS_NONE])
    try:
        async with asyncio.timeout(15):
            with pytest.raises(IdeFailed, match=f"{RUNS_NONE} wrote something that is not a message"):
                await headless.get_diagnostics(file, 10_000)
            (project / "says").unlink()
            assert await headless.hover(file, Position(0, 0))
    finally:
        await headless.close()


NOWHERE = '{"range":{"start":{"line":-1,"character":0},"end":{"line":-1,"character":0}},"message":"of the whole file"}'
ODD = '{"range":17,"message":"odd"},17,{"range":17},' + PLACED.replace(
    '"message"', '"severity":null,"code":{},"message"'
)


@requirement("IDE-09")
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (PUBLISHED % f"{NOWHERE},{PLACED}", ["of the whole file", "cut \ufffd"]),
        (PUBLISHED % ODD, ["odd", "cut \ufffd"]),
        ('{"method":"$/progress","params":null}', []),
        (PUBLISHED.replace('"URI"', "17") % PLACED, []),
    ],
    ids=["nowhere", "odd", "progress", "no file"],
)
async def test_what_a_server_says_wrong_costs_neither_it_nor_the_rest(
    project: Path, said: str, told: list[str]
) -> None:
    (project / "says").write_text(said)
    headless = HeadlessIde(project)
    file = str(project.resolve() / FILES[RUNS_NONE])
    try:
        found = await headless.get_diagnostics(file, 10_000 if told else 500)
        assert [each.message for each in found.items] == told
        assert all(each.range.start == Position(0, 0) for each in found.items)
        assert await headless.hover(file, Position(0, 0))
    finally:
        await headless.close()


@requirement("IDE-09")
async def test_half_a_character_costs_neither_the_server_nor_what_it_says(project: Path) -> None:
    (project / "says").write_text(PUBLISHED % PLACED)
    headless = HeadlessIde(project)
    try:
        found = await headless.get_diagnostics(str(project.resolve() / FILES[RUNS_NONE]), 10_000)
        assert [each.message for each in found.items] == ["cut \ufffd"]
    finally:
        await headless.close()
