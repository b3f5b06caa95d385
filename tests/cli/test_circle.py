"""A weft among the servers of weft: it may be, but not for ever."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest

from clawft.upstream.nesting import DEPTH, MAX_DEPTH
from tests.requirements import requirement
from tests.servers.idp import free_port

SETTLED_S = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]  # processes that start processes


@requirement("QUAL-03")
def test_a_weft_that_is_a_server_of_itself_comes_to_an_end(run: Any, weft: list[str], home: Path) -> None:
    """With the same home each would start the next; behind a sandbox it has a home of its own."""
    command, *args = weft
    words = ", ".join(f'"{word}"' for word in (*args, "mcp-server"))
    file = home / "mcp_servers" / "me.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    variables = f'{{ CLAWFT_HOME = "{home}" }}'
    file.write_text(f'command = "{command}"\nargs = [{words}]\nenv = {variables}\nsandbox = "off"\ntrust = "trusted"\n')
    file.chmod(0o600)
    (last,) = run("servers", "status", "--json", **{DEPTH: str(MAX_DEPTH - 1)}).json["servers"]
    assert last["state"] == "connected"
    (beyond,) = run("servers", "status", "--json", **{DEPTH: str(MAX_DEPTH)}).json["servers"]
    assert beyond["state"] == "failed"
    assert "start itself" in str(beyond)


@requirement("QUAL-03")
def test_a_gateway_that_is_a_server_of_itself_over_http_is_told_so(
    weft: list[str], environment: dict[str, str], workspace: Path
) -> None:
    """Each list it made would have its own tools once more."""
    port = free_port()
    itself = {"mcpServers": {"me": {"url": f"http://127.0.0.1:{port}/mcp"}}}
    words = [*weft, "gateway", "--no-auth", "--port", str(port), "--mcp-config", json.dumps(itself)]
    process = subprocess.Popen(words, cwd=workspace, env=environment, stdout=DEVNULL, stderr=PIPE, text=True)
    try:
        assert process.stderr
        told = next(line for line in process.stderr if "me: " in line)
    finally:
        process.kill()
        process.communicate(timeout=30)
    assert "status 508: this gateway is a server of itself" in told


@requirement("QUAL-03")
def test_gateways_that_are_servers_of_one_another_come_to_an_end(
    weft: list[str], environment: dict[str, str], workspace: Path
) -> None:
    """Each would offer what the other offers of its own, under ever longer names."""
    ports = (free_port(), free_port())
    with ExitStack() as ends:
        first, _ = (ends.enter_context(_serving(weft, environment, workspace, *each)) for each in (ports, ports[::-1]))
        until = time.monotonic() + SETTLED_S
        while "more than 4 gateways: do they serve one another?" not in first.read_text():
            assert time.monotonic() < until
            time.sleep(0.2)


@contextmanager
def _serving(weft: list[str], environment: dict[str, str], workspace: Path, port: int, other: int) -> Generator[Path]:
    """A gateway with a home of its own, whose server is the other one: what it says."""
    servers = {"mcpServers": {"other": {"url": f"http://127.0.0.1:{other}/mcp"}}}
    words = [*weft, "gateway", "--no-auth", "--port", str(port), "--mcp-config", json.dumps(servers)]
    own = {**environment, "CLAWFT_HOME": f"{environment['CLAWFT_HOME']}-{port}"}
    said = workspace / f"said-{port}"
    with said.open("w") as stderr:
        process = subprocess.Popen(words, cwd=workspace, env=own, stdout=DEVNULL, stderr=stderr)
    try:
        yield said
    finally:
        process.kill()
        process.wait(30)
