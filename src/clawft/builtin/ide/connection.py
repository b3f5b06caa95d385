"""The protocol of editors, implemented by one file for each kind; the tools know nothing else of them."""

from collections.abc import Sequence
from typing import Protocol

from clawft.builtin.ide.model import (
    Action,
    Buffer,
    FileEdit,
    HoverInfo,
    Location,
    OpenEditor,
    Position,
    Problems,
    Range,
    Review,
    Selection,
    SymbolInfo,
    TextEdit,
    Window,
)


class IdeConnection(Protocol):
    """One editor. Paths are absolute and checked. Methods may raise an `IdeError`, and be called by several agents."""

    @property
    def backend(self) -> str:
        """vscode, neovim or headless."""
        ...

    @property
    def window(self) -> Window: ...

    def seconds(self) -> float:
        """How long an operation may take now: longer while the editor starts."""
        ...

    def state(self, path: str) -> Buffer | None:
        """Whether the text is saved, and its version, as far as known without asking."""
        ...

    async def open_file(self, path: str, position: Position | None = None) -> Buffer: ...

    async def read(self, path: str) -> Buffer:
        """The text in the editor, saved or not."""
        ...

    async def apply_edit(self, changes: Sequence[FileEdit], *, save: bool = False) -> list[Buffer]:
        """Make all of the changes, or none."""
        ...

    async def get_diagnostics(self, path: str | None, wait_ms: int = 0) -> Problems: ...

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]: ...

    async def hover(self, path: str, position: Position) -> HoverInfo | None: ...

    async def definition(self, path: str, position: Position) -> list[Location]: ...

    async def references(self, path: str, position: Position) -> list[Location]: ...

    async def document_symbols(self, path: str) -> list[SymbolInfo]: ...

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        """The changes a rename would make; none is made yet."""
        ...

    async def code_actions(self, path: str, place: Range) -> list[Action]: ...

    async def format(self, path: str) -> list[TextEdit]:
        """The changes a formatter would make; none is made yet."""
        ...

    async def save(self, path: str) -> Buffer: ...

    async def discard(self, path: str) -> Buffer:
        """Reload the text from the disk; unsaved changes are lost."""
        ...

    async def selection(self) -> Selection: ...

    async def open_editors(self) -> list[OpenEditor]: ...

    async def show_diff(self, path: str, new_text: str) -> Review:
        """Let the person judge, without a deadline; cancelling removes the question from their screen."""
        ...

    def changed_on_disk(self, paths: Sequence[str] | None) -> list[str]:
        """Report that a tool of ours wrote these files, or any files if None. Never waits.

        Returns the files whose unsaved text was replaced by what was written: without a person, the later change
        counts.
        """
        ...

    def unsaved(self) -> list[str]:
        """Texts that differ from the disk, as far as known without asking."""
        ...

    def overtaken(self) -> list[str]:
        """Unsaved texts whose file has been written by others since, as far as known: they cannot be saved."""
        ...
