"""Keeps the hub in step with running Neovims: looks for them with each call, and joins those of our workspace."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.nvim.backend import NeovimIde
from clawft.builtin.ide.nvim.find import sockets
from clawft.errors import IdeError

LOOK_SECONDS = 2.0
RETRY_SECONDS = 10.0
"""How long a socket that did not answer, or was not wanted, is ignored."""

log = logging.getLogger("clawft.ide")


class Neovims:
    """The Neovims that were joined."""

    def __init__(self, hub: IdeHub, find: Callable[[], list[str]] = sockets) -> None:
        self._hub = hub
        self._find = find
        self._joined: dict[str, NeovimIde] = {}
        self._not_before: dict[str, float] = {}
        self._looked = -LOOK_SECONDS
        self._lock = asyncio.Lock()

    async def look(self) -> None:
        """Join new ones. Cheap when there are none, and done every two seconds at most."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked < LOOK_SECONDS:
            return
        async with self._lock:
            self._looked = loop.time()
            there = await asyncio.to_thread(self._find)
            new = [each for each in there if each not in self._joined and self._not_before.get(each, 0) <= loop.time()]
            await asyncio.gather(*map(self._join, new))

    async def _join(self, socket: str) -> None:
        loop = asyncio.get_running_loop()
        self._not_before[socket] = loop.time() + RETRY_SECONDS
        try:
            ide = await NeovimIde.join(socket, self._is_related, self._hub.happened)
            if ide is not None:
                self._hub.connect(ide)
        except IdeError as failed:
            log.debug("%s: %s", socket, failed)
            return
        if ide is not None:
            self._joined[socket] = ide
            ide.gone.add_done_callback(lambda _: self._left(socket, ide))

    def _left(self, socket: str, ide: NeovimIde) -> None:
        self._joined.pop(socket, None)
        self._not_before.pop(socket, None)
        self._hub.disconnect(ide)

    def _is_related(self, folder: str) -> bool:
        real = Path(os.path.realpath(folder))
        return real.is_relative_to(self._hub.workspace) or self._hub.workspace.is_relative_to(real)

    def close(self) -> None:
        for ide in list(self._joined.values()):
            ide.close()
