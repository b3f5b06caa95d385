"""The language servers of a workspace, each started by the first request about a file of its language.

Nothing reports changes of files by others. So the folder is scanned now and then, and the servers are told.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clawft.builtin.ide.lsp import watch
from clawft.builtin.ide.lsp.cell import lsp_cell
from clawft.builtin.ide.lsp.documents import TextDocument
from clawft.builtin.ide.lsp.server import LspServer
from clawft.builtin.ide.lsp.server_table import SERVERS, ServerSpec, installed, server_for, suffix_of
from clawft.builtin.trust import how_to_trust, trusted_in
from clawft.errors import IdeNotConnected

LOOK_SECONDS = 2.0
"""How old the last scan of the files may be."""
FILES_SECONDS = 4.0
"""How long a server that has just started is waited for, before it is asked about all files."""


class LspServers:
    """The servers. `changed` is called when one of them has news."""

    def __init__(self, folder: str, changed: Callable[[], None], sandbox: str) -> None:
        self._folder = folder
        self._changed = changed
        self._sandbox = sandbox
        self._running: dict[str, LspServer] = {}
        self._starting: dict[str, asyncio.Task[LspServer]] = {}
        self._seen: dict[str, watch.FileStamps] = {}
        self._looked: dict[str, float] = {}
        self.gaps: list[str] = []
        """The gaps that the last answer about all files may have, with the reasons."""

    def __iter__(self) -> Iterator[LspServer]:
        """The running servers, by name."""
        return iter([self._running[name] for name in sorted(self._running)])

    def are_warm(self) -> bool:
        """Whether some are running and none is being started."""
        return bool(self._running) and not self._starting and not any(each.broken for each in self)

    def documents(self) -> list[TextDocument]:
        """All texts the servers have from us."""
        return [document for server in self for document in server.documents.all()]

    async def close(self) -> None:
        starting = list(self._starting.values())
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        servers = list(self)
        self._running.clear()
        await asyncio.gather(*(server.stop() for server in servers))

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def open(self, path: str) -> tuple[LspServer, TextDocument]:
        """The server for this file, and its text there."""
        spec = server_for(path)
        if spec is None:
            raise IdeNotConnected(
                f"no language server is known for '{os.path.basename(path)}'", hint="open it in an editor instead"
            )
        server = await self._started(spec)
        return server, server.open(path)

    async def present(self) -> list[LspServer]:
        """The servers of all languages in the workspace, as far as they can be started. Raises IdeError if none can."""
        suffixes = [suffix for spec in SERVERS for suffix in spec.languages]
        files = await asyncio.to_thread(watch.look, self._folder, suffixes)
        there = set(map(suffix_of, files))
        specs = [spec for spec in SERVERS if not there.isdisjoint(spec.languages)]
        if not specs:
            raise IdeNotConnected(
                "no file of the workspace is in a language whose server is known",
                hint="open the workspace in VS Code or Neovim; file__search finds text in any file",
            )
        started = await asyncio.gather(*map(self._started, specs), return_exceptions=True)
        servers = [each for each in started if isinstance(each, LspServer)]
        failed = [each for each in started if isinstance(each, Exception)]
        self.gaps = list(map(str, failed))
        if not servers:
            raise failed[0]
        for server in servers:
            if not server.documents.all():
                server.open(next(path for path in sorted(files) if server_for(path) is server.spec))
        return servers

    async def wait_for_files(self, servers: Sequence[LspServer]) -> None:
        """Wait, once, until those that have just started have found the files; one that is late is a gap."""
        found = await asyncio.gather(*(each.has_found_files(FILES_SECONDS) for each in servers), return_exceptions=True)
        late = [each.spec.name for each, in_time in zip(servers, found, strict=True) if in_time is not True]
        self.gaps += [f"{name} has just started and may not know all files yet, so ask again" for name in late]

    async def _started(self, spec: ServerSpec) -> LspServer:
        """The server; started once, however many calls want it."""
        server = self._running.get(spec.name)
        if server is not None and not server.broken:
            return server
        task = self._starting.get(spec.name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._start(spec))
            self._starting[spec.name] = task
            task.add_done_callback(lambda _: self._starting.pop(spec.name, None))
        return await asyncio.shield(task)

    async def _start(self, spec: ServerSpec) -> LspServer:
        command = await asyncio.to_thread(installed, spec, self._folder)
        if command is None:
            programs = " or ".join(words[0] for words in spec.commands)
            raise IdeNotConnected(f"{programs} is not installed", hint="install it, or open the workspace in an editor")
        folder = Path(self._folder)
        trusted = await asyncio.to_thread(trusted_in, folder, folder)
        if spec.runs_project_code and not trusted:
            raise IdeNotConnected(
                f"{spec.name} runs code that the folder brings along, and '{folder}' is not trusted",
                hint=how_to_trust(folder),
            )
        old = self._running.pop(spec.name, None)
        if old is not None:
            await old.stop()
        cell = await asyncio.to_thread(lsp_cell, spec, self._sandbox, folder, command, trusted=trusted)
        server = LspServer(spec, command, self._folder, cell, self._changed)
        await server.start()
        self._running[spec.name] = server
        self._seen[spec.name] = await self._look(server)
        return server

    # ── files that others changed ────────────────────────────────────────────────────────────────────────────────────

    def files_of(self, server: LspServer) -> list[str]:
        """The files of its languages in the last scan."""
        return sorted(self._seen[server.spec.name])

    def look_next_time(self) -> None:
        """Files were written: scan again before the next request."""
        self._looked.clear()

    async def look_again(self, server: LspServer, *, now: bool = False) -> None:
        """Tell the server about files that others made, changed or removed."""
        name = server.spec.name
        if not now and asyncio.get_running_loop().time() - self._looked.get(name, 0.0) < LOOK_SECONDS:
            return
        after = await self._look(server)
        changes = watch.differences(self._seen.get(name, {}), after)
        self._seen[name] = after
        if changes:
            server.files_changed(changes)

    async def _look(self, server: LspServer) -> watch.FileStamps:
        self._looked[server.spec.name] = asyncio.get_running_loop().time()
        return await asyncio.to_thread(watch.look, self._folder, server.spec.languages.keys())
