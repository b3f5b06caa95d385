"""Reads which server and tools are named by the words of a command line."""

from __future__ import annotations

from collections.abc import Sequence

from clawft.catalog.names import fit
from clawft.cli.parser import Options
from clawft.policy.approval import covers


def named_by(options: Options) -> tuple[str, list[str]]:
    """The server and its tools, from `SERVER TOOL…` or from one tool name in any form that agents see."""
    for head, between in () if options.tools else (("mcp:", ":"), ("mcp:", "__"), ("mcp__", "__"), ("", "__")):
        server, found, tool = options.server.removeprefix(head).partition(between)
        if found and options.server.startswith(head):
            return server, [tool]
    return options.server, list(options.tools)


def is_named(server: str, tool: str, words: Sequence[str]) -> bool:
    """Whether one of the words names this tool: by its own name, a name that agents see, or a glob."""
    heads = (f"{server}__", f"mcp__{server}__")
    seen = [fit(head + tool) for head in heads]
    return any(
        word == tool or word in seen or covers(word, tool) or any(head + word in seen for head in heads)
        for word in words
    )
