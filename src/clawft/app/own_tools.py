"""The tools of the namespace `weft` that work on the gateway itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawft.config.follow import ServerFiles
from clawft.gateway.core import Gateway
from clawft.gateway.offer.resources import Reader
from clawft.model import LOCAL, Call, Caller, Kind, Reply, Resource, Talk
from clawft.store.cut_results import CutResults

if TYPE_CHECKING:  # a gateway may do without our own tools
    from clawft.provider.function import FunctionProvider


class OwnTools:
    def __init__(self, gateway: Gateway, files: ServerFiles, workspace: Path) -> None:
        self._gateway = gateway
        self._files = files
        self._workspace = workspace
        self._provider: FunctionProvider | None = None

    def begin(self, provider: FunctionProvider, cut_results: CutResults) -> None:
        """Add our tools to `provider`, the family `weft`."""
        from clawft.builtin.read_result import read_result_tool  # loaded with the built-in tools
        from clawft.builtin.resources import resource_tools

        self._provider = provider
        self._files.waiting_changed = self._offer_start
        provider.add(read_result_tool(cut_results))
        for function in resource_tools(self._list_owned, self._read, self._is_server):
            provider.add(function)

    async def _list_owned(self, caller: Caller) -> Iterable[tuple[str, Resource]]:
        self._gateway.on_list_read()
        await self._gateway.pending.wait_for_lists(caller)
        return self._gateway.resources.owned(caller)

    async def _read(self, uri: str, server: str, caller: Caller, talk: Talk) -> bytes:
        resources = self._gateway.resources
        await self._gateway.pending.wait_for_servers_unless(lambda: resources.has(uri, caller, server), caller)
        return await resources.read(uri, Reader(caller, talk), server)

    def _is_server(self, name: str, caller: Caller) -> bool:
        """Whether this caller may know the server; one that is not running is known to the local user only."""
        own = caller.principal == LOCAL and name in self._files.servers.found
        return own or self._gateway.resources.reaches(name, caller)

    def _offer_start(self) -> None:
        """Offer the tool that asks the person about waiting servers, as long as there are any."""
        from clawft.builtin.start_server import NAME, start_server_tool  # few workspaces name servers

        make = partial(start_server_tool, self._files.waiting_launches, self._files.approve_launch)
        self.offer(NAME, make if self._files.servers.waiting else None)

    def offer(self, name: str, make: Callable[[], Callable[..., Any]] | None) -> None:
        """Offer a tool made by `make`, or withdraw it if that is None."""
        provider = self._provider
        if provider is None or (make is not None) is any(tool.name == name for tool in provider.list_tools()):
            return
        if make is not None:
            provider.add(make())
        else:
            provider.remove(name)

    def offer_search(self) -> None:
        """Offer the pair of tools that find and call the others; they are listed only in place of the others."""
        from clawft.builtin.search_tools import finding_tools  # most callers are listed everything

        gateway = self._gateway
        if gateway.tools.find("weft__search_tools") is not None:
            return
        provider = self._provider or self._begin_bare()
        for function in finding_tools(gateway.tools.search, self._hand_on, gateway.tools.find):
            provider.add(function)

    async def _hand_on(self, call: Call, name: str, arguments: bytes) -> Reply:
        """Call the other tool as if the caller had named it."""
        reply = await self._gateway.call(call.caller, name, arguments, call.talk, call.meta, call.more)
        if reply.kind is not Kind.TASK:
            return reply
        from clawft.gateway.task.followed_tasks import FollowedTasks  # few tools begin tasks

        return FollowedTasks(self._gateway, call.caller).begun(reply, name)

    def _begin_bare(self) -> FunctionProvider:
        """A provider for our tools in a gateway without built-in tools."""
        from clawft.provider.function import FunctionProvider  # only used here
        from clawft.store.memory import MemoryStore

        self._provider = provider = FunctionProvider("weft", workspace=self._workspace, store=MemoryStore)
        self._gateway.register(provider)
        return provider
