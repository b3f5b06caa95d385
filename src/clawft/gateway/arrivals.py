"""What is on its way while somebody asks what there is: servers that were just started, lists that one has changed, and
what a single person has of its own. Each is waited for a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.catalog.snapshot import CatalogEntry
from clawft.gateway.offer.roster import Roster
from clawft.gateway.offer.tools import Tools
from clawft.model import Caller

if TYPE_CHECKING:  # a gateway may have no servers
    from clawft.upstream.newcomers import Newcomers


class Arrivals:
    def __init__(self, roster: Roster, tools: Tools) -> None:
        self.newcomers: Newcomers | None = None
        """Of servers and their lists, if there are any."""
        self._roster = roster
        self._tools = tools

    def expected(self, caller: Caller) -> bool:
        """May there be more for this caller in a moment?"""
        return bool(caller.proof) or (
            self.newcomers is not None and (self.newcomers.awaited or self.newcomers.changing)
        )

    async def servers(self, caller: Caller) -> None:
        """Back when every server that was just started is there, or is not waited for any longer."""
        if self.newcomers is not None and self.newcomers.awaited:
            await self.newcomers.all()
        if caller.proof and self._roster.personal:
            await self._roster.personal.settle(caller)

    async def servers_unless(self, is_there: Callable[[], bool], caller: Caller) -> None:
        """For whoever wants one thing: if that is there, no server is waited for."""
        if self.expected(caller) and not is_there():
            await self.servers(caller)

    async def lists(self, caller: Caller) -> None:
        """For whoever reads lists: those that servers have just changed are waited for as well."""
        await self.servers(caller)
        if self.newcomers is not None and self.newcomers.changing:
            await self.newcomers.lists()

    async def tool(self, name: str, caller: Caller) -> CatalogEntry | None:
        """One that is not there yet may come with a list, with a server, or with what this caller has of its own."""
        entry: CatalogEntry | None = None
        if self.newcomers is not None and self.newcomers.changing:
            await self.newcomers.lists()
            entry = self._tools.find(name, caller)
        while entry is None and self.newcomers is not None and self.newcomers.awaited:
            await self.newcomers.next()
            entry = self._tools.find(name, caller)
        if entry is None and (arrival := self._tools.arrival(name, caller)):
            await arrival
            entry = self._tools.find(name, caller)
        if entry is None and caller.proof:
            await self.servers(caller)
            entry = self._tools.find(name, caller)
        return entry
