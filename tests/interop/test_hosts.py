"""Large programs that only `make hosts` installs: Claude Code as server and as client, claude-flow as server."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests import peers
from tests.requirements import requirement

pytestmark = pytest.mark.slow

FOLDER = Path(os.environ.get("CLAWFT_HOSTS", Path(__file__).parents[1] / "hosts" / "node_modules"))
CLAUDE = FOLDER / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"
FLOW = FOLDER / "@claude-flow" / "cli" / "bin" / "cli.js"
PATIENCE_S = 90.0

needs_hosts = pytest.mark.skipif(not FLOW.exists(), reason="not installed: 1.3 GB, by `make hosts`")


async def run(folder: Path, *argv: str, home: Path) -> str:
    """What the program prints; its own home, so that it neither finds nor leaves anything of the developer's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAWFT_HOME": str(home / "clawft")}
    program = await asyncio.create_subprocess_exec(*argv, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await program.communicate()
    return printed.decode()


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
