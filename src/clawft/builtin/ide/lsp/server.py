"""One running language server: keeps its texts in step with ours, and its diagnostics with their versions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from clawft.builtin.ide.lsp import settling
from clawft.builtin.ide.lsp.documents import Documents, TextDocument, read, stamp
from clawft.builtin.ide.lsp.file_diagnostics import KnownDiagnostics
from clawft.builtin.ide.lsp.introduction import introduction, workspace_folders
from clawft.builtin.ide.lsp.messages import (
    LspProgress,
    PublishedDiagnostics,
    PulledReport,
    SettingsRequest,
    uri_of,
)
from clawft.builtin.ide.lsp.rpc import NotServed, Rpc
from clawft.builtin.ide.lsp.server_table import ServerSpec, environment, language_of
from clawft.builtin.ide.lsp.settling import Settling
from clawft.builtin.ide.lsp.watch import DELETED
from clawft.errors import IdeFailed
from clawft.sandbox.cell import Cell

START_SECONDS = 30.0
STOP_SECONDS = 1.0

log = logging.getLogger("clawft.ide")

T = TypeVar("T")


class LspServer:
    def __init__(
        self, spec: ServerSpec, command: tuple[str, ...], folder: str, cell: Cell, changed: Callable[[], None]
    ) -> None:
        self.spec = spec
        self._command = command
        self._cell = cell
        self._folder = folder
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self.documents = Documents()
        self._settling = Settling()
        self.capabilities: dict[str, Any] = {}
        self._news = asyncio.Event()
        self._numbers = count(1)
        """Version numbers of all texts, so that a reopened text gets a new one."""
        self._whole_workspace = False
        self._has_found_files = False
        self._rpc = Rpc(spec.name, self._hear, self._serve)

    @property
    def known(self) -> KnownDiagnostics:
        """The server's diagnostics of files."""
        return self._settling.known

    @property
    def broken(self) -> str:
        return self._rpc.broken

    @property
    def sandbox(self) -> str:
        return self._rpc.sandbox

    async def start(self) -> None:
        """Start the server. Raises IdeFailed if it does not answer; then it is ended."""
        try:
            await self._begin()
        except BaseException:
            await self._rpc.stop()
            raise

    async def _begin(self) -> None:
        await self._rpc.start(self._command, self._folder, environment(), self._cell)
        try:
            async with asyncio.timeout(START_SECONDS):
                answer = await self._rpc.request("initialize", introduction(self._folder, self.spec), dict[str, Any])
        except TimeoutError:
            raise IdeFailed(f"{self.spec.name} did not start within {START_SECONDS:g} s") from None
        self.capabilities = answer.get("capabilities", {})
        self._rpc.notify("initialized", {})
        self._rpc.notify("workspace/didChangeConfiguration", {"settings": dict(self.spec.settings)})

    async def stop(self) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._rpc.request("shutdown", None, Any)
            self._rpc.notify("exit", None)
        except (TimeoutError, IdeFailed):
            log.debug("%s did not take its leave", self.spec.name)
        await self._rpc.stop()

    async def request(self, method: str, params: dict[str, Any], kind: type[T] | Any) -> T:
        return await self._rpc.request(method, params, kind)

    def offers(self, capability: str) -> bool:
        return bool(self.capabilities.get(capability))

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def open(self, path: str) -> TextDocument:
        """The current text of the file: opened if needed, read again if the disk has a newer one."""
        now = stamp(path)
        document = self.documents.get(path)
        if document is None:
            return self._open(TextDocument(path, read(path), now))
        if document.seen != now and not document.dirty:
            self.read_again(document)
        return document

    def read_again(self, document: TextDocument) -> None:
        """Reload the text, dropping unsaved changes. Raises IdeFailed, and closes it, if it is no text now."""
        seen = stamp(document.path)
        try:
            text = read(document.path)
        except IdeFailed:
            self._forget(document)
            raise
        document.seen = seen
        self.change(document, text, dirty=False)

    def _forget(self, document: TextDocument) -> None:
        self.documents.drop(document.path)
        self._close(document)

    def _open(self, document: TextDocument) -> TextDocument:
        for gone in self.documents.add(document):
            self._close(gone)
        document.told = next(self._numbers)
        item = {
            "uri": uri_of(document.path),
            "languageId": language_of(self.spec, document.path),
            "version": document.told,
            "text": document.text,
        }
        now = self._loop.time()
        self._settling.sent(document.path, now)
        self._settling.changed(now)
        self._rpc.notify("textDocument/didOpen", {"textDocument": item})
        return document

    def _close(self, document: TextDocument) -> None:
        self._settling.closed(document.path)
        self._rpc.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(document.path)}})

    def change(self, document: TextDocument, text: str, *, dirty: bool = True) -> None:
        if text == document.text:
            document.dirty = document.dirty and dirty
            return
        document.text = text
        document.version += 1
        document.dirty = dirty
        self._settling.changed(self._tell(document, text))

    def _tell(self, document: TextDocument, text: str) -> float:
        """Send the text; gives the time."""
        document.told = next(self._numbers)
        now = self._loop.time()
        self._settling.sent(document.path, now)
        named = {"uri": uri_of(document.path), "version": document.told}
        self._rpc.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [{"text": text}]})
        return now

    def _ask_anew(self, document: TextDocument) -> None:
        """Have a text checked again because others changed; the new version number tells the new result.

        A server may ignore an unchanged text, so a different one is sent in between.
        """
        self._tell(document, document.text + "\n")
        self._tell(document, document.text)

    def saved(self, document: TextDocument) -> None:
        document.dirty = False
        document.seen = stamp(document.path)
        self._rpc.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(document.path)}})

    def files_changed(self, changes: dict[str, int]) -> None:
        """Files were made, written or removed by others: reload the open ones, and report all."""
        for path, kind in changes.items():
            document = self.documents.get(path)
            if document is None or document.dirty:
                continue
            if kind == DELETED:
                self._forget(document)
            else:
                self.open(path)
        events = [{"uri": uri_of(path), "type": kind} for path, kind in changes.items()]
        if events:
            self._settling.changed(self._loop.time())
            self._rpc.notify("workspace/didChangeWatchedFiles", {"changes": events})

    # ── diagnostics ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def settled(self, document: TextDocument | None, seconds: float) -> bool:
        """Wait until the diagnostics describe the current text. False if they do not within the time.

        Raises IdeFailed if the server ends meanwhile.
        """
        if document is not None and self.offers("diagnosticProvider"):
            return await self._pull(document, seconds)
        deadline = self._loop.time() + seconds
        if document is not None and self._settling.is_overtaken(document):
            self._ask_anew(document)
        while not self._is_settled(document):
            left = deadline - self._loop.time()
            self._rpc.check()
            if left <= 0:
                return False
            self._news.clear()
            try:
                async with asyncio.timeout(min(left, settling.QUIET_SECONDS)):
                    await self._news.wait()
            except TimeoutError:
                continue
        return True

    async def has_found_files(self, seconds: float) -> bool:
        """Whether it knows the files of the workspace: not before it has judged a first text. Waits only once."""
        if not self._has_found_files:
            opened = self.documents.all()
            in_time = bool(opened) and await self.settled(opened[0], seconds)
            self._has_found_files = True
            return in_time
        return True

    def _is_settled(self, document: TextDocument | None) -> bool:
        now = self._loop.time()
        if document is None:
            return self._settling.is_settled_everywhere(now)
        return self._settling.is_settled(document, now)

    async def _pull(self, document: TextDocument, seconds: float) -> bool:
        """Request the diagnostics, from a server that supports it; they are for the text it has, which is ours."""
        asked = {"textDocument": {"uri": uri_of(document.path)}}
        version = document.told
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                report = await self._rpc.request("textDocument/diagnostic", asked, PulledReport)
        except TimeoutError:
            return False
        except IdeFailed as failed:
            if failed.kind != "stale":
                raise
            return False
        if report.kind == "full":
            self._settling.keep(document.path, report.items, version, self._loop.time())
        return version == document.told

    # ── what the server says ─────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, method: str, params: Raw) -> None:
        try:
            self._take(method, params)
        except msgspec.ValidationError as wrong:  # a failed notification harms neither side
            log.debug("%s: %s in a form we do not know: %s", self.spec.name, method, wrong)

    def _take(self, method: str, params: Raw) -> None:
        if method == "textDocument/publishDiagnostics":
            published = msgspec.json.decode(params, type=PublishedDiagnostics, strict=False)
            if self._settling.publish(published, self._loop.time()):
                self._news.set()
                self._changed()
        elif method == "$/progress":
            self._progress(msgspec.json.decode(params, type=LspProgress))
        elif method in ("window/logMessage", "window/showMessage"):
            log.debug("%s: %s", self.spec.name, bytes(params)[:500].decode(errors="replace"))

    def _progress(self, said: LspProgress) -> None:
        if said.kind == "begin":
            self._settling.begin_work(said.token)
        elif said.kind == "end":
            self._settling.end_work(said.token)
            self._news.set()

    def _serve(self, method: str, params: Raw) -> Any:
        match method:
            case "workspace/configuration":
                wanted = msgspec.json.decode(params, type=SettingsRequest)
                return [self._setting(item.section or "") for item in wanted.items]
            case "workspace/workspaceFolders":
                return workspace_folders(self._folder)
            case "window/workDoneProgress/create":
                self._settling.begin_work(msgspec.json.decode(params, type=LspProgress).token)
                return None
            case "client/registerCapability" | "client/unregisterCapability":
                return None
            case "workspace/applyEdit":
                return {"applied": False, "failureReason": "changes come from the agent only"}
            case "window/showMessageRequest" | "workspace/diagnostic/refresh" | "workspace/inlayHint/refresh":
                return None
            case _:
                raise NotServed

    def _setting(self, section: str) -> Any:
        found = self.spec.settings.get(section, {})
        if not self._whole_workspace:
            return found
        self._settling.told_everywhere(self._loop.time())
        return _whole(found)

    def look_everywhere(self) -> None:
        """Have the server report on files that are not open, too, from now on."""
        if not self._whole_workspace:
            self._whole_workspace = True
            self._settling.changed(self._loop.time())
            self._rpc.notify("workspace/didChangeConfiguration", {"settings": {}})


def _whole(setting: Any) -> Any:
    """The settings, with reports on all files switched on."""
    if not isinstance(setting, dict):
        return setting
    found: dict[str, Any] = {key: _whole(value) for key, value in setting.items()}  # pyright: ignore[reportUnknownVariableType]  # settings are JSON
    return {**found, "diagnosticMode": "workspace"} if "diagnosticMode" in found else found
