"""A connection to Neovim by its own socket. Our part inside of it is Lua code, sent when we connect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clawft.builtin.ide.lsp import messages
from clawft.builtin.ide.model import (
    Action,
    FileEdit,
    HoverInfo,
    Location,
    Position,
    Range,
    SymbolInfo,
    TextEdit,
    Window,
)
from clawft.builtin.ide.nvim.rpc import NvimRpc
from clawft.builtin.ide.remote import RemoteIde, failure
from clawft.errors import IdeNotConnected

BRIDGE = Path(__file__).with_name("bridge.lua")
HELLO_SECONDS = 5.0


class NeovimIde(RemoteIde):
    """An `IdeConnection` to one running Neovim."""

    backend = "neovim"

    def __init__(self, rpc: NvimRpc, happened: Callable[[str], None]) -> None:
        super().__init__(Window("nvim", "Neovim"))
        self._rpc = rpc
        self._happened = happened
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        self._channel = 0
        rpc.hear = self._hear

    @classmethod
    async def join(
        cls, socket: str, wanted: Callable[[str], bool], happened: Callable[[str], None]
    ) -> NeovimIde | None:
        """Connect and load our part; None, and nothing is loaded, if it works in a folder that is not wanted.

        Raises an IdeError if nobody listens, or it is no Neovim.
        """
        ide = cls(await NvimRpc.open(socket), happened)
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                if not wanted(await ide._rpc.request("nvim_call_function", "getcwd", [])):
                    ide.close()
                    return None
                await ide._introduce()
        except TimeoutError:
            ide.close()
            raise IdeNotConnected(f"Neovim at {socket} does not answer") from None
        except BaseException:
            ide.close()
            raise
        return ide

    async def _introduce(self) -> None:
        self._channel = (await self._rpc.request("nvim_get_api_info"))[0]
        await self._rpc.request("nvim_exec_lua", BRIDGE.read_text(), [])
        answer = await self.call("window", {})
        self._warm = False
        self._window = Window(f"nvim-{answer['pid']}", "Neovim", list(answer["folders"]), answer["version"])

    @property
    def gone(self) -> asyncio.Future[None]:
        return self._rpc.gone

    def close(self) -> None:
        self._rpc.close()

    async def call(self, method: str, params: dict[str, Any], *, patient: bool = False) -> Any:
        self._last += 1
        id = self._last
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[id] = answer
        try:
            await self._rpc.request("nvim_exec_lua", "Clawft.call(...)", [self._channel, id, method, params])
            await asyncio.wait({answer, self._rpc.gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise IdeNotConnected("Neovim has closed the connection")
            return _result(answer.result(), params)
        except asyncio.CancelledError:
            self._cancel(id)
            raise
        finally:
            self._calls.pop(id, None)

    def _cancel(self, id: int) -> None:
        if not self._rpc.gone.done():
            asking = self._rpc.request("nvim_exec_lua", "Clawft.cancel(...)", [id])
            task = asyncio.get_running_loop().create_task(asking)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _hear(self, method: str, arguments: list[Any]) -> None:
        if method == "clawft":
            id, answer = arguments
            waiter = self._calls.get(id)
            if waiter is not None and not waiter.done():
                waiter.set_result(answer)
        elif method == "clawft_event":
            self._happened(arguments[0])

    # ── what its language servers say comes as they say it ───────────────────────────────────────────────────────────

    async def hover(self, path: str, position: Position) -> HoverInfo | None:
        return messages.hover(await self._ask("hover", messages.HOVER, path=path, position=position))

    async def definition(self, path: str, position: Position) -> list[Location]:
        return messages.locations(await self._ask("definition", messages.LOCATIONS, path=path, position=position))

    async def references(self, path: str, position: Position) -> list[Location]:
        found = await self._ask("references", messages.LOCATIONS, path=path, position=position)
        return sorted(messages.locations(found))

    async def search_symbols(self, query: str, limit: int) -> list[SymbolInfo]:
        return list(messages.symbols(await self._ask("symbols", messages.SYMBOLS, query=query) or [], ""))[:limit]

    async def document_symbols(self, path: str) -> list[SymbolInfo]:
        return list(messages.symbols(await self._ask("document_symbols", messages.SYMBOLS, path=path) or [], path))

    async def rename(self, path: str, position: Position, new_name: str) -> list[FileEdit]:
        answer = await self._ask("rename", messages.WORKSPACE_EDIT, path=path, position=position, new_name=new_name)
        return messages.file_edits(answer)

    async def code_actions(self, path: str, place: Range) -> list[Action]:
        answers: list[messages.LspAction] = (
            await self._ask("code_actions", messages.ACTIONS, path=path, range=place) or []
        )
        return [each for each in map(messages.action, answers) if each.changes]

    async def format(self, path: str) -> list[TextEdit]:
        return messages.edits(await self._ask("format", messages.EDITS, path=path) or [])


def _result(told: dict[str, Any], params: dict[str, Any]) -> Any:
    if "error" in told:
        raise failure(told["error"]["code"], told["error"]["message"], str(params.get("path", "")))
    return told.get("result")
