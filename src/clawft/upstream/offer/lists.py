"""What one server offers, as we know it: from the cache before it is up, from itself afterwards."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from msgspec import Raw

from clawft.errors import ClawftError
from clawft.model import Era, Tool
from clawft.upstream.offer import offered
from clawft.upstream.offer.cache import Remembered, SchemaCache, fingerprint
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec

DEBOUNCE_SECONDS = 0.05
RELIST_SECONDS = 1.0
"""The least between two readings of the lists of a server that changes them all the time."""

PARTS = ("tools", "prompts", "resources", "templates")
Parts = frozenset[str]
"""Which of a server's lists differ from before."""

log = logging.getLogger("clawft.upstream")


class Lists:
    """Readers never wait and never see half a list; `changed` is told when there is something new to see."""

    def __init__(self, spec: UpstreamSpec, cache: SchemaCache, changed: Callable[[Parts], None]) -> None:
        self._spec = spec
        self._cache = cache
        self._changed = changed
        self._asking = asyncio.Lock()
        self._asked = 0.0
        self._stale = False
        self.answers: Remembered | None = cache.get(spec)
        self.tools: tuple[Tool, ...] = self._read_tools()

    @property
    def era(self) -> Era | None:
        """What the server spoke when it answered last."""
        return Era(self.answers.era) if self.answers is not None else None

    def is_fresh(self) -> bool:
        return self._cache.is_fresh(self._spec)

    async def ask(self, session: Session) -> None:
        """Everything anew, swapped in one step; the house hears of it only if it differs."""
        async with self._asking:
            answers = await offered.ask(session, fingerprint(self._spec), time.time())
            self._asked = time.monotonic()
            before, self.answers = self.answers, answers
            self._cache.put(self._spec, answers)
        if not answers.tools:
            log.info("%s: it has no tools", self._spec.name)
        parts = _differing(before or Remembered("", 0.0, answers.era), answers)
        if parts or before is None:
            self.tools = self._read_tools()
            self._changed(parts)

    def _read_tools(self) -> tuple[Tool, ...]:
        if self.answers is None:
            return ()
        return offered.read_tools(self.answers.tools, self._spec.name, self.answers.era if self.answers.tasks else "")

    def invalidate(self) -> bool:
        """They have changed. True if someone must ask again; a flood of such news is one."""
        self._cache.invalidate(self._spec.name)
        first, self._stale = not self._stale, True
        return first

    async def ask_again(self, session: Session) -> None:
        """After a moment, as changes come in groups. Never raises for what the server does."""
        soon = time.monotonic() - self._asked > RELIST_SECONDS
        await asyncio.sleep(DEBOUNCE_SECONDS if soon else RELIST_SECONDS)
        self._stale = False
        try:
            await self.ask(session)
        except ClawftError as failed:
            log.warning("%s: its lists could not be read again: %s", self._spec.name, failed)

    def settle(self) -> None:
        """The session is over: whoever was to ask again will not."""
        self._stale = False


def _differing(before: Remembered, after: Remembered) -> Parts:
    """Other instructions are other tools: an approval of theirs holds for what the model was told, all of it."""
    parts = [part for part in PARTS if _joined(getattr(before, part)) != _joined(getattr(after, part))]
    return frozenset(parts if before.instructions == after.instructions else [*parts, "tools"])


def _joined(items: list[Raw]) -> bytes:
    return b"\n".join(bytes(item) for item in items)
