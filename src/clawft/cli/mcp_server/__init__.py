"""`weft mcp-server`: MCP on stdin and stdout (`serve`). It takes what every command takes that works with tools."""

from __future__ import annotations

from clawft.cli.parser import Verb, common_options

VERBS = {"": Verb("Serve MCP on stdin and stdout", common_options, "clawft.cli.mcp_server.serve")}
