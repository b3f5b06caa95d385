"""The caller: the agent on the other side, its abilities, and its rights."""

from __future__ import annotations

import math
from enum import Enum

from msgspec import Struct


class Era(Enum):
    HANDSHAKE = "handshake"
    """2024-11-05 to 2025-11-25: initialize, sessions, requests in both directions."""
    STATELESS = "stateless"
    """2026-07-28: every request stands alone."""

    __hash__ = object.__hash__  # there is one of each, and this one needs no Python to run


class Grant(Struct, frozen=True):
    """The tools a caller may see: globs over exported names; deny wins."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    within: tuple[str, ...] = ("*",)
    """The globs of the gateway's whole offer: nothing is granted beyond it."""


class Capabilities(Struct, frozen=True, omit_defaults=True):
    """The abilities of the caller's client when it is asked."""

    elicit_form: bool = False
    elicit_url: bool = False
    sampling: bool = False
    roots: bool = False
    tasks: bool = False
    sampling_tools: bool = False
    """Whether its model may be given tools to use."""
    sampling_context: bool = False
    extensions: tuple[tuple[str, bytes], ...] = ()
    """The other extensions it knows, by name, each with its settings: between it and the servers, and nothing to us."""


LOCAL = "local"
"""The person at this machine, or whoever has their token: what they approve holds for all their agents."""


class Caller(Struct, frozen=True):
    """The agent on the other side, as far as we know it. `client` is unverified: for logs, never for policy."""

    principal: str = LOCAL
    agent: str = "default"
    client: str = ""
    era: Era = Era.HANDSHAKE
    revision: str = "2025-11-25"
    capabilities: Capabilities = Capabilities()
    grant: Grant = Grant()
    session: str = ""
    proof: str = ""
    """Names the token a person came with, for servers that are called in their name. Never the token."""
    until: float = math.inf
    """When that token expires."""
