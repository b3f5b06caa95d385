"""Waiting for what is not offered yet: servers that are starting, lists that a server is changing, and what only one
person has. Each is waited for a moment, so that the first look of a client does not miss it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.catalog.snapshot import CatalogEntry
from clawft.gateway.offer.roster import Roster
from clawft.gateway.offer.tools import Tools
from clawft.model import Caller

if TYPE_CHECKING:  # a gateway may have no servers
    from clawft.upstream.pending_servers import PendingServers


class PendingOffers:
    def __init__(self, roster: Roster, tools: Tools) -> None:
        self.servers: PendingServers | None = None
        """Servers that are starting and lists that are changing, where there are servers at all."""
        self._roster = roster
        self._tools = tools

    def has_any(self, caller: Caller) -> bool:
        """Whether this caller may see more in a moment."""
        return bool(caller.proof) or (
            self.servers is not None and (self.servers.any_starting or self.servers.any_lists_changing)
        )

    async def wait_for_servers(self, caller: Caller) -> None:
        """Return when every server that was just started is ready, or has had its time."""
        if self.servers is not None and self.servers.any_starting:
            await self.servers.wait_for_all()
        if caller.proof and self._roster.personal:
            await self._roster.personal.settle(caller)

    async def wait_for_servers_unless(self, is_there: Callable[[], bool], caller: Caller) -> None:
        """For a request about one thing: no server is waited for if that thing is there already."""
        if self.has_any(caller) and not is_there():
            await self.wait_for_servers(caller)

    async def wait_for_lists(self, caller: Caller) -> None:
        """For a request that reads a list: waits for servers, and for lists that servers have just changed."""
        await self.wait_for_servers(caller)
        if self.servers is not None and self.servers.any_lists_changing:
            await self.servers.wait_for_lists()

    async def wait_for_tool(self, name: str, caller: Caller) -> CatalogEntry | None:
        """A tool that is not there yet: it may come with a list, with a server, or be this caller's own."""
        entry: CatalogEntry | None = None
        if self.servers is not None and self.servers.any_lists_changing:
            await self.servers.wait_for_lists()
            entry = self._tools.find(name, caller)
        while entry is None and self.servers is not None and self.servers.any_starting:
            await self.servers.wait_for_next()
            entry = self._tools.find(name, caller)
        if entry is None and (arrival := self._tools.arrival(name, caller)):
            await arrival
            entry = self._tools.find(name, caller)
        if entry is None and caller.proof:
            await self.wait_for_servers(caller)
            entry = self._tools.find(name, caller)
        return entry
