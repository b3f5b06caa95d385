"""What `--mcp-config` says beside its servers: the delegation table of another program's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clawft.config import jsonc, load
from clawft.config.delegation import in_foreign
from clawft.config.places import is_json
from clawft.errors import ConfigError


def delegation_in(texts: Sequence[str]) -> dict[str, Any]:
    """Keys and values; later ones win. What cannot be read is told where the servers are read."""
    told: dict[str, Any] = {}
    for text in texts:
        try:
            told |= in_foreign(jsonc.parse(_content(text), text))
        except ConfigError:
            continue
    return told


def _content(text: str) -> bytes:
    if is_json(text):
        return text.encode()
    file = Path(text).expanduser()
    return (load.read_bytes(file) if file.is_file() and file.suffix != ".toml" else None) or b"{}"
