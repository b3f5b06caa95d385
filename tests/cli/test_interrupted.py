"""Ctrl-C while a command waits for somebody: 130 whatever it waits for, not a word, and nothing is left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that wait

PATIENCE_S = 30.0
MUTE = "import sys; open(sys.argv[1], 'w').close(); sys.stdin.read()"
"""A server that says nothing but that it runs."""
SCENARIO = '[[turns]]\ntext = "done"\n'


def interrupted(argv: list[str], workspace: Path, environment: Mapping[str, str], started: Path) -> tuple[int, str]:
    """Once the server it waits for runs: exit code, and stdout with stderr."""
    waiting = os.open(started, os.O_RDONLY | os.O_NONBLOCK)  # ready to be read once somebody opened it to write
    process = subprocess.Popen(
        argv,
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert select.select([waiting], [], [], PATIENCE_S)[0], "the server was not started"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        os.close(waiting)
    return process.returncode, said


@requirement("AGENT-14")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "command",
    [
        "tools list",
        "tools search x",
        "tools show mute__x",
        "tools call mute__x",
        "resources list",
        "prompts list",
        "servers status --fresh",
        "servers test mute",
        "approvals grant mute x",
        "policy explain mute__x",
        "agent -p x --scenario scenario.toml",
        "doctor --scan",
    ],
)
def test_who_waits_for_a_server(
    weft: list[str], workspace: Path, home: Path, environment: Mapping[str, str], command: str
) -> None:
    started = workspace / "started"
    os.mkfifo(started)
    (workspace / "scenario.toml").write_text(SCENARIO)
    (home / "mcp_servers").mkdir()
    (home / "mcp_servers" / "mute.toml").write_text(
        f"command = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(['-c', MUTE, str(started)])}\n"
        'sandbox = "off"\ntimeout_ms = 60000\n'
    )
    code, said = interrupted([*weft, *command.split()], workspace, environment, started)
    assert (code, "Traceback" in said) == (130, False), said


@requirement("AGENT-14")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", ["auth login deaf --no-browser", "servers test deaf", "tools list"])
def test_who_waits_for_an_answer_over_the_network(
    weft: list[str], workspace: Path, home: Path, environment: Mapping[str, str], command: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        (home / "mcp_servers").mkdir()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        (home / "mcp_servers" / "deaf.toml").write_text(f'url = "{url}"\ntimeout_ms = 60000\n')
        process = subprocess.Popen(
            [*weft, *command.split()],
            cwd=workspace,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            asked, _ = listener.accept()
            with asked:
                asked.recv(1)
                process.send_signal(signal.SIGINT)
                said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, "Traceback" in said) == (130, False), said


@requirement("AGENT-14", "SHELL-14")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=lambda each: getattr(each, "name", each)
)
def test_who_serves_a_model(
    weft: list[str], workspace: Path, environment: Mapping[str, str], number: signal.Signals, code: int
) -> None:
    (workspace / "scenario.toml").write_text(SCENARIO)
    argv = [*weft, "serve-model", "--scenario", "scenario.toml", "--port", "0", "--json"]
    with subprocess.Popen(argv, cwd=workspace, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == code
        finally:
            process.kill()
