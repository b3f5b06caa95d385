"""The gateway itself: providers in, one catalog out, and the one way every call takes.

Fronts (stdio, HTTP, the library, the command line) come in through the same few methods; there is no second way to run
a tool.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from clawft._version import __version__
from clawft.catalog.names import NameForm
from clawft.catalog.surface import Surface
from clawft.errors import MissingCapability, ToolError, ToolNotFound
from clawft.gateway.agent_roots import AgentRoots
from clawft.gateway.events import ElicitationCompleted, Events, ListChanged, ListTopic, LogMessage, ResourceUpdated
from clawft.gateway.offer.basis import Basis
from clawft.gateway.offer.listing import DEFAULT_PAGE, Pages
from clawft.gateway.offer.prompts import Prompts
from clawft.gateway.offer.registered_provider import RegisteredProvider
from clawft.gateway.offer.resources import Resources
from clawft.gateway.offer.roster import Roster
from clawft.gateway.offer.shared_uris import SharedUris
from clawft.gateway.offer.tools import Tools
from clawft.gateway.pending import PendingOffers
from clawft.gateway.questions import LIFETIME_SECONDS, Seal
from clawft.gateway.reply import as_reply, error_reply
from clawft.guard.permission import unknown
from clawft.guard.pipeline import Guard, Pipeline, WitnessGuard
from clawft.guard.side_duties import SideDuties
from clawft.model import EMPTY_OBJECT, Call, Caller, FastPath, LogLevel, Next, Origin, Reply, SilentTalk, Talk, Tool
from clawft.model.protocols import is_of
from clawft.provider.base import (
    Changing,
    ExtendedProvider,
    PersonalProvider,
    PromptProvider,
    Provider,
    ResourceProvider,
)
from clawft.wire.visible import visible_text

if TYPE_CHECKING:  # loaded with the first log level, the first task, and the first server
    from clawft.gateway.log_levels import LogLevels
    from clawft.gateway.task.handles import Handles
    from clawft.gateway.task.tasks import TaskBoard

SERVER_NAME = "clawft"
KEY_BYTES = 32

_ANYONE = Caller()
_SILENT = SilentTalk()
_NO_TOOL = Tool("", b"{}")
_NOWHERE = Origin("")


class Gateway:
    """Serves the tools, resources and prompts of its providers, guarded."""

    def __init__(
        self,
        guards: Sequence[Guard] = (),
        *,
        form: NameForm = NameForm.PLAIN,
        instructions: str = "",
        page_size: int = DEFAULT_PAGE,
        surface: Surface = Surface(),  # noqa: B008 - frozen, safe to share
        key: bytes | None = None,
        question_seconds: float = LIFETIME_SECONDS,
    ) -> None:
        self._key = key = key or os.urandom(KEY_BYTES)
        self.guards = tuple(guards)
        self.instructions = instructions
        self.set_server_info(SERVER_NAME, __version__)
        self.closing = asyncio.Event()
        """Set when we shut down: open streams end in good order."""
        self.events = Events()
        self.seal = Seal(key, question_seconds)
        self.question_seconds = question_seconds
        self.pages = Pages(key, page_size)
        self.roots = AgentRoots()
        self.on_list_read: Callable[[], None] = lambda: None
        """Called whenever a list is read."""
        self.calls = 0
        self._tasks: TaskBoard | None = None
        self._roster = Roster(form)
        self.shared = SharedUris(self._roster, self._reaches)
        self._side_duties = SideDuties(guards)
        basis = Basis(self._roster, self._side_duties, self.shared, form, self._reaches)
        self.tools = Tools(basis, Pipeline(guards), surface)
        self.pending = PendingOffers(self._roster, self.tools)
        self.prompts = Prompts(basis)
        self.resources = Resources(basis, self.events)
        witnesses = Pipeline([guard for guard in guards if is_of(guard, WitnessGuard)])
        self._missing = witnesses.chain(witnesses.applying(_NO_TOOL, _NOWHERE), lambda _: self._not_there)

    def set_server_info(self, name: str, version: str) -> None:
        """The name and version that callers are told from now on."""
        self.server_info = msgspec.json.encode({"name": name, "version": version})

    # ── providers come and go ────────────────────────────────────────────────────────────────────────────────────────

    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        """Offer what this provider has. `server` names the external server behind it, if there is one."""
        self._roster.add(RegisteredProvider(provider, Origin(provider.namespace, server, trusted)))
        self._watch(provider)
        self._announce(provider)

    def unregister(self, namespace: str) -> None:
        gone = self._roster.remove(namespace)
        if gone is not None:
            self._announce(gone.provider)

    def arrange(self, namespaces: Sequence[str]) -> None:
        """List these after all others, in this order."""
        self._roster.arrange(namespaces)
        self.tools.forget()
        self.shared.forget()

    def _watch(self, provider: object) -> None:
        if is_of(provider, Changing):
            provider.watch(self)

    def _announce(self, provider: Provider) -> None:
        personal = is_of(provider, PersonalProvider)
        self.tools_changed()
        if personal or is_of(provider, PromptProvider):
            self.prompts_changed()
        if personal or is_of(provider, ResourceProvider):
            self._lists_changed(ListTopic.RESOURCES, "")  # the tools that are shown with pages were told of already

    def provider(self, namespace: str, caller: Caller = _ANYONE) -> Provider | None:
        return self._roster.provider(namespace, caller)

    def extensions(self, caller: Caller) -> dict[str, Any]:
        """The protocol extensions of the providers that this caller may use."""
        reached = (known.provider for known in self._roster if self._reaches(known, caller))
        extended = (each.extensions for each in reached if is_of(each, ExtendedProvider))
        return {name: settings for each in extended for name, settings in each.items()}

    def _reaches(self, known: RegisteredProvider, caller: Caller) -> bool:
        return self.tools.reaches(known, caller)

    # ── changes they tell ────────────────────────────────────────────────────────────────────────────────────────────

    def tools_changed(self, whose: str = "") -> None:
        self.tools.forget(whose)
        self._lists_changed(ListTopic.TOOLS, whose)

    def prompts_changed(self, whose: str = "") -> None:
        self._lists_changed(ListTopic.PROMPTS, whose)

    def resources_changed(self, whose: str = "") -> None:
        """Tools that are shown with a page (MCP Apps) name it by URI, which may have changed hands."""
        self._lists_changed(ListTopic.RESOURCES, whose)
        if self.shared.has_pages():
            self._lists_changed(ListTopic.TOOLS, whose)

    def _lists_changed(self, topic: ListTopic, whose: str) -> None:
        self.pages.forget()
        self.shared.forget(resources=topic is ListTopic.RESOURCES)
        self.events.publish(ListChanged(topic, whose))

    def elicitation_completed(self, id: str) -> None:
        self.events.publish(ElicitationCompleted(id))

    def resource_updated(self, uri: str) -> None:
        self.events.publish(ResourceUpdated(uri))

    def log(self, level: LogLevel, params: bytes, principal: str) -> None:
        self.events.publish(LogMessage(level, params, principal))

    @cached_property
    def log_levels(self) -> LogLevels:
        """The log level that servers are asked for."""
        from clawft.gateway.log_levels import LogLevels  # most agents never say

        return LogLevels(self._roster)

    # ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tasks(self) -> TaskBoard:
        """Tasks: calls of our own tools that outlive their request."""
        if self._tasks is None:
            from clawft.gateway.task.tasks import TaskBoard  # most callers never begin one

            self._tasks = TaskBoard(self.events, self._may_follow)
        return self._tasks

    def _may_follow(self, tool: str, owner: Caller, caller: Caller) -> bool:
        """Whether the caller has the rights the task was begun with, or others that reach the same tool."""
        if (caller.grant, caller.proof) == (owner.grant, owner.proof):
            return True
        entry = self.tools.find_visible(tool, caller)
        if entry is None:
            return False
        namespace = entry.origin.namespace
        return self.provider(namespace, caller) is self.provider(namespace, owner)

    @cached_property
    def handles(self) -> Handles:
        """Ids for tasks that servers keep."""
        from clawft.gateway.task.handles import Handles  # most servers know no tasks

        return Handles(self._key)

    def finish(self, call: Call, reply: Reply) -> Reply:
        """Let the guards finish a result that comes after its call was answered."""
        return self._side_duties.finish(call, reply)

    async def close(self) -> None:
        """End what runs in the background."""
        if self._tasks is not None:
            await self._tasks.close()

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: bytes = EMPTY_OBJECT,
        talk: Talk | None = None,
        meta: bytes = b"",
        more: bytes = b"",
    ) -> Reply:
        """Run one tool through its guards. A tool that fails gives a reply with `is_error`; an unknown one raises."""
        self.calls += 1
        entry = self.tools.find(name, caller) or await self.pending.wait_for_tool(name, caller)
        if entry is None:
            return await self._missing(Call(caller, name, _NO_TOOL, _NOWHERE, arguments, asked=name))
        call = Call(caller, entry.canonical, entry.tool, entry.origin, arguments, meta, talk or _SILENT, name, more)
        try:
            return await entry.run(call)
        except ToolNotFound:
            return await self._hidden(call)
        except (ToolError, MissingCapability) as failed:
            return error_reply(failed, caller)

    async def _hidden(self, call: Call) -> Reply:
        """A hidden tool takes as long to refuse as one that does not exist, so that timing tells nothing."""
        await self.pending.wait_for_tool("", call.caller)
        return await self._not_there(call)

    async def _not_there(self, call: Call) -> Reply:
        """Raises ToolNotFound, unless the server that is meant can say why it has nothing for this caller."""
        if refusal := self.tools.refusal(call.asked, call.caller):
            return Reply.error(visible_text(refusal))  # no guard sees it, and a stranger may have worded it
        raise unknown(call.asked)

    async def finish_slowly(self, call: Call, path: FastPath, began: float, rest: Next) -> Reply:
        """The reply to a call that was started on the fast path and turned out to need more."""
        try:
            return await path.witness.follow(call, as_reply(rest, path.finish, self.shared), began)
        except (ToolError, MissingCapability) as failed:
            return error_reply(failed, call.caller)
