"""Commands, run as real processes."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from clawft.builtin import cells, process, shell
from clawft.builtin.process import clear_environment
from clawft.builtin.tail import Tail
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied
from clawft.model import CallToolResult
from clawft.provider.function import FunctionProvider
from clawft.provider.manifest import Manifest
from clawft.sandbox.probe import leash, probe
from clawft.store.memory import MemoryStore
from tests.builtin.build.trusting import running_in
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

CallTool = Callable[..., Awaitable[CallToolResult]]

HANGING = f"""#!{sys.executable}
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf])
open("pids", "w").write(f"{{os.getpid()}} {{child.pid}}")
print("so far", flush=True)
print("so bad", file=sys.stderr, flush=True)
time.sleep(600)
"""


def script(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return f"./{name}"


async def until(true: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for something another process does; fails when the time is up."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - no event tells of another process's end
            await asyncio.sleep(0.01)


@requirement("EXEC-01", "T-7.9")
async def test_a_command_gives_code_and_output(call: CallTool, workspace: Path) -> None:
    (workspace / "sub dir").mkdir()
    (workspace / "sub dir" / "x.txt").write_text("")
    done = (await call("shell", "exec", command="ls -a 'sub dir'")).structured_content
    assert done == {
        "exit_code": 0,
        "stdout": ".\n..\nx.txt\n",
        "stderr": "",
        "timed_out": False,
        "truncated": False,
    }
    done = (await call("shell", "exec_shell", command="ls nope", cwd="sub dir")).structured_content
    assert done["exit_code"] != 0
    assert "nope" in done["stderr"]


@requirement("EXEC-01")
async def test_it_runs_in_the_folder_it_was_told(call: CallTool, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    assert (await call("shell", "exec", command="pwd")).structured_content["stdout"].strip() == str(workspace.resolve())
    inner = (await call("shell", "exec", command="pwd", cwd="sub")).structured_content["stdout"].strip()
    assert inner == str((workspace / "sub").resolve())
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await call("shell", "exec", command="pwd", cwd="..")
    with pytest.raises(ExecutionFailed, match="'nope'"):
        await call("shell", "exec", command="pwd", cwd="nope")


@requirement("EXEC-02")
async def test_the_environment_is_cleared(call: CallTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "very-secret")
    done = (await call("shell", "exec", command="env")).structured_content["stdout"]
    private = {"TMPDIR"} if probe().level == "landlock" else set[str]()  # which has no /tmp of its own
    assert {line.split("=")[0] for line in done.splitlines()} <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_"} | private
    assert "very-secret" not in done
    assert clear_environment({"API": "x"}) == {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@requirement("EXEC-01")
async def test_input_is_empty(call: CallTool) -> None:
    done = (await call("shell", "exec", command="cat", timeout_s=10)).structured_content
    assert (done["exit_code"], done["stdout"]) == (0, "")


@requirement("EXEC-01")
async def test_at_the_deadline_the_whole_group_is_gone_and_the_output_returned(
    call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.link.process.STOP_SECONDS", 0.2)
    command = script(workspace, "hang", HANGING)
    async with asyncio.timeout(20):
        done = (await call("shell", "exec", command=command, timeout_s=2)).structured_content
    assert (done["timed_out"], done["stdout"], done["stderr"]) == (True, "so far\n", "so bad\n")
    by_tender = (128 + 15,) if probe().level == "landlock" else ()  # which SIGTERM ends
    assert done["exit_code"] in (-9, 128 + 9, *by_tender)
    await until(lambda: not running_in(workspace))


@requirement("EXEC-01")
async def test_cancelling_ends_the_group(call: CallTool, workspace: Path) -> None:
    command = script(workspace, "hang", HANGING)
    running = asyncio.ensure_future(call("shell", "exec", command=command))
    pids = workspace / "pids"
    await until(lambda: pids.exists() and " " in pids.read_text())
    assert len(running_in(workspace)) >= 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not running_in(workspace))


@requirement("EXEC-01")
async def test_what_a_command_leaves_behind_is_ended(call: CallTool, workspace: Path) -> None:
    text = f"#!/bin/sh\n{sys.executable} -c 'import time; time.sleep(600)' & echo $! > left; echo done\n"
    command = script(workspace, "leave", text)
    async with asyncio.timeout(20):
        done = (await call("shell", "exec", command=command)).structured_content
    assert (done["exit_code"], done["stdout"], done["timed_out"]) == (0, "done\n", False)
    await until(lambda: not running_in(workspace))


@requirement("EXEC-01", "PLUG-04")
@pytest.mark.parametrize("sandbox", ["off", "auto"])
async def test_one_that_leaves_the_group_does_not_hold_the_answer_up(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    monkeypatch.setattr(process, "DRAIN_S", 0.1)
    text = f"#!{sys.executable}\nimport os, time\nheard, told = os.pipe()\npid = os.fork()\n"
    text += "if pid:\n    os.read(heard, 1)\n    open('left', 'w').write(str(pid))\n    print('done', flush=True)\n"
    text += "else:\n    os.setsid()\n    os.write(told, b'x')\n    time.sleep(60)\n"
    command = script(workspace, "escape", text)
    async with asyncio.timeout(20):
        done = await held(workspace, command, sandbox)
    assert (done["exit_code"], done["stdout"]) == (0, "done\n")
    if sandbox == "auto" and probe().level != "none":
        await until(lambda: not running_in(workspace))
        return
    (escaped,) = running_in(workspace)
    escaped.kill()


async def held(workspace: Path, command: str, sandbox: str) -> dict[str, Any]:
    """Run with a sandbox of our choice."""
    provider = FunctionProvider("shell", workspace=workspace, store=MemoryStore())
    provider.add(shell.shell_tool(shell.ShellSettings(sandbox=sandbox)))
    return dict((await provider.call_tool("exec", {"command": command})).structured_content)


@requirement("PLUG-04", "POOL-22")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_a_command_sees_no_secrets_and_writes_to_the_workspace_only(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if probe().level == "none":
        pytest.skip(f"no sandbox: {probe().reason}")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret")
    for command, inside, free in (
        (f"cat {tmp_path}/.ssh/id", 1, 0),
        (f"cp /etc/passwd {tmp_path}/.bashrc", 1, 0),
        ("touch here", 0, 0),
    ):
        assert (await held(workspace, command, "off"))["exit_code"] == free
        assert (await held(workspace, command, "auto"))["exit_code"] == inside
        assert (await held(workspace, command, "strict"))["exit_code"] == inside


@requirement("PLUG-04", "POOL-22")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_strict_takes_the_network_away(workspace: Path) -> None:
    if probe().level == "none":
        pytest.skip(f"no sandbox: {probe().reason}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        where = listener.getsockname()[1]
        command = f"{sys.executable} -c \"import socket; socket.create_connection(('127.0.0.1', {where}))\""
        assert (await held(workspace, command, "auto"))["exit_code"] == 0
        assert (await held(workspace, command, "strict"))["exit_code"] == 1


@requirement("EXEC-02")
async def test_output_is_bounded_and_its_end_is_kept(call: CallTool, workspace: Path) -> None:
    text = f"#!{sys.executable}\nimport sys\nsys.stdout.write('x' * 2_000_000 + 'the end')\n"
    done = (await call("shell", "exec", command=script(workspace, "much", text))).structured_content
    note, _, rest = done["stdout"].partition("\n")
    assert note == f"[the first {2_000_007 - shell.MAX_OUTPUT_BYTES} bytes are left out]"
    assert len(rest) == shell.MAX_OUTPUT_BYTES
    assert rest.endswith("the end")
    assert done["truncated"] is True


def test_the_tail_keeps_the_last_bytes_however_they_come() -> None:
    data = bytes(range(65, 91)) * 3
    for size in (1, 2, 7, 10, 78):
        tail = Tail(10)
        for at in range(0, len(data), size):
            tail.add(data[at : at + size])
        assert tail.text() == "[the first 68 bytes are left out]\nQRSTUVWXYZ"
    short = Tail(10)
    short.add(b"0123456789")
    assert (short.text(), short.lost) == ("0123456789", 0)


@requirement("EXEC-01")
async def test_a_glob_is_expanded_by_nobody_and_never_without_a_word(call: CallTool, workspace: Path) -> None:
    """`rm -f *.log` would end well and remove nothing."""
    (workspace / "a.log").write_text("")
    with pytest.raises(InvalidArguments, match=r"'\*\.log' is not expanded") as told:
        await call("shell", "exec", command="rm -f *.log")
    assert "a.log" in told.value.hint
    found = (await call("shell", "exec", command="find . -name '*.log'")).structured_content["stdout"]
    assert found == "./a.log\n"


@requirement("EXEC-01")
async def test_a_program_that_is_not_there_is_named(call: CallTool, workspace: Path) -> None:
    (workspace / "plain.txt").write_text("")
    for command, said in (
        ("no-such-program-at-all x", "command not found: 'no-such-program-at-all'"),
        ("./nope", "'./nope' does not exist or cannot be executed"),
        ("./plain.txt", "'./plain.txt' does not exist or cannot be executed"),
    ):
        with pytest.raises(ExecutionFailed, match=said):
            await call("shell", "exec", command=command)


@requirement("PLUG-04")
async def test_the_manifest_is_enforced(call: CallTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "MANIFEST", Manifest("com.example.none", "None"))
    with pytest.raises(PermissionDenied, match="does not grant shell"):
        await call("shell", "exec", command="true")


@requirement("EXEC-01")
def test_it_works_on_uvloop_too(call: CallTool, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.link.process.STOP_SECONDS", 0.2)
    command = script(workspace, "hang", HANGING)

    async def both() -> tuple[CallToolResult, CallToolResult]:
        async with asyncio.timeout(20):
            return await call("shell", "exec", command="pwd"), await call("shell", "exec", command=command, timeout_s=1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        quick, hung = runner.run(both())
    assert quick.structured_content["stdout"].strip() == str(workspace.resolve())
    assert hung.structured_content["timed_out"] is True
    assert hung.structured_content["stdout"] == "so far\n"


@requirement("EXEC-01")
def test_a_script_opens_its_output_by_name(call: CallTool, workspace: Path) -> None:
    """On uvloop, whose own pipes are sockets, which cannot be opened."""
    command = script(workspace, "s", "#!/bin/sh\necho good > /dev/stdout\necho bad | tee /dev/stderr >> /dev/stdout\n")

    async def run() -> Any:
        return (await call("shell", "exec", command=command)).structured_content

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        done = runner.run(run())
    assert done == {"exit_code": 0, "stdout": "good\nbad\n", "stderr": "bad\n", "timed_out": False, "truncated": False}


@requirement("EXEC-01")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
async def test_the_command_does_not_survive_us(workspace: Path) -> None:
    if not leash():
        pytest.skip("setpriv is not installed")
    code = (
        "import asyncio, os, sys; from clawft.builtin.process import ProcessStart, run\n"
        "async def main():\n"
        "    folder = os.open(sys.argv[1], os.O_RDONLY)\n"
        '    script = \'import os, time; open("pid", "w").write(str(os.getpid())); time.sleep(600)\'\n'
        "    env, hear = {'PATH': os.environ['PATH']}, lambda data: None\n"
        "    await run(ProcessStart([sys.executable, '-c', script], folder, env, 600), hear, hear)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(workspace))
    pid = workspace / "pid"
    try:
        await until(lambda: pid.exists() and pid.read_text() != "")
    finally:
        parent.kill()
        await parent.wait()
    await until(lambda: not running_in(workspace))


async def test_no_descriptor_is_left_open(call: CallTool) -> None:
    await call("shell", "exec", command="true")
    before = len(os.listdir("/dev/fd"))
    for command in ("true", "ls nope", "no-such-program-at-all"):
        try:
            await call("shell", "exec", command=command)
        except ExecutionFailed:
            pass
    assert len(os.listdir("/dev/fd")) == before


@requirement("PLUG-04")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("touch .mcp.json", ".mcp.json"),
        ("rm -f .mcp.json .clawft/x", ".clawft and .mcp.json"),
        ("mv .clawft away", ".clawft"),
        ("git checkout -q other", ".mcp.json"),  # which ends with 0
        ("touch /usr/here", ""),
        ("ls .mcp.json nope", ""),
    ],
)
async def test_who_is_kept_from_a_file_that_decides_is_told_so(workspace: Path, command: str, named: str) -> None:
    if probe().level != "bwrap":
        pytest.skip(f"bubblewrap does not work here: {probe().reason}")
    (workspace / ".clawft").mkdir()
    (workspace / ".clawft" / "x").write_text("")
    _commit_two_branches(workspace)
    said = (await held(workspace, command, "auto"))["stderr"]
    assert ("git__switch" in said) is bool(named)
    assert not named or f"sandbox: commands may only read {named} of the workspace" in said


def _commit_two_branches(workspace: Path) -> None:
    """`main`, which is checked out, and `other`, with another .mcp.json."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for branch, text in (("main", "{}"), ("other", '{"mcpServers": {}}')):
        (workspace / ".mcp.json").write_text(text)
        for words in (["init", "-q"], ["checkout", "-q", "-b", branch], ["add", "-A"], ["commit", "-qm", branch]):
            subprocess.run([*git, *words], cwd=workspace, check=True)
    subprocess.run([*git, "checkout", "-q", "main"], cwd=workspace, check=True)


@requirement("PLUG-04")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_our_own_program_is_not_among_the_caches_a_command_may_write(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `uv tool install` puts it: whoever writes there is run with the next start, outside of any sandbox."""
    if probe().level != "bwrap":
        pytest.skip(f"bubblewrap does not work here: {probe().reason}")
    uv = tmp_path / ".local" / "share" / "uv"
    (uv / "tools" / "clawft" / "lib").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    attacks = (f"touch {uv}/tools/clawft/lib/x.pth", f"mv {uv}/tools/clawft {uv}/away", f"mv {uv}/tools {uv}/aside")
    monkeypatch.setattr(cells, "_own_program", lambda: (str(uv / "tools" / "clawft"),))
    for attack in attacks:
        assert (await held(workspace, attack, "auto"))["exit_code"] != 0
    assert (await held(workspace, f"touch {uv}/tools/other {uv}/more", "auto"))["exit_code"] == 0
    monkeypatch.setattr(cells, "_own_program", tuple)
    for attack in (attacks[0], attacks[2]):
        assert (await held(workspace, attack, "auto"))["exit_code"] == 0


@requirement("PLUG-04")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_a_command_puts_no_program_beside_the_store_of_pnpm(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pnpm setup` puts that folder first on the PATH: a `git` in there would be the user's next one, and ours."""
    if probe().level == "none":
        pytest.skip(f"no sandbox: {probe().reason}")
    pnpm = tmp_path / ".local" / "share" / "pnpm"
    (pnpm / "store").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await held(workspace, f"touch {pnpm}/git", "auto"))["exit_code"] != 0
    assert (await held(workspace, f"touch {pnpm}/store/v10", "auto"))["exit_code"] == 0
    assert (await held(workspace, f"touch {pnpm}/git", "off"))["exit_code"] == 0
