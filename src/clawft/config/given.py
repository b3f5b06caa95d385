"""What `--mcp-config` says beside its servers: the delegation table of another program's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clawft.config import jsonc, load
from clawft.config.delegation import in_foreign
from clawft.config.places import GIVEN, is_json, no_such_file


def delegation_in(texts: Sequence[str]) -> dict[str, Any]:
    """Keys and values; later ones win. Raises ConfigError: who names a file means that file, and no other servers."""
    told: dict[str, Any] = {}
    for text in texts:
        told |= in_foreign(jsonc.parse(_content(text), GIVEN if is_json(text) else text))
    return told


def _content(text: str) -> bytes:
    if is_json(text):
        return text.encode()
    file = Path(text).expanduser()
    if not file.is_file():
        raise no_such_file(text)
    return (load.read_bytes(file) if file.suffix != ".toml" else None) or b"{}"
