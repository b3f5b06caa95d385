"""`weft mcp-server`: what an editor or agent starts. stdout carries protocol messages and nothing else."""

from __future__ import annotations

import sys

from clawft.cli.options import common_options, with_app
from clawft.cli.parser import Options, Verb
from clawft.cli.screen import tell


def _serve(options: Options) -> int:
    if sys.stdin.isatty():
        tell("weft: serving MCP on stdin and stdout; an editor or agent starts this. End with Ctrl-D.")
    return with_app(options, lambda app: app.serve_stdio())


VERBS = {"": Verb("Serve MCP on stdin and stdout", common_options, _serve)}
