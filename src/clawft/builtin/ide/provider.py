"""The family as a provider: its tools, and the state of the editor as resources that can be watched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.family import MANIFEST, Ide, IdeSettings
from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.resources import DIAGNOSTICS, OPEN_EDITORS, RESOURCES, SELECTION
from clawft.builtin.ide.tools import ide_tools
from clawft.builtin.ide.window_tools import editors_within_reach, within_reach
from clawft.errors import IdeError
from clawft.model import Call, Caller, Origin, Resource, ResourceContent, ResourceTemplate, Tool
from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider
from clawft.store.base import KeyValueStore

if TYPE_CHECKING:  # loaded where there is no editor
    from clawft.builtin.ide.lsp.backend import HeadlessIde
    from clawft.builtin.ide.nvim.watch import Neovims
    from clawft.builtin.ide.vscode.endpoint import EditorEndpoint

NAMESPACE = "ide"
JSON = "application/json"
UPDATED = {
    "windows": (SELECTION, OPEN_EDITORS, DIAGNOSTICS),
    "selection": (SELECTION,),
    "editors": (OPEN_EDITORS,),
    "diagnostics": (DIAGNOSTICS,),
}


class IdeProvider(FunctionProvider):
    """The tools, which are always listed; each call decides which editor answers."""

    headless: HeadlessIde | None = None
    _neovims: Neovims | None = None
    _endpoint: EditorEndpoint | None = None

    def __init__(
        self, workspace: Path, *, stores: Callable[[str], KeyValueStore], settings: IdeSettings | None = None
    ) -> None:
        super().__init__(NAMESPACE, workspace=workspace, stores=stores, manifest=MANIFEST)
        self._settings = settings or IdeSettings()
        self.hub = IdeHub(workspace, self._headless)
        self.hub.watch(self._happened)
        self.hub.finder = self._look_around
        for function in ide_tools(self.hub):
            self.add(function)

    def _headless(self) -> IdeConnection:
        from clawft.builtin.ide.lsp.backend import HeadlessIde  # with an editor it may never be needed

        self.headless = HeadlessIde(self.workspace, lambda: self.hub.happened("diagnostics"), self._settings.sandbox)
        return self.headless

    async def _look_around(self) -> None:
        """Look for Neovims, which have no extension of ours that would connect by itself."""
        if sys.platform == "win32":  # no Unix sockets to look for
            return
        if self._neovims is None:
            from clawft.builtin.ide.nvim.watch import Neovims  # with the first call of a tool

            self._neovims = Neovims(self.hub)
        await self._neovims.look()

    async def open_reception(self, home: Path) -> None:
        """Let editors with our extension register, from now on."""
        from clawft.builtin.ide.vscode.endpoint import EditorEndpoint  # when an editor waits

        self._endpoint = EditorEndpoint(self.hub, home)
        await self._endpoint.open()

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()
        if self._neovims is not None:
            self._neovims.close()
        if self.headless is not None:
            await self.headless.close()

    def list_resources(self) -> Sequence[Resource]:
        return RESOURCES

    def list_templates(self) -> Sequence[ResourceTemplate]:
        return ()

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        look = {SELECTION: self._selection, OPEN_EDITORS: self._open_editors, DIAGNOSTICS: self._diagnostics}.get(uri)
        if look is None:
            return None
        try:
            await self.hub.look_around()
            connection = self.hub.route(None)
            state: Any = {"backend": connection.backend, "window": connection.window.id, **await look(connection)}
        except IdeError as failed:
            state = {"error": failed.message}
        return [ResourceContent(uri, JSON, text=msgspec.json.encode(state).decode())]

    async def _selection(self, connection: IdeConnection) -> dict[str, Any]:
        ide = self._ide()
        selected = within_reach(ide, await ide.ask(connection, connection.selection()))
        return {"path": selected.path and ide.shown(selected.path), "range": selected.range, "text": selected.text}

    async def _open_editors(self, connection: IdeConnection) -> dict[str, Any]:
        return {"editors": await editors_within_reach(self._ide(), connection)}

    async def _diagnostics(self, connection: IdeConnection) -> dict[str, Any]:
        ide = self._ide()
        problems = await ide.ask(connection, connection.get_diagnostics(None))
        inside = await ide.inside(problems.items)
        items = [ide.placed(each) for each in inside]
        return {"fresh": problems.fresh, "pending": problems.pending, "diagnostics": items}

    def _ide(self) -> Ide:
        call = Call(Caller(), NAMESPACE, Tool("resource", b"{}"), Origin(NAMESPACE))
        return Ide("resource", self.hub, ToolContext(call, self.workspace, self._store_of("")))

    def _happened(self, what: str) -> None:
        if self._changes is not None:
            for uri in UPDATED[what]:
                self._changes.resource_updated(uri)
