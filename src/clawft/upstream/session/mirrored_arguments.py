"""Arguments that travel as headers too (`x-mcp-header`, stateless HTTP): which tools have some, what they say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw

from clawft.wire.headers import BadMirror, Mirror, mirrors, spell

MAX_MIRRORED = 2_000
"""Arguments of all tools of one server: they are kept for each session."""
MAX_TOLD = 5
"""Tools left out that are told one by one."""
MAX_TOLD_CHARS = 100

_MARK = b"x-mcp-header"

T = TypeVar("T")

log = logging.getLogger("clawft.upstream")


class Mirrors:
    """Learnt from a server's list of tools; asked for each call."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mirror, ...]] = {}
        self._count = 0
        self._left_out = 0

    def learn(self, tools: Sequence[T], wire_of: Callable[[T], bytes]) -> list[T]:
        """The tools that can be called. One with an annotation that cannot be honoured is left out, and the reason is
        logged.
        """
        self._known = {}
        self._count = self._left_out = 0
        return [tool for tool in tools if _MARK not in (wire := wire_of(tool)) or self._learn_one(wire)]

    def _learn_one(self, wire: bytes) -> bool:
        try:
            tool = msgspec.json.decode(wire, type=dict[str, Any])
        except msgspec.DecodeError:
            return True  # whoever reads it will say what is wrong with it
        found = mirrors(tool.get("inputSchema") or {})
        name = str(tool.get("name"))
        if isinstance(found, BadMirror):
            return self._leave_out(name, found.reason)
        if self._count + len(found) > MAX_MIRRORED:
            return self._leave_out(name, f"{MAX_MIRRORED} arguments of one server in headers are the most")
        self._count += len(found)
        self._known[name] = found
        return True

    def _leave_out(self, name: str, why: str) -> bool:
        self._left_out += 1
        if self._left_out <= MAX_TOLD:
            log.warning("the tool %r is left out: %s", name[:MAX_TOLD_CHARS], why)
        return False

    def headers(self, name: str, params: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """The headers for a call with these params, whose arguments are still JSON."""
        known = self._known.get(name)
        if not known:
            return ()
        arguments = params.get("arguments", {})
        if isinstance(arguments, Raw):
            arguments = msgspec.json.decode(arguments)
        mirrored = ((f"Mcp-Param-{mirror.token}", _spell(mirror, arguments)) for mirror in known)
        return tuple((header, value) for header, value in mirrored if value is not None)


def _spell(mirror: Mirror, arguments: object) -> str | None:
    """Nothing for an argument that is missing, or is not what its schema says: the server will tell what is wrong."""
    value = arguments
    for key in mirror.path:
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
    if not isinstance(value, _TYPES[mirror.type]) or (mirror.type == "integer" and isinstance(value, bool)):
        return None
    return spell(value)


_TYPES: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int, float), "boolean": (bool,)}
