"""Reads servers strictly from our own TOML files: each entry gives a server, or a refusal that names its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clawft.config import load
from clawft.config.entry import ServerEntry, read_own
from clawft.config.layers import (
    DELEGATION,
    FLOW_KEY,
    LONG_NAME,
    MAX_SERVERS,
    TABLE,
    EntryOutcome,
    FoundServer,
    Layer,
    RefusedServer,
    Scope,
    is_required,
    judged,
    name_too_long,
    too_many_servers,
)
from clawft.config.load import SourceLine, exposed
from clawft.error_words import did_you_mean
from clawft.errors import ConfigError, InvalidConfig
from clawft.policy.delegation import FLOW_SERVER
from clawft.store.document import KeyPath, TomlDocument
from clawft.wire.shapes import members


def read_single_file(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """The server in a file of its own. Its name is the file's, unless the key `name` gives another."""
    document = (exposed(file) if layer.scope is Scope.USER else None) or _document(file)
    if isinstance(document, ConfigError):
        yield file.stem, RefusedServer(document, str(file))
    elif document is not None and members(document.tables.get(TABLE)):
        yield file.stem, RefusedServer(_table_of_servers(document), str(file))
    elif document is not None:
        given = document.tables.get("name")
        name = given if isinstance(given, str) and given else file.stem
        yield name, _outcome_of(name, document.tables, document, (), layer)


def read_servers_file(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """The servers of a file that may hold nothing else: any other table is refused."""
    document = _document(file)
    if isinstance(document, TomlDocument):
        for key in document.tables:
            if key != TABLE:
                yield str(file), RefusedServer(_unknown_key(key, document), str(file))
    yield from _read_tables(document, file, layer)


def read_settings_file(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """The servers of a file with other settings, which `keys` reads."""
    document = _document(file)
    if isinstance(document, TomlDocument) and (TABLE in document.tables or DELEGATION in document.tables):
        document = exposed(file) or document
    yield from _read_tables(document, file, layer)
    if isinstance(document, TomlDocument):
        table = members(members(document.tables.get(DELEGATION)).get(FLOW_KEY))
        if table:
            yield FLOW_SERVER, _outcome_of(FLOW_SERVER, table, document, (DELEGATION, FLOW_KEY), layer)


def _read_tables(document: TomlDocument | ConfigError | None, file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    if isinstance(document, ConfigError):
        yield str(file), RefusedServer(document, str(file))
        return
    if document is None:
        return
    if not isinstance(document.tables.get(TABLE, {}), dict):
        origin = SourceLine(document.file, document.line_of((TABLE,)))
        wrong = InvalidConfig(f"{origin}: {TABLE} must be a table", hint=f"write [{TABLE}.NAME] and its keys below it")
        yield str(file), RefusedServer(wrong, str(file))
    servers = members(document.tables.get(TABLE))
    if len(servers) > MAX_SERVERS:
        yield str(file), RefusedServer(too_many_servers(file), str(file))
        return
    for name, table in servers.items():
        if len(name) > LONG_NAME:
            yield name_too_long(name, SourceLine(document.file, document.line_of((TABLE, name))), layer)
            continue
        yield name, _outcome_of(name, table, document, (TABLE, name), layer)


def _document(file: Path) -> TomlDocument | ConfigError | None:
    try:
        return load.read(file)
    except ConfigError as wrong:
        return wrong


def _unknown_key(key: str, document: TomlDocument) -> InvalidConfig:
    origin = SourceLine(document.file, document.line_of((key,)))
    near = did_you_mean(key, [TABLE])
    return InvalidConfig(f"{origin}: unknown key {key!r}{near}", hint=f"this file has tables [{TABLE}.NAME] only")


def _table_of_servers(document: TomlDocument) -> InvalidConfig:
    origin = SourceLine(document.file, document.line_of((TABLE,)))
    return InvalidConfig(
        f"{origin}: this file describes one server", hint=f"write only its keys, without [{TABLE}.NAME]"
    )


def _outcome_of(
    name: str, table: object, document: TomlDocument, path: tuple[str, ...], layer: Layer
) -> FoundServer | RefusedServer:
    def at(key: KeyPath) -> SourceLine:
        return SourceLine(document.file, document.line_of((*path, *key)))

    entry = read_own(table, document, path)
    if isinstance(entry, ServerEntry) and path and entry.name not in ("", name):
        problem = f"{at(('name',))}: the table is {name!r}, its name says {entry.name!r}"
        entry = InvalidConfig(problem, hint="remove one of them")
    if isinstance(entry, ConfigError):
        return RefusedServer(entry, document.file, is_required(table, layer), layer.is_workspace)
    return judged(name, entry, at(()), layer, at)


def is_single_file(file: Path) -> bool:
    document = _document(file)
    return isinstance(document, TomlDocument) and any(key in document.tables for key in ("command", "url"))
