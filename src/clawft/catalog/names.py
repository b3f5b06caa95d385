"""How tools are named towards agents, and every spelling we accept back. Pure.

The canonical name of a tool is `namespace__tool`; for a tool of an external server `mcp:server__tool`. Names are looked
up in tables built from these functions; one is never taken apart but behind a head that we have given out ourselves.
"""

from __future__ import annotations

import re
from enum import Enum

from clawft.model import Origin, Tool

MAX_NAME = 64
SURELY_FIT = MAX_NAME - len("mcp__")
"""A name that needed no mending needs none with this before it either, if it is no longer than that."""
RESERVED = frozenset("git cargo oauth2 rest ide file shell memory web delegate weft build".split())
"""Namespaces of the built-ins; an external server may not claim one."""

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_SERVER = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_HASH_LENGTH = 8


class NameForm(Enum):
    """The forms of names that `--names` chooses from."""

    PLAIN = "plain"
    MCP = "mcp"
    CLAUDE = "claude"
    BARE = "bare"


def canonical(origin: Origin, tool: str) -> str:
    """The name inside the house: unique, whatever the exported form."""
    return f"mcp:{origin.server}__{tool}" if origin.server else f"{origin.namespace}__{tool}"


def exported(origin: Origin, tool: Tool, form: NameForm) -> str:
    """The name an agent sees. Only the `mcp` form has a colon, for those who ask for it."""
    prefix = origin.server or origin.namespace
    if form is NameForm.BARE and may_stand_bare(origin, tool.name):
        return fit(tool.alias or tool.name)
    if form is NameForm.CLAUDE:
        return fit(f"mcp__{prefix}__{tool.name}")
    plain = fit(f"{prefix}__{tool.name}")
    return f"mcp:{plain}" if form is NameForm.MCP and origin.server else plain


def may_stand_bare(origin: Origin, tool: str) -> bool:
    """Not a server's `github__create_issue`: that is the name of another's tool, whether the other is up or not."""
    return not (origin.server and ("__" in tool or tool.startswith("mcp:")))


def heads(origin: Origin) -> tuple[str, ...]:
    """How a tool of this origin may be spelled: each with the tool's own name behind it."""
    prefix = origin.server or origin.namespace
    spelled = (canonical(origin, ""), f"{prefix}__", f"mcp__{prefix}__", f"mcp:{prefix}__", f"mcp:{prefix}:")
    return tuple(dict.fromkeys(spelled))


def fitted(origin: Origin, tool: str) -> tuple[str, ...]:
    """The spellings that had to be made to fit."""
    prefix = origin.server or origin.namespace
    return fit(f"{prefix}__{tool}"), fit(f"mcp__{prefix}__{tool}")


def accepted(origin: Origin, tool: Tool) -> tuple[str, ...]:
    """Every spelling that reaches this tool and no other; the bare one may be another's tomorrow."""
    spelled = [head + tool.name for head in heads(origin)]
    return tuple(dict.fromkeys((*spelled, *fitted(origin, tool.name))))


def second(origin: Origin, alias: str) -> tuple[str, ...]:
    """A second name; one that begins with the namespace, like `memory_get`, in all the spellings of `memory__get`."""
    if not alias:
        return ()
    own = alias.removeprefix(f"{origin.server or origin.namespace}_")
    return (alias, *(head + own for head in heads(origin) if own != alias))


def fit(name: str) -> str:
    """A name every model API takes: `[A-Za-z0-9_-]{1,64}`. Odd or long ones keep their ends and get a stable hash."""
    safe = _ODD.sub("_", name)
    if safe == name and 0 < len(name) <= MAX_NAME:
        return name
    import hashlib  # loads OpenSSL; only names that do not fit need it

    mark = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    room = MAX_NAME - _HASH_LENGTH - 1
    if len(safe) > room:
        head = room // 2
        safe = safe[:head] + safe[len(safe) - (room - head) :]
    return f"{safe}_{mark}"


def refuse_server(name: str) -> str | None:
    """Why a server may not have this name; None if it may."""
    if name in RESERVED:
        return f"{name!r} is the namespace of built-in tools; my-{name} would do"
    if name == "mcp":
        return "'mcp' begins the names of every server's tools; my-mcp would do"
    if "__" in name:
        return "a server name may not contain '__'"
    if not re.fullmatch(_SERVER, name):
        return "a server name is 1 to 64 of A-Z a-z 0-9 _ . - and begins with a letter or digit"
    return None
