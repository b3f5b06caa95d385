"""Composed chains of guards down to a provider, shared by all its tools to which the same guards apply."""

from __future__ import annotations

from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.gateway.offer.shared_uris import SharedUris
from clawft.gateway.reply import able, as_reply
from clawft.guard.pipeline import Pipeline
from clawft.model import Capabilities, FastPath, Next, Tool

_NO_NEEDS = Capabilities()


class GuardedChains:
    """Builds a chain on first use and shares it: a server may have thousands of tools, and each chain is many steps."""

    def __init__(self, pipeline: Pipeline, known: RegisteredProvider, shared: SharedUris) -> None:
        self._pipeline = pipeline
        self._known = known
        self._shared = shared
        self._guarded: dict[tuple[bool, ...], Next] = {}
        self._fast: dict[tuple[bool, ...], FastPath | None] = {}

    def bind(self, tool: Tool) -> Next:
        known = self._known
        needy = tool.needs != _NO_NEEDS
        kind = (needy, *self._pipeline.applying(tool, known.origin))
        chain = self._guarded.get(kind)
        if chain is None:
            last = able(known.end) if needy else known.end
            chain = self._guarded[kind] = self._pipeline.chain(
                kind[1:], lambda finish: as_reply(last, finish, self._shared)
            )
        return chain

    def fast_path_of(self, tool: Tool) -> FastPath | None:
        known = self._known
        if known.start is None or tool.needs != _NO_NEEDS:
            return None
        kind = self._pipeline.applying(tool, known.origin)
        if kind not in self._fast:
            self._fast[kind] = self._pipeline.fast_path(kind, known.start)
        return self._fast[kind]
