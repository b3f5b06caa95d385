"""Large programs that only `make hosts` installs: Claude Code as server and as client, claude-flow as server."""

import json
import sys
from pathlib import Path

import pytest

from tests import peers
from tests.hosts import CLAUDE, FLOW, needs_hosts, run
from tests.requirements import requirement

pytestmark = pytest.mark.slow


@needs_hosts
@requirement("QUAL-15", "AC-8", "DELEG-19", "PROV-18")
async def test_claude_code_and_claude_flow_serve_through_us(tmp_path: Path) -> None:
    servers = {
        "flow": {"command": str(peers.node()), "args": [str(FLOW), "mcp", "start"]},
        "claude": {"command": str(CLAUDE), "args": ["mcp", "serve"]},
    }
    config = json.dumps({"mcpServers": servers})
    weft = (sys.executable, "-m", "clawft", "tools", "list", "--json", "--no-builtin", "--mcp-config", config)
    listed = json.loads(await run(tmp_path, *weft, home=tmp_path))
    owners = [tool["name"].partition("__")[0] for tool in listed["tools"]]
    assert owners.count("flow") >= 300
    assert owners.count("claude") >= 10


@needs_hosts
@requirement("QUAL-15")
async def test_claude_code_finds_us_connected(tmp_path: Path) -> None:
    serve = (sys.executable, "-m", "clawft", "mcp-server")
    await run(tmp_path, str(CLAUDE), "mcp", "add", "weft", "--", *serve, home=tmp_path)
    listed = await run(tmp_path, str(CLAUDE), "mcp", "list", home=tmp_path)
    assert "weft:" in listed
    assert "Connected" in listed
