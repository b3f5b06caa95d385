"""The description of one server as we want it. Frozen and comparable: a changed spec is a changed server."""

from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta, Struct

from clawft.sandbox.bounds import SandboxTable
from clawft.wire.framing import DEFAULT_LIMIT

Trust = Literal["untrusted", "trusted"]
Isolation = Literal["shared", "per-session"]
Asks = Literal["elicitation", "sampling", "roots"]
PinnedEra = Literal["auto", "handshake", "stateless"]
EVERYTHING: tuple[Asks, ...] = ("elicitation", "sampling", "roots")

DEFAULT_TIMEOUT_MS = 30_000
HARD_LIMIT_FACTOR = 10
"""Progress may extend a deadline, at most to this many times its length."""


MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000

MIN_MESSAGE_BYTES = 64 * 1024
MAX_MESSAGE_BYTES = 1024 * 1024 * 1024

MessageBytes = Annotated[int, Meta(ge=MIN_MESSAGE_BYTES, le=MAX_MESSAGE_BYTES)]
Millis = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_MS)]
Name = Annotated[str, Meta(min_length=1, pattern=r"^[^=\x00]+$")]
Text = Annotated[str, Meta(pattern=r"^[^\x00]*\Z")]
"""Anything a child can be given: the system ends texts at a zero byte."""


class ToolRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The tools of the server that are offered, and how long each may take."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    timeout_ms: dict[str, Millis] = {}


class TokenExchange(Struct, frozen=True, forbid_unknown_fields=True):
    """Whoever calls is known there by name: the token they came with is exchanged for one of its own (RFC 8693)."""

    client_id: Annotated[str, Meta(min_length=1)]
    client_secret: str = ""
    """A reference, never the secret."""
    audience: str = ""
    resource: str = ""
    scopes: tuple[str, ...] = ()


class ServerDescription(Struct, frozen=True, kw_only=True):
    """The part of a server's description that files and specs share. Either `command` with `args`, or `url`."""

    url: str = ""
    command: Text = ""
    args: tuple[Text, ...] = ()
    env: dict[Name, Text] = {}
    headers: dict[str, Text] = {}
    proxy: str = ""
    """By which it is reached over the network: nothing else of ours goes that way."""
    cwd: Text = "."
    enabled: bool = True
    timeout_ms: Millis = DEFAULT_TIMEOUT_MS
    max_message: MessageBytes = DEFAULT_LIMIT
    """Bytes of one message of its; a longer one is not read."""
    required: bool = False
    isolation: Isolation = "shared"
    sandbox: str | SandboxTable = "auto"
    tools: ToolRules = ToolRules()
    redact: bool | None = None
    """Take secrets out of its results; None: as for all servers."""
    verbatim: bool = False
    """Whether its texts pass with their hidden characters."""
    asks: tuple[Asks, ...] = EVERYTHING
    """The questions it may ask the agent that calls it."""
    era: PinnedEra = "auto"
    """How it is spoken to; `auto` finds out."""
    exchange: TokenExchange | None = None
    """Every person has a session of their own with it, in their own name."""


class UpstreamSpec(ServerDescription, frozen=True):
    """A server as it was judged: this is what runs."""

    name: str
    trust: Trust = "untrusted"
    scope: str = ""
    """The layer of the configuration it came from."""

    @property
    def is_local(self) -> bool:
        """A file in the workspace names it: it opens nothing outside of that, and its name proves nothing."""
        return self.scope == "workspace"

    def is_same(self, other: Self) -> bool:
        """Wherever it came from: a server that moved to another file is not restarted."""
        return msgspec.structs.replace(self, scope=other.scope) == other

    def __repr__(self) -> str:
        return f"UpstreamSpec({self.name!r}, …)"  # variables, headers and arguments may hold secrets

    @property
    def transport(self) -> Literal["stdio", "http"]:
        return "stdio" if self.command else "http"

    def deadline_of(self, tool: str) -> float:
        """Seconds a call of this tool may take without a sign of life."""
        return self.tools.timeout_ms.get(tool, self.timeout_ms) / 1000
