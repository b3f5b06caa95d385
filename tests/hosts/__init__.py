"""Large programs that only `make hosts` installs: Claude Code and claude-flow. Where they are, and how to run one."""

import asyncio
import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("CLAWFT_HOSTS", Path(__file__).parent / "node_modules"))
CLAUDE = FOLDER / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"
FLOW = FOLDER / "@claude-flow" / "cli" / "bin" / "cli.js"
PATIENCE_S = 90.0

needs_hosts = pytest.mark.skipif(not FLOW.exists(), reason="not installed: 1.3 GB, by `make hosts`")


async def run(folder: Path, *argv: str, home: Path, **more: str) -> str:
    """What the program prints; its own home, so that it neither finds nor leaves anything of the developer's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CLAWFT_HOME": str(home / "clawft"), **more}
    program = await asyncio.create_subprocess_exec(*argv, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await program.communicate()
    return printed.decode()
