"""The layers of configuration that name servers, and the outcome of an entry in one of them.

Later layers win; `servers` merges them. `toml_servers` reads our own files, `json_servers` those of other programs.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from msgspec import Struct

from clawft.catalog.names import refuse_server
from clawft.config.entry import ServerEntry
from clawft.config.entry_rules import judge
from clawft.config.load import SourceLine
from clawft.errors import ConfigError, InvalidConfig
from clawft.store.document import KeyPath
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.shapes import members
from clawft.wire.strings import clipped

MAX_SERVERS = 1_000
"""Servers in one file, as a start waits until all are read."""
LONG_NAME = 200
"""Characters of the name of an entry. Longer names are refused and shown cut."""
TABLE = "mcp_servers"
"""The table of servers in our own files."""
DELEGATION, FLOW_KEY = "delegation", "claude_flow_server"
"""Where the server of claude-flow may be described, beside the others."""


class Scope(Enum):
    """The author of a layer. Only the user's own layers may raise trust."""

    USER = "user"
    WORKSPACE = "workspace"
    AGENT = "agent"
    COMMAND_LINE = "command line"


class FoundServer(Struct, frozen=True):
    """A configured server: its spec, where it is written, and its layer."""

    spec: UpstreamSpec
    origin: SourceLine
    scope: Scope
    instead_of: SourceLine | None = None
    """A file of the same folder with a server of this name, which is not used."""

    @property
    def must_wait(self) -> bool:
        """Whether its launch has to be approved before it runs."""
        return self.scope is Scope.WORKSPACE and self.spec.enabled


class RefusedServer(Struct, frozen=True):
    """A server, or a whole file, that cannot be used, and why.

    `required`: the program must not start without it. `is_local`: the entry is in a file of the workspace. `own`: the
    server of the user that has this name, and is used.
    """

    error: ConfigError
    file: str
    required: bool = False
    is_local: bool = False
    own: str = ""


EntryOutcome = tuple[str, FoundServer | RefusedServer]
"""The name of an entry, and what it became."""


class Sources(Struct, frozen=True):
    """Where to look for servers.

    `given` are the files or JSON texts of `--mcp-config`; `folders` are those that programs may come from. With
    `given_only` no other file is read: a Python program runs only the servers it names itself.
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
        """Whether the user has typed it on the command line."""
        return self.scope is Scope.COMMAND_LINE


# ── what every reader of entries needs ───────────────────────────────────────────────────────────────────────────────


def is_required(table: object, layer: Layer) -> bool:
    """Whether the program must not start without this server. A workspace cannot demand that."""
    return not layer.is_workspace and members(table).get("required") is True


def judged(
    name: str,
    entry: ServerEntry,
    origin: SourceLine,
    layer: Layer,
    at: Callable[[KeyPath], SourceLine] | None = None,
) -> FoundServer | RefusedServer:
    outcome = judge(
        name,
        entry,
        origin,
        workspace=layer.sources.workspace,
        by_hand=layer.is_typed,
        by_workspace=layer.is_workspace,
        folders=layer.sources.folders,
        at=at,
    )
    if isinstance(outcome, ConfigError):
        return RefusedServer(outcome, origin.file, entry.required and not layer.is_workspace, layer.is_workspace)
    return FoundServer(outcome, origin, layer.scope)


def too_many_servers(file: str | Path) -> InvalidConfig:
    return InvalidConfig(f"{file} names more than {MAX_SERVERS} servers", hint="is this the right file?")


def name_too_long(name: str, origin: SourceLine, layer: Layer) -> EntryOutcome:
    shown = clipped(name, LONG_NAME)
    wrong = InvalidConfig(f"{origin}: {shown}: {refuse_server(name)}", hint="correct the name, or remove the entry")
    return shown, RefusedServer(wrong, origin.file, is_local=layer.is_workspace)
