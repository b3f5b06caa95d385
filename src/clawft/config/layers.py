"""The files that name servers, layer by layer: each entry becomes a server that was found, or a refusal with its line.

Our own TOML is strict, JSON of other programs is read leniently. Later layers win; that is for `servers` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import repeat
from pathlib import Path

from msgspec import Struct

from clawft.catalog.names import refuse_server
from clawft.config import jsonc, load
from clawft.config.entry import ServerEntry, read_foreign, read_own
from clawft.config.entry_rules import judge
from clawft.config.load import SourceLine, exposed
from clawft.config.places import (
    GIVEN,
    agent_file,
    expanded,
    is_json,
    no_such_file,
    single_files,
    user_file,
    workspace_files,
)
from clawft.errors import ConfigError, InvalidConfig, did_you_mean
from clawft.policy.delegation import FLOW_SERVER
from clawft.store.document import KeyPath, TomlDocument
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.strings import clipped

MAX_SERVERS = 1_000
"""In one file: a start waits until all of them are read."""
LONG_NAME = 200
"""Characters of the name of an entry. No server can be called so, and nobody wants to read all of it."""
TABLE = "mcp_servers"
DELEGATION, FLOW_KEY = "delegation", "claude_flow_server"
"""Where the server of claude-flow may be described, beside the others."""


class Scope(Enum):
    """Whose word a layer is. Only the user's own may raise trust."""

    USER = "user"
    WORKSPACE = "workspace"
    AGENT = "agent"
    COMMAND_LINE = "command line"


class FoundServer(Struct, frozen=True):
    """One server: what, from where, and by whose word."""

    spec: UpstreamSpec
    origin: SourceLine
    scope: Scope
    instead_of: SourceLine | None = None
    """Another file of the same folder that describes a server of this name, and loses."""

    @property
    def must_wait(self) -> bool:
        """Until its launch is approved."""
        return self.scope is Scope.WORKSPACE and self.spec.enabled


class RefusedServer(Struct, frozen=True):
    """A server, or a whole file, that cannot be used, and why. `required`: the program must not start without it.
    `is_local`: it is a file of the workspace that says so.
    """

    error: ConfigError
    file: str
    required: bool = False
    is_local: bool = False


EntryOutcome = tuple[str, FoundServer | RefusedServer]

_KEYS = ("mcpServers", "servers")
_FORM = '{"mcpServers": {"name": {"command": "…"}}}'


class Sources(Struct, frozen=True):
    """Where to look. `given` are the files or JSON texts of `--mcp-config`; `folders` those programs may come from.

    `given_only`: for a program of its own, which starts nothing but what it names itself.
    """

    home: Path
    workspace: Path
    agent: str
    given: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    given_only: bool = False


class Layer(Struct, frozen=True):
    """Files of one scope, read for these sources."""

    scope: Scope
    sources: Sources

    @property
    def is_workspace(self) -> bool:
        return self.scope is Scope.WORKSPACE

    @property
    def is_typed(self) -> bool:
        """By the user's own hand, on the command line."""
        return self.scope is Scope.COMMAND_LINE


# ── the layers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def outcomes(sources: Sources) -> Iterator[EntryOutcome]:
    if not sources.given_only:
        yield from _of_files(sources)
    for text in sources.given:
        yield from _read_given(text, Layer(Scope.COMMAND_LINE, sources))


def _of_files(sources: Sources) -> Iterator[EntryOutcome]:
    user, workspace, agent = (Layer(scope, sources) for scope in (Scope.USER, Scope.WORKSPACE, Scope.AGENT))
    for file in single_files(sources.home):
        yield from _read_single(file, user)
    yield from _read_shared(user_file(sources.home), user)
    ours, foreign = workspace_files(sources.workspace)
    yield from _read_toml(ours, workspace)
    yield from _read_json_file(foreign, workspace)
    yield from _read_shared(agent_file(sources.home, sources.agent), agent)


# ── our own files ────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_single(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """One server: the inner table alone; its name is the file's unless it says so itself."""
    document = (exposed(file) if layer.scope is Scope.USER else None) or _document(file)
    if isinstance(document, ConfigError):
        yield file.stem, RefusedServer(document, str(file))
    elif document is not None and jsonc.members(document.tables.get(TABLE)):
        yield file.stem, RefusedServer(_wrapped(document), str(file))
    elif document is not None:
        told = document.tables.get("name")
        name = told if isinstance(told, str) and told else file.stem
        yield name, _own(name, document.tables, document, (), layer)


def _read_toml(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """A file that is about servers only: any other table is a mistake."""
    document = _document(file)
    if isinstance(document, TomlDocument):
        for key in document.tables:
            if key != TABLE:
                yield str(file), RefusedServer(_stray(key, document), str(file))
    yield from _read_tables(document, file, layer)


def _read_shared(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    """A file with other settings beside the servers, which are judged elsewhere."""
    document = _document(file)
    if isinstance(document, TomlDocument) and (TABLE in document.tables or DELEGATION in document.tables):
        document = exposed(file) or document
    yield from _read_tables(document, file, layer)
    if isinstance(document, TomlDocument):
        table = jsonc.members(jsonc.members(document.tables.get(DELEGATION)).get(FLOW_KEY))
        if table:
            yield FLOW_SERVER, _own(FLOW_SERVER, table, document, (DELEGATION, FLOW_KEY), layer)


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
    servers = jsonc.members(document.tables.get(TABLE))
    if len(servers) > MAX_SERVERS:
        yield str(file), RefusedServer(_too_many(file), str(file))
        return
    for name, table in servers.items():
        if len(name) > LONG_NAME:
            yield _long_name(name, SourceLine(document.file, document.line_of((TABLE, name))), layer)
            continue
        yield name, _own(name, table, document, (TABLE, name), layer)


def _too_many(file: str | Path) -> InvalidConfig:
    return InvalidConfig(f"{file} names more than {MAX_SERVERS} servers", hint="is this the right file?")


def _long_name(name: str, origin: SourceLine, layer: Layer) -> EntryOutcome:
    shown = clipped(name, LONG_NAME)
    wrong = InvalidConfig(f"{origin}: {shown}: {refuse_server(name)}", hint="correct the name, or remove the entry")
    return shown, RefusedServer(wrong, origin.file, is_local=layer.is_workspace)


def _document(file: Path) -> TomlDocument | ConfigError | None:
    try:
        return load.read(file)
    except ConfigError as wrong:
        return wrong


def _stray(key: str, document: TomlDocument) -> InvalidConfig:
    origin = SourceLine(document.file, document.line_of((key,)))
    near = did_you_mean(key, [TABLE])
    return InvalidConfig(f"{origin}: unknown key {key!r}{near}", hint=f"this file has tables [{TABLE}.NAME] only")


def _wrapped(document: TomlDocument) -> InvalidConfig:
    origin = SourceLine(document.file, document.line_of((TABLE,)))
    return InvalidConfig(
        f"{origin}: this file is about one server", hint=f"write its keys alone, and no [{TABLE}.NAME]"
    )


def _own(
    name: str, table: object, document: TomlDocument, path: tuple[str, ...], layer: Layer
) -> FoundServer | RefusedServer:
    def at(key: KeyPath) -> SourceLine:
        return SourceLine(document.file, document.line_of((*path, *key)))

    told = read_own(table, document, path)
    if isinstance(told, ServerEntry) and path and told.name not in ("", name):
        said = f"{at(('name',))}: the table is {name!r}, its name says {told.name!r}"
        told = InvalidConfig(said, hint="remove one of them")
    if isinstance(told, ConfigError):
        return RefusedServer(told, document.file, _is_required(table, layer), layer.is_workspace)
    return _judged(name, told, at(()), layer, at)


# ── JSON of other programs, and the command line ─────────────────────────────────────────────────────────────────────


def _read_given(text: str, layer: Layer) -> Iterator[EntryOutcome]:
    """A file, or JSON itself."""
    if is_json(text):
        yield from _read_json(text.encode(), GIVEN, layer)
        return
    file = expanded(text)
    if not file.is_file():
        yield text, RefusedServer(no_such_file(text), text)
    elif file.suffix != ".toml":
        yield from _read_json_file(file, layer)
    elif _is_single(file):
        yield from _read_single(file, layer)
    else:
        yield from _read_toml(file, layer)


def _is_single(file: Path) -> bool:
    document = _document(file)
    return isinstance(document, TomlDocument) and any(key in document.tables for key in ("command", "url"))


def _read_json_file(file: Path, layer: Layer) -> Iterator[EntryOutcome]:
    try:
        content = load.read_bytes(file)
    except ConfigError as wrong:
        yield str(file), RefusedServer(wrong, str(file))
        return
    if content is not None:
        yield from _read_json(content, str(file), layer)


def _read_json(content: bytes, file: str, layer: Layer) -> Iterator[EntryOutcome]:
    try:
        told = jsonc.parse(content, file)
        key, servers = foreign_servers(told)
    except ConfigError as wrong:
        yield file, RefusedServer(wrong, file)
        return
    what = _misplaced(told) or ("names no servers" if layer.is_typed else "")
    if not key and what:
        yield file, RefusedServer(InvalidConfig(f"{file} {what}", hint=_FORM), file)
    if len(servers) > MAX_SERVERS:
        yield file, RefusedServer(_too_many(file), file)
        return
    entries = {**servers, **(_foreign_flow(told) if layer.is_typed else {})}
    lines = repeat(0) if file == GIVEN else jsonc.lines_of(content, key, entries)
    for (name, table), line in zip(entries.items(), lines, strict=False):
        origin = SourceLine(file, line)
        if len(name) > LONG_NAME:
            yield _long_name(name, origin, layer)
            continue
        entry = read_foreign(table, origin, name)
        if isinstance(entry, ServerEntry):
            yield name, _judged(name, entry, origin, layer)
        else:
            yield name, RefusedServer(entry, file, _is_required(table, layer), layer.is_workspace)


def _misplaced(told: Mapping[str, object]) -> str:
    """Servers that stand where no program looks for them."""
    if any(isinstance(told.get(key), list) for key in _KEYS):
        return "names its servers in a list, and not in an object"
    if _has_server(told):
        return "names servers outside of mcpServers"
    other = next((key for key, group in told.items() if _has_server(jsonc.members(group))), "")
    return f"names servers under {other[:LONG_NAME]!r}, and not under mcpServers" if other else ""


def _has_server(told: Mapping[str, object]) -> bool:
    return any("command" in each or "url" in each for each in map(jsonc.members, told.values()))


def _foreign_flow(told: Mapping[str, object]) -> Mapping[str, object]:
    """The server of claude-flow, where a file of the command line describes it in its delegation table."""
    for place in (told, jsonc.members(told.get("tools"))):
        table = jsonc.members(place.get(DELEGATION))
        server = jsonc.members(table.get(FLOW_KEY) or table.get("claudeFlowServer"))
        if server:
            return {FLOW_SERVER: server}
    return {}


def foreign_servers(told: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """`{"mcpServers": {…}}`, also under `tools`, or VS Code's `servers`; with the key they stood under."""
    for place in (told, jsonc.members(told.get("tools"))):
        for key in _KEYS:
            if isinstance(place.get(key), dict):
                return key, jsonc.members(place[key])
    return "", {}


def _is_required(table: object, layer: Layer) -> bool:
    """A workspace has no say in whether we start: what it names in good order would wait, required or not."""
    return not layer.is_workspace and jsonc.members(table).get("required") is True


def _judged(
    name: str,
    told: ServerEntry,
    origin: SourceLine,
    layer: Layer,
    at: Callable[[KeyPath], SourceLine] | None = None,
) -> FoundServer | RefusedServer:
    outcome = judge(
        name,
        told,
        origin,
        workspace=layer.sources.workspace,
        by_hand=layer.is_typed,
        by_workspace=layer.is_workspace,
        folders=layer.sources.folders,
        at=at,
    )
    if isinstance(outcome, ConfigError):
        return RefusedServer(outcome, origin.file, told.required and not layer.is_workspace, layer.is_workspace)
    return FoundServer(outcome, origin, layer.scope)
