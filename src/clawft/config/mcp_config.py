"""Settings in `--mcp-config` besides its servers, in another program's JSON: delegation, and allowed tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawft.config import jsonc, load
from clawft.config.delegation import in_foreign
from clawft.config.entry import names_in
from clawft.config.places import GIVEN, expanded, is_json, is_missing, no_such_file
from clawft.wire.shapes import members


def delegation_in(texts: Sequence[str]) -> dict[str, Any]:
    """Keys and values; later ones win. Raises ConfigError, as the file was named explicitly."""
    table: dict[str, Any] = {}
    for document in _documents(texts):
        table |= in_foreign(document)
    return table


def allowed_in(texts: Sequence[str]) -> dict[str, Any]:
    """`allowed_tools`, beside the servers or under `tools`, for all tools; the last one wins."""
    rules: dict[str, Any] = {}
    for document in _documents(texts):
        for place in (document, members(document.get("tools"))):
            for key in ("allowed_tools", "allowedTools"):
                if (globs := names_in(place.get(key))) is not None:
                    rules["tools.allow"] = globs
    return rules


def _documents(texts: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    return (jsonc.parse(_content(text), GIVEN if is_json(text) else text) for text in texts)


def _content(text: str) -> bytes:
    if is_json(text):
        return text.encode()
    file = expanded(text)
    if is_missing(file):
        raise no_such_file(text)
    return (load.read_bytes(file) if file.suffix != ".toml" else None) or b"{}"
