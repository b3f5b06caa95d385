"""Decides whether a server's diagnostics describe the current texts. Pure: callers pass the time."""

from collections.abc import Sequence

from msgspec import Raw

from clawft.builtin.ide.lsp import messages
from clawft.builtin.ide.lsp.documents import TextDocument
from clawft.builtin.ide.lsp.file_diagnostics import MAX_OF_ONE, FileDiagnostics, KnownDiagnostics
from clawft.builtin.ide.lsp.messages import PublishedDiagnostics

QUIET_SECONDS = 0.3
"""A server without version numbers that is silent for this long has finished."""
QUIET_EVERYWHERE_SECONDS = 1.0
"""A server that is silent for this long has finished all files: it may pause between two of them."""
MAX_WORKING = 1_000
"""Tokens of work in progress that are tracked at a time."""


class Settling:
    def __init__(self) -> None:
        self.known = KnownDiagnostics()
        self._working: set[str] = set()
        """Tokens of the server's work in progress."""
        self._last_change = 0.0
        self._sent: dict[str, float] = {}
        """File → when its text was last sent to be checked."""
        self._numbers_its_words = False
        self._told_everywhere = 0.0
        """When the server was told to report on all files; 0 before."""

    # ── what we did ──────────────────────────────────────────────────────────────────────────────────────────────────

    def changed(self, now: float) -> None:
        """Something has changed since the server checked the texts."""
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
        """Store diagnostics. False if those we have are about a newer version of the text."""
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
        if known is None or self._working:  # a server at work may use the new number for diagnostics of the old text
            return False
        if self._numbers_its_words:
            return known.version is not None and known.version >= document.told
        return known.at >= self._last_change and now - known.at >= QUIET_SECONDS

    def is_settled_everywhere(self, now: float) -> bool:
        latest = max((each.at for each in self.known.values()), default=0.0)
        quiet = now - max(self._last_change, latest) >= QUIET_EVERYWHERE_SECONDS
        return not self._working and quiet and 0.0 < self._told_everywhere <= latest

    def is_overtaken(self, document: TextDocument) -> bool:
        """Whether this text was checked, and another text has changed since it was sent."""
        known = self.known.get(document.path)
        if known is None or known.version is None or known.version < document.told:
            return False
        return self._sent[document.path] < self._last_change
