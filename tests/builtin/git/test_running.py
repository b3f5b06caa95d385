"""Git as a process: bounded, cancelled, off the loop, with progress."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.command_places import Turn
from clawft.builtin.git import Bounds, GitSettings, git_tools
from clawft.builtin.git import program as program_module
from clawft.builtin.git.program import NO_PROTOCOL, GitProgram, environment, program
from clawft.builtin.git.progress import GitProgress
from clawft.builtin.git.run import RunLimits, RunPurpose, run
from clawft.errors import ExecutionFailed
from clawft.model import Call, Caller, Origin, SilentTalk
from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider, definition_of
from clawft.store.memory import MemoryStore
from tests.builtin.git.plain import Tools, git, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

LIMITS = RunLimits(30, 1000, 1000, Turn(Caller()))


async def until(true: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for something another process does; fails when the time is up."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - no event tells of what another process does
            await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def start(argv: list[str], folder: Path, limits: RunLimits = LIMITS, **more: Any) -> Any:
    return await run(argv, tool="t", folder=str(folder), env={}, limits=limits, **more)


@requirement("GIT-11", "QUAL-12")
@pytest.mark.parametrize("runner", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("size", [0, 3, 500_000])
def test_output_and_input_are_carried(tmp_path: Path, runner: Callable[..., Any], size: int) -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('e'); sys.exit(3)"
    limits = msgspec.structs.replace(LIMITS, output_bytes=size)
    done = runner(start(python(code), tmp_path, limits, stdin=b"a" * size))
    assert (done.code, done.out, done.err) == (3, b"A" * size, "e")


@requirement("QUAL-12")
async def test_too_much_output_is_an_error_and_never_a_part(tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailed, match="more than 1000 bytes"):
        await start(python("import sys\nwhile True: sys.stdout.write('x' * 999)"), tmp_path)


@requirement("QUAL-12", "QUAL-13")
@pytest.mark.parametrize("way", ["deadline", "cancel"])
async def test_a_deadline_or_a_cancel_ends_all_of_it(tmp_path: Path, way: str) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])\n"
        "open('pids.part', 'w').write(f'{os.getpid()} {child.pid}'); os.rename('pids.part', 'pids')\n"
        "time.sleep(600)"
    )
    limits = msgspec.structs.replace(LIMITS, seconds=2 if way == "deadline" else 60)
    running = asyncio.create_task(start(python(code), tmp_path, limits))
    await until((tmp_path / "pids").exists)
    if way == "cancel":
        running.cancel()
    with pytest.raises(ExecutionFailed if way == "deadline" else asyncio.CancelledError):
        await asyncio.wait_for(running, 20)
    for pid in (tmp_path / "pids").read_text().split():
        await until(lambda pid=pid: gone(int(pid)))


@requirement("GIT-11")
async def test_a_cancelled_clone_leaves_nothing(workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = workspace / "slow"
    slow.mkdir()
    (slow / "git").write_text(
        f'#!/bin/sh\nlast="$(eval echo \\${{$#}})"\nmkdir -p "$last/half"\necho $$ > "{slow}/pid"\nexec sleep 600\n'
    )
    (slow / "git").chmod(0o755)
    fake = GitProgram((str(slow / "git"), "--no-pager"), ())
    monkeypatch.setattr("clawft.builtin.git.clone.program", lambda: fake)
    running = asyncio.create_task(Tools(workspace)("clone", url="r", target_path="copy"))
    await until((slow / "pid").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)
    assert sorted(path.name for path in workspace.iterdir()) == ["r", "slow"]


@requirement("GIT-11", "F1-A05")
async def test_the_loop_goes_on_while_git_works(workspace: Path, repo: Path) -> None:
    for number in range(300):
        (repo / f"f{number}").write_text(f"{number}\n" * 50)
    tools = Tools(workspace)
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - began)

    ticking = asyncio.create_task(tick())
    calls = [tools("commit", repo_path="r", message="m", author_name="a", author_email="a@b")]
    calls += [tools(name, repo_path="r") for name in ("status", "log", "diff", "branch") for _ in range(3)]
    await asyncio.gather(*calls)
    ticking.cancel()
    assert worst < 0.5, "generous: the machine may be busy"


@requirement("GIT-11")
async def test_calls_at_the_same_time_do_not_meet(workspace: Path) -> None:
    for number in range(8):
        save(new(workspace / f"r{number}"), f"message {number}", a_txt="x\n")
    tools = Tools(workspace)
    found = await asyncio.gather(*(tools("log", repo_path=f"r{number}") for number in range(8) for _ in range(3)))
    assert [each["result"][0]["message"] for each in found] == [f"message {n}" for n in range(8) for _ in range(3)]


class Told(SilentTalk):
    """Remembers what was reported."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float | None, str]] = []

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        self.steps.append((progress, total, message))


@requirement("GIT-02")
async def test_clone_and_fetch_report_progress(workspace: Path, repo: Path) -> None:
    provider = FunctionProvider("git", git_tools(GitSettings()), workspace=workspace, store=MemoryStore())
    tools = {tool.name: tool for tool in provider.list_tools()}

    async def steps_of(name: str, **arguments: str) -> list[tuple[float, float | None, str]]:
        talk = Told()
        encoded = msgspec.json.encode(arguments)
        call = Call(Caller(), f"git__{name}", tools[name], Origin("git"), encoded, talk=talk)
        assert not (await provider.run(call)).is_error
        return talk.steps

    cloned = await steps_of("clone", url="r", target_path="copy")
    assert any(message.startswith("Receiving objects") for _, _, message in cloned)
    save(repo, a_txt="more\n" * 100)
    fetched = await steps_of("fetch", repo_path="copy")
    for steps in (cloned, fetched):
        values = [value for value, _, _ in steps]
        assert values == sorted(set(values))
        assert all(total is not None and value <= total for value, total, _ in steps)
    assert fetched


LINES = (
    b"Cloning into 'x'...\nremote: Enumerating objects: 6, done.        \n"
    b"remote: Counting objects:  16% (1/6)\rremote: Counting objects: 100% (6/6), done.\n"
    b"Receiving objects:  50% (3/6)\rReceiving objects: 100% (6/6), 2.00 KiB | 1 MiB/s, done.\n"
    b"Resolving deltas: 100% (1/1), done.\nfatal: odd\n"
)


@requirement("GIT-02")
@given(st.lists(st.integers(0, len(LINES)), max_size=8))
def test_progress_is_the_same_however_it_arrives(cuts: list[int]) -> None:
    def steps(pieces: list[bytes]) -> list[str]:
        found: list[str] = []
        progress = GitProgress(lambda done, total, message: found.append(f"{done:g} {message}"))
        for piece in pieces:
            progress.feed(piece)
        return found

    places = [0, *sorted(cuts), len(LINES)]
    pieces = [LINES[start:end] for start, end in pairwise(places)]
    assert steps(pieces) == [
        "116 Counting objects 1/6",
        "200 Counting objects 6/6",
        "450 Receiving objects 3/6",
        "500 Receiving objects 6/6",
        "700 Resolving deltas 1/1",
    ]


@requirement("PLUG-04", "GIT-12")
def test_git_sees_only_what_it_needs() -> None:
    environ = {"PATH": "/usr/bin:.::/bin", "HOME": "/h", "GIT_DIR": "/x", "TOKEN": "s", "SSH_AUTH_SOCK": "/s"}
    plain = environment(GitSettings(variables=("SSH_AUTH_SOCK",)), RunPurpose(trusted=False), environ=environ)
    assert not {"TOKEN", "GIT_DIR", "SSH_AUTH_SOCK"} & plain.keys()
    assert plain["PATH"] == "/usr/bin:/bin"
    assert plain["GIT_ALLOW_PROTOCOL"] == NO_PROTOCOL
    assert plain["GIT_CONFIG_GLOBAL"] == os.devnull
    trusted = environment(
        GitSettings(variables=("SSH_AUTH_SOCK",)), RunPurpose(trusted=True, protocols=["https", "ssh"]), environ=environ
    )
    assert (trusted["SSH_AUTH_SOCK"], trusted["GIT_ALLOW_PROTOCOL"]) == ("/s", "https:ssh")
    assert "GIT_CONFIG_GLOBAL" not in trusted


@requirement("GIT-13", "PLUG-09", "F1-A01")
def test_without_git_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program_module.program.cache_clear()
    try:
        with pytest.raises(ExecutionFailed, match=r"git is not installed .*clawft\[git\]"):
            program()
        (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.20.1\n")
        (tmp_path / "git").chmod(0o755)
        with pytest.raises(ExecutionFailed, match="too old"):
            program()
    finally:
        program_module.program.cache_clear()


@requirement("QUAL-13")
async def test_no_descriptor_and_no_process_is_left(workspace: Path, repo: Path) -> None:
    tools = Tools(workspace)
    await tools("status", repo_path="r")
    own = psutil.Process()
    before = own.num_fds()
    for _ in range(5):
        await tools("status", repo_path="r")
        with pytest.raises(ExecutionFailed):
            await tools("log", repo_path="r", revision="nope")
    assert own.num_fds() <= before
    assert [child for child in own.children() if child.name() == "git"] == []


FAKE_SSH = """#!/bin/sh
printf '%s\\n' "$@" > "{log}"
for last; do :; done
cd "{root}" && exec sh -c "$last"
"""


@requirement("GIT-12", "GIT-02")
async def test_ssh_is_the_one_of_the_path_and_asks_nothing(
    workspace: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for ssh that serves from this machine. `core.sshCommand` of a repository is not used."""
    programs = workspace / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(FAKE_SSH.format(log=programs / "log", root=workspace))
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    tools = Tools(workspace)
    await tools("clone", url="git@github.com:r", target_path="copy")
    words = (programs / "log").read_text().split("\n")
    assert words[0] == "-oBatchMode=yes"
    assert "git@github.com" in words
    git(workspace / "copy", "config", "core.sshCommand", f"touch {programs / 'evil'};")
    head = save(repo, a_txt="more\n")
    assert (await tools("fetch", repo_path="copy"))["updated"][0]["new"] == head
    git(workspace / "copy", "switch", "--quiet", "--create", "topic")
    mine = save(workspace / "copy", "mine", own="x\n")
    assert (await tools("push", repo_path="copy"))["refs"][0]["status"] == "new"
    assert said(repo, "rev-parse", "topic") == mine
    assert not (programs / "evil").exists()


@requirement("QUAL-12")
async def test_the_deadline_of_the_settings_counts(workspace: Path, repo: Path) -> None:
    git(repo, "config", "filter.slow.clean", "sleep 600")
    (repo / ".gitattributes").write_text("*.txt filter=slow\n")
    (repo / "a.txt").write_text("changed\n")
    settings = GitSettings(trusted=lambda place: True, bounds=Bounds(seconds=1.0))
    with pytest.raises(ExecutionFailed, match=r"took longer than 1 s and was ended \(what it was to change may be"):
        await Tools(workspace, settings)("diff", repo_path="r")


@requirement("PLUG-08")
async def test_a_tool_is_called_with_parameters_and_a_context(workspace: Path, repo: Path) -> None:
    status = next(each for each in map(definition_of, git_tools(GitSettings())) if each.name == "status")
    call = Call(Caller(), "git__status", status.tool, Origin("git"), b"{}")
    done = await status.execute({"repo_path": "r"}, ToolContext(call, workspace, MemoryStore()))
    assert done.structured_content["branch"] == "main"


@requirement("GIT-12")
def test_not_even_the_question_for_its_version_hears_our_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    program.cache_clear()
    program()
    assert not (tmp_path / "trace").exists()
