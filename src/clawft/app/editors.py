"""Lets editors connect while we serve. Until one does, this costs a look at a folder now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.errors import ClawftError

if TYPE_CHECKING:  # loaded when one of its tools is called, or an editor waits
    from clawft.builtin.ide.hub import IdeHub
    from clawft.builtin.ide.provider import IdeProvider
    from clawft.builtin.lazy import LazyFamily

FOLDER = "ide"
"""The folder of our home where editors wait for us."""
LOOK_SECONDS = 2.0

log = logging.getLogger("clawft")


class EditorsAtTheDoor:
    def __init__(self, home: Path) -> None:
        self._home = home
        self.family: LazyFamily | None = None
        self.provider: IdeProvider | None = None

    def hub(self) -> IdeHub | None:
        return self.provider.hub if self.provider is not None else None

    def lost_with_us(self) -> list[str]:
        """Files whose changed text nobody but our own language servers has, which end when we do."""
        hub = self.hub()
        return [] if hub is None else hub.lost_with_us()

    @asynccontextmanager
    async def let_in(self) -> AsyncGenerator[None]:
        task = asyncio.get_running_loop().create_task(self._welcome())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _welcome(self) -> None:
        """Open the endpoint once the folder is there: an editor's extension makes it when it waits."""
        while self.family is not None:
            await asyncio.sleep(LOOK_SECONDS)
            if (self._home / FOLDER).is_dir():
                await self.family.load()
                break
        if self.provider is None:
            return
        try:
            await self.provider.open_reception(self._home)
        except (ClawftError, OSError) as failed:
            log.warning("editors cannot connect: %s", failed)

    async def close(self) -> None:
        if self.provider is not None:
            await self.provider.close()
