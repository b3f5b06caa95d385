"""The last diagnostics of each file from a language server, within a bound."""

from collections.abc import ItemsView, ValuesView
from sys import getsizeof

from msgspec import Struct

from clawft.builtin.ide.model import Diagnostic

MAX_BYTES = 32 * 1024 * 1024
"""Size of all diagnostics of one server."""
MAX_FILES = 20_000
MAX_OF_ONE = 10_000
"""Diagnostics of one file."""
_BESIDE = 500
"""Size of a diagnostic without its text."""


class FileDiagnostics(Struct):
    """The last diagnostics of one file: for which version, and when they came."""

    items: list[Diagnostic]
    version: int | None
    at: float

    @property
    def size(self) -> int:
        return _BESIDE + sum(_BESIDE + getsizeof(each.message) for each in self.items)


class KnownDiagnostics:
    """File → its diagnostics. Where there is no room, the oldest are dropped: the server may send them again."""

    def __init__(self) -> None:
        self._files: dict[str, FileDiagnostics] = {}
        self._size = 0

    def get(self, path: str) -> FileDiagnostics | None:
        return self._files.get(path)

    def items(self) -> ItemsView[str, FileDiagnostics]:
        return self._files.items()

    def values(self) -> ValuesView[FileDiagnostics]:
        return self._files.values()

    def keep(self, path: str, known: FileDiagnostics) -> None:
        self.drop(path)
        self._files[path] = known
        self._size += known.size
        while (self._size > MAX_BYTES or len(self._files) > MAX_FILES) and len(self._files) > 1:
            self.drop(next(iter(self._files)))

    def drop(self, path: str) -> None:
        gone = self._files.pop(path, None)
        if gone is not None:
            self._size -= gone.size
