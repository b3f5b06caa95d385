"""The commands that let each client find the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from clawft.error_words import quoted

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - read, not bound
"""Where all addresses of this machine are listened on, and one of them that a client here can use."""


def from_here(url: str) -> tuple[str, bool]:
    """The address for clients on this machine, and whether others reach it as well: nobody connects to 0.0.0.0."""
    for everywhere, here in EVERYWHERE.items():
        if url.startswith(f"http://{everywhere}:"):
            return url.replace(everywhere, here, 1), True
    return url, False


def connect_lines(url: str, token: str | None, file: Path | None = None) -> Mapping[str, str]:
    """The commands for each client, ready to paste into a shell, or into the file that is named.

    `file`: what has the token, and is named in its place, because a log is read by others as well.
    """
    read = f"$(cat {quoted(file)})" if file else ""
    header = f' --header "Authorization: Bearer {read or token}"' if token else ""
    cursor = _with_bearer(url, token and (f"<the token of {file}>" if file else token))
    server = {"name": "weft", "type": "http", **_with_bearer(url, token and (_HERE if file else token))}
    added = msgspec.json.encode(server).decode().replace(_HERE, f"'\"{read}\"'")
    inspector = f"npx @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list"
    return {
        "Claude Code": f"claude mcp add --transport http weft {url}{header}",
        "VS Code": f"code --add-mcp '{added}'",
        "Cursor, in .cursor/mcp.json": msgspec.json.encode({"mcpServers": {"weft": cursor}}).decode(),
        "Inspector": f"{inspector}{header}",
    }


_HERE = "TOKEN-OF-THE-FILE"


def _with_bearer(url: str, token: str | None) -> dict[str, Any]:
    return {"url": url, **({"headers": {"Authorization": f"Bearer {token}"}} if token else {})}
