"""What every way to an editor can do. One file per kind of editor implements it; the tools know nothing else."""

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
    """Paths are absolute and checked. Every method may raise an `IdeError`; several agents may call at once."""

    @property
    def backend(self) -> str:
        """vscode, neovim or headless."""
        ...

    @property
    def window(self) -> Window: ...

    def seconds(self) -> float:
        """How long an operation may take now: more while it still starts."""
        ...

    def state(self, path: str) -> Buffer | None:
        """Version and dirt of a text, as far as known without asking."""
        ...

    async def open_file(self, path: str, position: Position | None = None) -> Buffer: ...

    async def read(self, path: str) -> Buffer:
        """The text as the editor has it, saved or not."""
        ...

    async def apply_edit(self, changes: Sequence[FileEdit], *, save: bool = False) -> list[Buffer]:
        """All of them or none."""
        ...

    async def get_diagnostics(self, path: str | None, wait_ms: int = 0) -> Problems: ...

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]: ...

    async def hover(self, path: str, position: Position) -> HoverInfo | None: ...

    async def definition(self, path: str, position: Position) -> list[Location]: ...

    async def references(self, path: str, position: Position) -> list[Location]: ...

    async def document_symbols(self, path: str) -> list[SymbolInfo]: ...

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        """What would change; nothing is changed yet."""
        ...

    async def code_actions(self, path: str, place: Range) -> list[Action]: ...

    async def format(self, path: str) -> list[TextEdit]:
        """What a formatter would change; nothing is changed yet."""
        ...

    async def save(self, path: str) -> Buffer: ...

    async def discard(self, path: str) -> Buffer:
        """Take the text of the disk; what is not saved is lost."""
        ...

    async def selection(self) -> Selection: ...

    async def open_editors(self) -> list[OpenEditor]: ...

    async def show_diff(self, path: str, new_text: str) -> Review:
        """Let the person judge. Takes as long as they do; cancelling takes the question off their screen."""
        ...

    def changed_on_disk(self, paths: Sequence[str] | None) -> list[str]:
        """A tool of ours wrote these files as a whole, or any at all if None. Never waits.

        Returns those whose unsaved text gave way to what was written: where no person sits, the later one counts.
        """
        ...

    def unsaved(self) -> list[str]:
        """Texts that differ from the disk, as far as is known without asking."""
        ...

    def overtaken(self) -> list[str]:
        """Of these, those whose file somebody else has written since, as far as is known: they cannot be saved."""
        ...
