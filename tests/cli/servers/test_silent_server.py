"""A server that runs and never answers: given up in time, with a word about what it is."""

import json
import logging
import sys
import time
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from clawft.cli.main import main
from clawft.cli.servers import connection, status
from clawft.cli.setup import start_servers
from tests.requirements import requirement

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="its processes are looked for in /proc"),
]

PATIENCE_S = 1.0
SILENT = "import sys, time; time.sleep(300)"
DEAF = "import sys, time; print('no key', file=sys.stderr, flush=True); time.sleep(300)"


@pytest.fixture(autouse=True)
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The command sets how much our log says, for its whole process: that is this one."""
    monkeypatch.setattr(connection, "ANSWER_SECONDS", PATIENCE_S)
    monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    ours = logging.getLogger("clawft")
    level, heard = ours.level, ours.handlers[:]
    yield
    ours.setLevel(level)
    ours.handlers[:] = heard


def try_out(code: str) -> int:
    config = json.dumps({"mcpServers": {"one": {"command": sys.executable, "args": ["-c", code]}}})
    return main(["servers", "test", "one", "--mcp-config", config])


@requirement("MGR-19")
def test_it_is_given_up_and_ended_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert try_out(SILENT) == 1
    assert time.monotonic() - began < connection.TEST_SECONDS / 2
    told = capsys.readouterr()
    assert "one: no answer within 1 s; it is running but has printed nothing" in told.err
    assert "check that it is a stdio server" in told.err
    assert not [each for each in psutil.Process().children(recursive=True) if SILENT in each.cmdline()]


@requirement("MGR-19")
def test_what_it_said_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert try_out(DEAF) == 1
    assert "no answer within 1 s; its last lines: no key" in capsys.readouterr().err


@requirement("POOL-15", "MGR-15")
@pytest.mark.parametrize(
    "command", ["tools list", "tools search echo", "resources list", "prompts list", "servers status"]
)
def test_lists_of_what_the_others_have_do_not_wait_long_for_it(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (start_servers, status):
        monkeypatch.setattr(module, "QUIET_SECONDS", PATIENCE_S)
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    config = json.dumps({"mcpServers": {"silent": silent}})
    began = time.monotonic()
    assert main([*command.split(), "--mcp-config", config]) == 0
    assert time.monotonic() - began < start_servers.SETTLE_SECONDS / 2
    told = capsys.readouterr()
    assert "silent" in told.out + told.err
    assert "not ready after" in told.out + told.err
    if not command.startswith("servers"):
        assert "(weft servers test silent --mcp-config …)" in told.err
