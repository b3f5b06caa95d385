"""The ways down to one provider: all its tools that the same guards apply to share one."""

from __future__ import annotations

from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.gateway.offer.shared_uris import SharedUris
from clawft.gateway.reply import able, as_reply
from clawft.guard.pipeline import Pipeline
from clawft.model import Capabilities, Next, Shortcut, Tool

_NO_NEEDS = Capabilities()


class Ways:
    """Composed when the first tool wants one. A server may have thousands of tools, and a way is many steps."""

    def __init__(self, pipeline: Pipeline, known: RegisteredProvider, shared: SharedUris) -> None:
        self._pipeline = pipeline
        self._known = known
        self._shared = shared
        self._long: dict[tuple[bool, ...], Next] = {}
        self._short: dict[tuple[bool, ...], Shortcut | None] = {}

    def bind(self, tool: Tool) -> Next:
        known = self._known
        needy = tool.needs != _NO_NEEDS
        kind = (needy, *self._pipeline.applying(tool, known.origin))
        way = self._long.get(kind)
        if way is None:
            last = able(known.end) if needy else known.end
            way = self._long[kind] = self._pipeline.way(kind[1:], lambda finish: as_reply(last, finish, self._shared))
        return way

    def shorten(self, tool: Tool) -> Shortcut | None:
        known = self._known
        if known.start is None or tool.needs != _NO_NEEDS:
            return None
        kind = self._pipeline.applying(tool, known.origin)
        if kind not in self._short:
            self._short[kind] = self._pipeline.shortcut(kind, known.start)
        return self._short[kind]
