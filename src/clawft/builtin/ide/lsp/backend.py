"""Language servers in place of an editor; `running_servers` starts them.

Edits change the text that the server has; the disk changes with `save`. Other tools are warned while the two differ.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clawft.builtin.confine import confined
from clawft.builtin.file import replace_file
from clawft.builtin.ide.family import OPERATION_SECONDS
from clawft.builtin.ide.lsp import messages
from clawft.builtin.ide.lsp.documents import TextDocument, exists, has_mark
from clawft.builtin.ide.lsp.documents import read as read_file
from clawft.builtin.ide.lsp.messages import uri_of
from clawft.builtin.ide.lsp.running_servers import LspServers
from clawft.builtin.ide.lsp.server import START_SECONDS, LspServer
from clawft.builtin.ide.lsp.server_table import server_for
from clawft.builtin.ide.model import (
    Action,
    Buffer,
    Diagnostic,
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
from clawft.builtin.ide.text import TextMap, apply, with_ends_of
from clawft.errors import IdeError, IdeFailed, IdeNotConnected
from clawft.sandbox.bounds import is_within

RENAME_SECONDS = 2.0
"""Time for a server that has just started to find all files, as it would rename only in the open one."""
MAX_ACTIONS = 50
MAX_OPENED = 40
"""Files opened for diagnostics of all files, for servers that check only open ones."""
TAB_SIZE = 4


class HeadlessIde:
    """An `IdeConnection` without a screen."""

    backend = "headless"

    def __init__(self, workspace: Path, changed: Callable[[], None] = lambda: None, sandbox: str = "auto") -> None:
        self._folder = os.path.realpath(workspace)
        self._servers = LspServers(self._folder, changed, sandbox)
        self._lock = asyncio.Lock()

    @property
    def window(self) -> Window:
        version = ", ".join(each.spec.name for each in self._servers)
        held = "; ".join(f"{each.spec.name}: {each.sandbox}" for each in self._servers)
        return Window(
            self.backend,
            "language servers",
            [self._folder],
            version,
            capabilities=["headless"],
            sandbox=held,
            gaps=self._servers.gaps,
        )

    def seconds(self) -> float:
        return OPERATION_SECONDS if self._servers.are_warm() else OPERATION_SECONDS + START_SECONDS

    def state(self, path: str) -> Buffer | None:
        found = (server.documents.get(path) for server in self._servers)
        return next((document.buffer() for document in found if document is not None), None)

    async def close(self) -> None:
        await self._servers.close()

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def open_file(self, path: str, position: Position | None = None) -> Buffer:
        raise IdeNotConnected("there is no screen to open a file on", hint="open the workspace in VS Code or Neovim")

    async def read(self, path: str) -> Buffer:
        if server_for(path) is None:
            return Buffer(path, 1, text=await asyncio.to_thread(read_file, path))
        try:
            _, document = await self._servers.open(path)
        except IdeNotConnected:
            return Buffer(path, 1, text=await asyncio.to_thread(read_file, path))
        _check_not_overtaken(document)
        return document.buffer(with_text=True)

    async def apply_edit(self, changes: Sequence[FileEdit], *, save: bool = False) -> list[Buffer]:
        async with self._lock:
            opened = [(change, *await self._servers.open(change.path)) for change in changes]
            for _, _, document in opened:
                _check_not_overtaken(document)
            texts = [_changed_text(change, document) for change, _, document in opened]
            for (_, server, document), text in zip(opened, texts, strict=True):
                server.change(document, text)
            if save:
                for _, server, document in opened:
                    await self._write(server, document)
            return [document.buffer() for _, _, document in opened]

    async def save(self, path: str) -> Buffer:
        async with self._lock:
            server, document = await self._servers.open(path)
            if document.dirty:
                await self._write(server, document)
            return document.buffer()

    async def discard(self, path: str) -> Buffer:
        async with self._lock:
            server, document = await self._servers.open(path)
            server.read_again(document)
            return document.buffer()

    async def _write(self, server: LspServer, document: TextDocument) -> None:
        """Write to the disk, unless others have written the file meanwhile: then one text would be lost."""
        _check_not_overtaken(document)
        await asyncio.to_thread(self._replace, document.path, document.text)
        server.saved(document)

    def _replace(self, path: str, text: str) -> None:
        """The path was resolved when the file was opened: a link on the way has been put there since."""
        folder = self._folder if is_within(path, self._folder) else os.path.dirname(path)
        with confined(Path(folder), path, "save") as found:
            if os.path.join(folder, found.relative) != path:
                raise IdeFailed(f"'{path}' leads elsewhere by now", kind="stale", hint="somebody put a link on the way")
            replace_file(found, text.encode("utf-8-sig" if has_mark(path) else "utf-8"))

    # ── knowledge ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def get_diagnostics(self, path: str | None, wait_ms: int = 0) -> Problems:
        if path is None:
            return await self._all_diagnostics(wait_ms / 1000)
        server, document = await self._servers.open(path)
        await self._servers.look_again(server)
        fresh = await server.settled(document, wait_ms / 1000)
        known = server.known.get(path)
        items = known.items if known else []
        return Problems(items, fresh, not fresh, document.version, document.dirty)

    async def _all_diagnostics(self, seconds: float) -> Problems:
        servers = await self._servers.present()
        fresh = all(await asyncio.gather(*(self._everywhere(server, seconds) for server in servers)))
        items = [
            each
            for server in servers
            for path, known in server.known.items()
            if is_within(path, self._folder)
            for each in known.items
        ]
        return Problems(items, fresh, not fresh, dirty=bool(self.unsaved()))

    async def _everywhere(self, server: LspServer, seconds: float) -> bool:
        """Have all files checked: by a setting of the server, or by opening them, up to a bound."""
        await self._servers.look_again(server)
        if server.spec.reports_everywhere:
            server.look_everywhere()
            return await server.settled(None, seconds)
        files = self._servers.files_of(server)
        opened = [server.open(path) for path in files[:MAX_OPENED]]
        judged = await asyncio.gather(*(server.settled(document, seconds) for document in opened))
        return all(judged) and len(files) <= MAX_OPENED

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]:
        servers = await self._servers.present()
        for server in servers:
            await self._servers.look_again(server)
        await self._servers.wait_for_files(servers)
        asked = (_quietly(server.request("workspace/symbol", {"query": query}, messages.SYMBOLS)) for server in servers)
        found = [each for answer in await asyncio.gather(*asked) for each in messages.symbols(answer or [], "")]
        inside = [each for each in found if is_within(each.file_path, self._folder)]
        return sorted(inside, key=lambda each: (query not in each.name, len(each.name), each.file_path))[:limit]

    async def hover(self, path: str, position: Position) -> HoverInfo | None:
        return messages.hover(await self._at("hover", path, position, messages.HOVER))

    async def definition(self, path: str, position: Position) -> list[Location]:
        return messages.locations(await self._at("definition", path, position, messages.LOCATIONS))

    async def references(self, path: str, position: Position) -> list[Location]:
        context = {"context": {"includeDeclaration": True}}
        return sorted(messages.locations(await self._at("references", path, position, messages.LOCATIONS, context)))

    async def document_symbols(self, path: str) -> list[SymbolInfo]:
        server, _ = await self._servers.open(path)
        asked = {"textDocument": {"uri": uri_of(path)}}
        answer = await server.request("textDocument/documentSymbol", asked, messages.SYMBOLS)
        return list(messages.symbols(answer or [], path))

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        server, document = await self._servers.open(path)
        await self._servers.look_again(server, now=True)
        await server.settled(document, RENAME_SECONDS)
        versions = _versions(server)
        answer = await self._at("rename", path, position, messages.WORKSPACE_EDIT, {"newName": new_name})
        return _meant_for(versions, messages.file_edits(answer))

    async def _at(self, what: str, path: str, position: Position, kind: Any, more: dict[str, Any] | None = None) -> Any:
        server, document = await self._servers.open(path)
        TextMap(document.text).offset(position)
        asked = {"textDocument": {"uri": uri_of(path)}, "position": messages.plain(position), **(more or {})}
        return await server.request(f"textDocument/{what}", asked, kind)

    async def code_actions(self, path: str, place: Range) -> list[Action]:
        server, document = await self._servers.open(path)
        TextMap(document.text).span(place)
        known = server.known.get(path)
        near = [each for each in (known.items if known else []) if _touches(each.range, place)]
        asked = {
            "textDocument": {"uri": uri_of(path)},
            "range": messages.plain(place),
            "context": {"diagnostics": [_as_lsp(each) for each in near]},
        }
        versions = _versions(server)
        answers: list[messages.LspAction] = (
            await server.request("textDocument/codeAction", asked, messages.ACTIONS) or []
        )
        actions = [messages.action(await self._resolved(server, each)) for each in answers[:MAX_ACTIONS]]
        return [replace(each, changes=_meant_for(versions, each.changes)) for each in actions if each.changes]

    async def _resolved(self, server: LspServer, offer: messages.LspAction) -> messages.LspAction:
        provider: Any = server.capabilities.get("codeActionProvider")
        if offer.edit is not None or not isinstance(provider, dict) or not provider.get("resolveProvider"):  # pyright: ignore[reportUnknownMemberType]  # JSON
            return offer
        asked = {"title": offer.title, "kind": offer.kind, "data": offer.data}
        return await _quietly(server.request("codeAction/resolve", asked, messages.LspAction)) or offer

    async def format(self, path: str) -> list[TextEdit]:
        server, _ = await self._servers.open(path)
        if not server.offers("documentFormattingProvider"):
            raise IdeFailed(f"{server.spec.name} does not format", hint="run the project's formatter with build__run")
        asked = {"textDocument": {"uri": uri_of(path)}, "options": {"tabSize": TAB_SIZE, "insertSpaces": True}}
        return messages.edits(await server.request("textDocument/formatting", asked, messages.EDITS) or [])

    # ── no screen ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def selection(self) -> Selection:
        raise IdeNotConnected("there is no screen, so nothing is selected", hint="open the workspace in an editor")

    async def open_editors(self) -> list[OpenEditor]:
        return [OpenEditor(each.path, dirty=each.dirty) for each in self._servers.documents()]

    async def show_diff(self, path: str, new_text: str) -> Review:
        raise IdeNotConnected("there is no screen to show a diff on", hint="open the workspace in an editor")

    # ── the disk ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def changed_on_disk(self, paths: Sequence[str] | None) -> list[str]:
        self._servers.look_next_time()
        written = set(map(os.path.realpath, paths or ()))
        lost = [
            (server, document)
            for server in self._servers
            for document in server.documents.all()
            if document.path in written and document.is_overtaken
        ]
        for server, document in lost:
            with suppress(IdeError):  # too large now, or removed again
                server.read_again(document)
        return [document.path for _, document in lost]

    def unsaved(self) -> list[str]:
        return [each.path for each in self._servers.documents() if each.dirty and exists(each.path)]

    def overtaken(self) -> list[str]:
        return [each.path for each in self._servers.documents() if each.is_overtaken]


def _versions(server: LspServer) -> Mapping[str, int]:
    """The versions of the texts that the server has."""
    return {each.path: each.version for each in server.documents.all()}


def _meant_for(versions: Mapping[str, int], changes: Sequence[FileEdit]) -> list[FileEdit]:
    """The changes, marked with the versions of the texts they were made for."""
    return [replace(each, version=versions.get(each.path)) for each in changes]


async def _quietly(asked: Awaitable[Any]) -> Any:
    """The answer; None if it fails, so that one server does not hide the answers of others."""
    try:
        return await asked
    except IdeFailed:
        return None


def _check_not_overtaken(document: TextDocument) -> None:
    if document.is_overtaken:
        raise IdeFailed(
            f"'{document.path}' was changed on the disk while changes to it were not saved",
            kind="stale",
            hint="ide__save with discard: true takes the text of the disk; then make the change again",
        )


def _changed_text(change: FileEdit, document: TextDocument) -> str:
    """The text after the change. Raises IdeFailed if the change was made for another version."""
    if change.version is not None and change.version != document.version:
        raise IdeFailed(
            f"the text has version {document.version}, not {change.version}", kind="stale", hint="read it again"
        )
    places = TextMap(document.text)
    for edit, expected in zip(change.edits, change.expected or (), strict=False):
        if expected is not None and places.piece(edit.range) != expected:
            raise IdeFailed(
                f"the range holds {places.piece(edit.range)[:80]!r}, not what was expected",
                kind="stale",
                hint="read the file again",
            )
    return apply(
        document.text, [TextEdit(one.range, with_ends_of(document.text, one.new_text)) for one in change.edits]
    )


def _touches(one: Range, other: Range) -> bool:
    return one.start <= other.end and other.start <= one.end


def _as_lsp(each: Diagnostic) -> dict[str, Any]:
    return {
        "range": messages.plain(each.range),
        "severity": int(each.severity),
        "message": each.message,
        "source": each.source,
        "code": each.code,
    }
