"""`weft mcp-server`: what an editor or agent starts. stdout carries protocol messages and nothing else."""

from __future__ import annotations

import os
import sys

from clawft.app import App
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.setup import warn_if_wide, with_app


def run(options: Options) -> int:
    if _is_closed(0) or _is_closed(1):
        raise WrongUsage("stdin and stdout must be open", hint="an editor or agent starts this with pipes")
    return with_app(options, _serving, servers=False)


async def _serving(app: App) -> int:
    if sys.stdin.isatty():
        from clawft.cli.screen import tell  # only to a person

        tell("weft: serving MCP on stdin and stdout; an editor or agent starts this. End with Ctrl-D.")
    warn_if_wide(app.settings.workspace)
    return await app.serve_stdio()


def _is_closed(descriptor: int) -> bool:
    """Checked before anything is opened: the next file would get the free number, and protocol messages with it."""
    try:
        os.fstat(descriptor)
    except OSError:
        return True
    return False
