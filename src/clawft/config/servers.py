"""Which servers are wanted, from four layers of files. Later wins; every server remembers where it came from.

Our own TOML is strict: an unknown key is an error that names the nearest known one, the file and the line. JSON of
other programs is read leniently. A server that is wrong is reported and left out; the others go on.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawft.catalog.names import refuse_server
from clawft.config import load
from clawft.config.document import Document
from clawft.config.load import Origin
from clawft.config.nearest import did_you_mean
from clawft.config.places import agent_file, servers_folder, user_file, workspace_files
from clawft.errors import ConfigError, ConfigUnparsable, ConfigUnreadable, InvalidConfig
from clawft.model import Deny
from clawft.policy import launch
from clawft.upstream.spec import SandboxTable, ToolRules, Trust, UpstreamSpec

STDIO = "stdio://"


class Scope(Enum):
    """Whose word a layer is. Only the user's own may raise trust."""

    USER = "user"
    WORKSPACE = "workspace"
    AGENT = "agent"
    COMMAND_LINE = "command line"


class Found(Struct, frozen=True):
    """One wanted server: what, from where, and by whose word."""

    spec: UpstreamSpec
    origin: Origin
    scope: Scope


class Servers(Struct, frozen=True):
    """`refused` says, by name or by file, what could not be used and why."""

    found: Mapping[str, Found] = {}
    refused: Mapping[str, ConfigError] = {}

    @property
    def wanted(self) -> dict[str, UpstreamSpec]:
        return {name: found.spec for name, found in self.found.items()}


def discover(home: Path, workspace: Path, agent: str, given: Sequence[str] = ()) -> Servers:
    """All layers, in order. `given` are the files or JSON texts of `--mcp-config`."""
    found: dict[str, Found] = {}
    refused: dict[str, ConfigError] = {}
    for layer in _layers(home, workspace, agent, given):
        for name, outcome in layer:
            if isinstance(outcome, Found):
                found[name] = outcome
                refused.pop(name, None)
            else:
                refused[name] = outcome
                found.pop(name, None)
    return Servers(found, refused)


Outcome = tuple[str, Found | ConfigError]


def _layers(home: Path, workspace: Path, agent: str, given: Sequence[str]) -> Iterator[Iterator[Outcome]]:
    for file in sorted(servers_folder(home).glob("*.toml")):
        yield _read_single(file, workspace)
    yield _read_toml(user_file(home), Scope.USER, workspace)
    ours, foreign = workspace_files(workspace)
    yield _read_toml(ours, Scope.WORKSPACE, workspace)
    yield _read_json_file(foreign, Scope.WORKSPACE, workspace)
    yield _read_toml(agent_file(home, agent), Scope.AGENT, workspace)
    for text in given:
        yield _read_given(text, workspace)


# ── our own files ────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_single(file: Path, workspace: Path) -> Iterator[Outcome]:
    """One file of the global folder: the inner table alone."""
    document = _document(file)
    if isinstance(document, ConfigError):
        yield file.stem, document
    elif document is not None:
        name = str(document.tables.get("name", file.stem))
        yield name, _spec(name, document.tables, document, (), Scope.USER, workspace)


def _read_toml(file: Path, scope: Scope, workspace: Path) -> Iterator[Outcome]:
    document = _document(file)
    if isinstance(document, ConfigError):
        yield str(file), document
        return
    if document is None:
        return
    tables: object = document.tables.get("mcp_servers")
    for name, table in _mapping(tables).items():
        yield name, _spec(name, table, document, ("mcp_servers", name), scope, workspace)


def _document(file: Path) -> Document | ConfigError | None:
    try:
        return load.read(file)
    except ConfigError as wrong:
        return wrong


class _Table(Struct, forbid_unknown_fields=True):
    """A server as our own files spell it."""

    name: str = ""
    url: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    cwd: str = "."
    enabled: bool = True
    timeout_ms: int = 30_000
    trust: str = ""
    required: bool = False
    isolation: str = "shared"
    sandbox: str | SandboxTable = "auto"
    tools: ToolRules = ToolRules()


KEYS = tuple(_Table.__struct_fields__)
"""Every key a server may have in our own files."""


def _spec(
    name: str, table: Any, document: Document, path: tuple[str, ...], scope: Scope, workspace: Path
) -> Found | ConfigError:
    origin = Origin(document.file, document.line_of(path))
    try:
        told = msgspec.convert(table, _Table)
    except msgspec.ValidationError as wrong:
        return _explain(wrong, table, document, path)
    return _judge(name, told, origin, scope, workspace)


def _explain(wrong: msgspec.ValidationError, table: Any, document: Document, path: tuple[str, ...]) -> InvalidConfig:
    """Which key, on which line, and what it may have been meant to be."""
    unknown = next((key for key in _mapping(table) if key not in KEYS), None)
    if unknown is not None:
        origin = Origin(document.file, document.line_of((*path, unknown)))
        near = did_you_mean(unknown, KEYS)
        return InvalidConfig(f"{origin}: unknown key {unknown!r}{near}", hint=f"known: {', '.join(KEYS)}")
    said, _, where = str(wrong).partition(" - at `$.")
    key = where.rstrip("`").partition(".")[0].partition("[")[0]
    origin = Origin(document.file, document.line_of((*path, key) if key else path))
    return InvalidConfig(f"{origin}: {key}: {said}", hint="`weft config check` shows everything that is wrong")


# ── JSON of other programs, and the command line ─────────────────────────────────────────────────────────────────────


def _read_given(text: str, workspace: Path) -> Iterator[Outcome]:
    """A file, or JSON itself."""
    if text.lstrip().startswith("{"):
        yield from _read_json(text.encode(), "--mcp-config", Scope.COMMAND_LINE, workspace)
        return
    file = Path(text)
    if not file.is_file():
        yield text, InvalidConfig(f"--mcp-config: there is no file {text}", hint="give a file, or JSON in quotes")
    elif file.suffix == ".toml":
        yield from _read_toml(file, Scope.COMMAND_LINE, workspace)
    else:
        yield from _read_json_file(file, Scope.COMMAND_LINE, workspace)


def _read_json_file(file: Path, scope: Scope, workspace: Path) -> Iterator[Outcome]:
    try:
        content = file.read_bytes()[: load.MAX_FILE_BYTES]
    except FileNotFoundError:
        return
    except OSError as failed:
        yield str(file), ConfigUnreadable(f"{file} cannot be read: {failed.strerror}")
        return
    yield from _read_json(content, str(file), scope, workspace)


def _read_json(content: bytes, file: str, scope: Scope, workspace: Path) -> Iterator[Outcome]:
    try:
        told = msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError as wrong:
        yield file, ConfigUnparsable(f"{file}: not JSON: {wrong}", hint="check commas and quotes")
        return
    for name, entry in foreign_servers(told).items():
        table = _foreign(entry)
        origin = Origin(file)
        yield name, table if isinstance(table, ConfigError) else _judge(name, table, origin, scope, workspace)


def foreign_servers(told: Mapping[str, Any]) -> dict[str, Any]:
    """`{"mcpServers": {…}}`, also under `tools`, or VS Code's `servers`."""
    for place in (told, _mapping(told.get("tools"))):
        for key in ("mcpServers", "servers"):
            servers = place.get(key)
            if isinstance(servers, dict):
                return cast("dict[str, Any]", servers)
    return {}


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


class _Foreign(Struct):
    """A server as other programs spell it; what we do not know is none of our business."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str = "."
    url: str = ""
    headers: dict[str, str] = {}
    timeout: int = 30_000
    type: str = ""
    transport: Any = None
    trust: str = ""
    disabled: bool = False
    enabled: bool = True


def _foreign(entry: Any) -> _Table | ConfigError:
    members = _mapping(entry)
    flat = {**members, **_mapping(members.get("transport")), "transport": None}
    try:
        told = msgspec.convert(flat, _Foreign, strict=False)
    except msgspec.ValidationError as wrong:
        return InvalidConfig(str(wrong))
    if told.type == "claudeai-proxy":
        return InvalidConfig(
            "servers of type claudeai-proxy cannot be reached from here", hint="configure it as http with a login"
        )
    return _Table(
        command=told.command,
        args=tuple(told.args),
        env=told.env,
        cwd=told.cwd,
        url=told.url,
        headers=told.headers,
        timeout_ms=told.timeout,
        trust=told.trust,
        enabled=told.enabled and not told.disabled,
    )


# ── the same rules for all ───────────────────────────────────────────────────────────────────────────────────────────


def _judge(name: str, told: _Table, origin: Origin, scope: Scope, workspace: Path) -> Found | ConfigError:
    wrong = refuse_server(name) or (_wrong_with(told) if told.enabled else None)
    if wrong is not None:
        return InvalidConfig(f"{origin}: {name}: {wrong}", hint="correct the entry, or remove it")
    command, args = _command_of(told)
    spec = UpstreamSpec(
        name=name,
        command=command,
        args=args,
        url="" if command else told.url,
        env=told.env,
        headers=told.headers,
        cwd=str(workspace / told.cwd),
        enabled=told.enabled,
        timeout_ms=told.timeout_ms,
        trust=_trust(told, scope),
        required=told.required,
        isolation="per-session" if told.isolation == "per-session" else "shared",
        sandbox=told.sandbox,
        tools=told.tools,
    )
    return Found(spec, origin, scope)


def _wrong_with(told: _Table) -> str | None:
    if bool(told.url) == bool(told.command):
        return "it needs either a url or a command" + (", not both" if told.url else "")
    if told.trust.lower() not in ("", "trusted", "untrusted"):
        return f"trust is trusted or untrusted, not {told.trust!r}"
    if told.url and not told.url.startswith((STDIO, "http://", "https://")):
        return f"the url must begin with stdio://, http:// or https://, not {told.url[:40]!r}"
    if told.isolation not in ("shared", "per-session"):
        return f"isolation is shared or per-session, not {told.isolation!r}"
    command, _ = _command_of(told)
    verdict = launch.decide(command) if not told.url or command else None
    return verdict.reason if isinstance(verdict, Deny) else None


def _command_of(told: _Table) -> tuple[str, tuple[str, ...]]:
    """`stdio://command args` and `command` with `args` say the same. Split without a shell."""
    if told.command:
        return told.command, told.args
    if told.url.startswith(STDIO):
        words = shlex.split(told.url.removeprefix(STDIO))
        return (words[0], (*words[1:], *told.args)) if words else ("", ())
    return "", ()


def _trust(told: _Table, scope: Scope) -> Trust:
    """The command line is the user's own hand; a workspace file can never raise its own trust."""
    asked = told.trust.lower() or ("trusted" if scope is Scope.COMMAND_LINE else "untrusted")
    return "trusted" if asked == "trusted" and scope is not Scope.WORKSPACE else "untrusted"
