"""Reads servers leniently from JSON of other programs and of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path

from clawft.config import jsonc, load
from clawft.config.entry import ServerEntry, read_foreign
from clawft.config.layers import (
    DELEGATION,
    FLOW_KEY,
    LONG_NAME,
    MAX_SERVERS,
    EntryOutcome,
    Layer,
    RefusedServer,
    is_required,
    judged,
    name_too_long,
    too_many_servers,
)
from clawft.config.load import SourceLine
from clawft.config.places import GIVEN
from clawft.errors import ConfigError, InvalidConfig
from clawft.policy.delegation import FLOW_SERVER
from clawft.wire.shapes import members

_KEYS = ("mcpServers", "servers")
_FORM = '{"mcpServers": {"name": {"command": "…"}}}'


def read_json_file(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    try:
        content = load.read_bytes(file)
    except ConfigError as wrong:
        yield str(file), RefusedServer(wrong, str(file))
        return
    if content is not None:
        yield from read_json(content, str(file), layer)


def read_json(content: bytes, file: str, layer: Layer) -> Iterator[EntryOutcome]:
    try:
        document = jsonc.parse(content, file)
        key, servers = foreign_servers(document)
    except ConfigError as wrong:
        yield file, RefusedServer(wrong, file)
        return
    what = _misplaced(document) or ("names no servers" if layer.is_typed else "")
    if not key and what:
        yield file, RefusedServer(InvalidConfig(f"{file} {what}", hint=_FORM), file)
    if len(servers) > MAX_SERVERS:
        yield file, RefusedServer(too_many_servers(file), file)
        return
    entries = {**servers, **(_flow_server(document) if layer.is_typed else {})}
    lines = repeat(0) if file == GIVEN else jsonc.lines_of(content, key, entries)
    for (name, table), line in zip(entries.items(), lines, strict=False):
        origin = SourceLine(file, line)
        if len(name) > LONG_NAME:
            yield name_too_long(name, origin, layer)
            continue
        entry = read_foreign(table, origin, name)
        if isinstance(entry, ServerEntry):
            yield name, judged(name, entry, origin, layer)
        else:
            yield name, RefusedServer(entry, file, is_required(table, layer), layer.is_workspace)


def _misplaced(document: Mapping[str, object]) -> str:
    """The error for servers in a place where no program looks for them; empty if there are none."""
    if any(isinstance(document.get(key), list) for key in _KEYS):
        return "names its servers in a list instead of an object"
    if _has_server(document):
        return "names servers outside of mcpServers"
    other = next((key for key, group in document.items() if _has_server(members(group))), "")
    return f"names servers under {other[:LONG_NAME]!r} instead of mcpServers" if other else ""


def _has_server(document: Mapping[str, object]) -> bool:
    return any("command" in each or "url" in each for each in map(members, document.values()))


def _flow_server(document: Mapping[str, object]) -> Mapping[str, object]:
    """The server of claude-flow in the delegation table of a file from the command line."""
    for place in (document, members(document.get("tools"))):
        table = members(place.get(DELEGATION))
        server = members(table.get(FLOW_KEY) or table.get("claudeFlowServer"))
        if server:
            return {FLOW_SERVER: server}
    return {}


def foreign_servers(document: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """The key and the table of `{"mcpServers": {…}}`, also under `tools`, or of VS Code's `servers`."""
    for place in (document, members(document.get("tools"))):
        for key in _KEYS:
            if isinstance(place.get(key), dict):
                return key, members(place[key])
    return "", {}
