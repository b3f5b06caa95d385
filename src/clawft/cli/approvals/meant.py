"""Which approvals, or tools, somebody means by the words they typed."""

from __future__ import annotations

from collections.abc import Sequence

from clawft.catalog.names import fit
from clawft.cli.parser import Options
from clawft.policy.approval import covers


def meant(options: Options) -> tuple[str, list[str]]:
    """`SERVER TOOL…`, or the name of one tool in any form that agents may see."""
    for head, between in () if options.tools else (("mcp:", ":"), ("mcp:", "__"), ("mcp__", "__"), ("", "__")):
        server, found, tool = options.server.removeprefix(head).partition(between)
        if found and options.server.startswith(head):
            return server, [tool]
    return options.server, list(options.tools)


def is_named(server: str, tool: str, words: Sequence[str]) -> bool:
    """Whether it is meant by one of these: its own name, the one agents see, or a glob."""
    heads = (f"{server}__", f"mcp__{server}__")
    seen = [fit(head + tool) for head in heads]
    return any(
        word == tool or word in seen or covers(word, tool) or any(head + word in seen for head in heads)
        for word in words
    )
