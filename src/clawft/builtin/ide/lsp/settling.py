"""Does what a language server has said describe its texts as they are? Pure: whoever tells or asks says when."""

from collections.abc import Sequence

from msgspec import Raw

from clawft.builtin.ide.lsp import messages
from clawft.builtin.ide.lsp.documents import TextDocument
from clawft.builtin.ide.lsp.file_diagnostics import MAX_OF_ONE, FileDiagnostics, KnownDiagnostics
from clawft.builtin.ide.lsp.messages import PublishedDiagnostics

QUIET_SECONDS = 0.3
"""A server that says nothing for this long has settled, where it does not tell versions."""
QUIET_EVERYWHERE_SECONDS = 1.0
"""A server silent for this long has settled on all files together: between two of them it may take a moment."""
MAX_WORKING = 1_000
"""Pieces of work that a server tells of at a time; of more we do not know when they end."""


class Settling:
    def __init__(self) -> None:
        self.known = KnownDiagnostics()
        self._working: set[str] = set()
        """Tokens of work the server has told us about and not ended."""
        self._last_change = 0.0
        self._sent: dict[str, float] = {}
        """When a text was last sent to be judged."""
        self._numbers_its_words = False
        self._told_everywhere = 0.0
        """When the server has read that it shall report on all files; 0 until then."""

    # ── what we did ──────────────────────────────────────────────────────────────────────────────────────────────────

    def changed(self, now: float) -> None:
        """Something is different from what the server has judged."""
        self._last_change = now

    def sent(self, path: str, now: float) -> None:
        self._sent[path] = now

    def closed(self, path: str) -> None:
        self.known.drop(path)
        self._sent.pop(path, None)

    def told_everywhere(self, now: float) -> None:
        self._told_everywhere = self._told_everywhere or now

    # ── what the server said ─────────────────────────────────────────────────────────────────────────────────────────

    def begin_work(self, token: int | str) -> None:
        if len(self._working) < MAX_WORKING:
            self._working.add(str(token))

    def end_work(self, token: int | str) -> None:
        self._working.discard(str(token))

    def publish(self, said: PublishedDiagnostics, now: float) -> bool:
        """False if what is known is about a newer version of the text."""
        path = messages.path_of(said.uri)
        known = self.known.get(path)
        if (
            known is not None
            and said.version is not None
            and known.version is not None
            and said.version < known.version
        ):
            return False
        self._numbers_its_words |= said.version is not None
        self.keep(path, said.diagnostics, said.version, now)
        return True

    def keep(self, path: str, said: Sequence[Raw], version: int | None, now: float) -> None:
        items = messages.diagnostics(said[:MAX_OF_ONE], path)
        self.known.keep(path, FileDiagnostics(items, version, now))

    # ── what follows ─────────────────────────────────────────────────────────────────────────────────────────────────

    def is_settled(self, document: TextDocument, now: float) -> bool:
        known = self.known.get(document.path)
        if known is None or self._working:  # who still works may number what it knew of the text before
            return False
        if self._numbers_its_words:
            return known.version is not None and known.version >= document.told
        return known.at >= self._last_change and now - known.at >= QUIET_SECONDS

    def is_settled_everywhere(self, now: float) -> bool:
        latest = max((each.at for each in self.known.values()), default=0.0)
        quiet = now - max(self._last_change, latest) >= QUIET_EVERYWHERE_SECONDS
        return not self._working and quiet and 0.0 < self._told_everywhere <= latest

    def is_overtaken(self, document: TextDocument) -> bool:
        """Has another text changed since this one was sent to be judged, and was it?"""
        known = self.known.get(document.path)
        if known is None or known.version is None or known.version < document.told:
            return False
        return self._sent[document.path] < self._last_change
