"""weft ends in time although a thread of it is stuck, as on a disk that does not answer."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PATIENCE_S = 60
STUCK = """
import sys, time
from clawft.builtin import confine
confine.open_file = lambda found: time.sleep(600)
from clawft.cli.main import main
sys.exit(main())
"""
CALLS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "file__read", "arguments": {"path": "stuck"}}},
)


@pytest.mark.parametrize("how", ["input ends", "signal", "two signals"])
def test_a_thread_that_is_stuck_is_left(workspace: Path, home: Path, how: str) -> None:
    (workspace / "stuck").write_text("")
    weft = subprocess.Popen(
        [sys.executable, "-c", STUCK, "mcp-server", "--workspace", str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "CLAWFT_HOME": str(home)},
    )
    assert weft.stdin is not None
    assert weft.stdout is not None
    try:
        weft.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n" for call in CALLS))
        weft.stdin.flush()
        assert b'"id":1' in weft.stdout.readline()
        time.sleep(1)  # it hangs by now
        began = time.monotonic()
        _end(weft, how)
        code = weft.wait(PATIENCE_S)
        assert time.monotonic() - began < 10
        assert code == (128 + signal.SIGTERM if how == "two signals" else 0)
        if how != "two signals":
            assert b'"id":2' in weft.stdout.read()
    finally:
        weft.kill()
        weft.wait()
        weft.stdin.close()
        weft.stdout.close()


def _end(weft: "subprocess.Popen[bytes]", how: str) -> None:
    if how == "input ends":
        assert weft.stdin is not None
        weft.stdin.close()
        return
    weft.send_signal(signal.SIGTERM)
    if how == "two signals":
        time.sleep(0.5)
        weft.send_signal(signal.SIGTERM)
