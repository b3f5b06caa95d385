"""An external server as a provider of its tools, resources and prompts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from clawft.errors import ClawftError, ExecutionFailed, NotConnected
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Completing,
    Completion,
    ForeignCompletion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Origin,
    Tool,
)
from clawft.policy.globs import any_matches
from clawft.provider.base import Changes, TellChange, arguments_of
from clawft.provider.server.call.server_calls import CONNECT_SECONDS, ServerCalls
from clawft.provider.server.question.parked_calls import ParkedCalls
from clawft.provider.server.relayed_server import PrivateUpstream, RelayedServer
from clawft.provider.server.resource_lists import ResourceLists
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.offer.lists import Parts
from clawft.upstream.spec import ToolRules
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc.messages import Notification
from clawft.wire.readable import MAX_LEVELS, is_deeper
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # loaded with the first task, the first question, and the first resource or prompt
    from clawft.provider.server.call.tasks import ForeignTasks
    from clawft.provider.server.question.handshake_questions import Roots
    from clawft.provider.server.server_reads import ServerReads

SHOWN_CHARS = 500

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode


class ServerProvider:
    """Relays to one server. Arguments and results pass as bytes."""

    def __init__(
        self,
        upstream: Upstream,
        own: PrivateUpstream | None = None,
        *,
        parked_calls: ParkedCalls | None = None,
        roots: Roots = list,
        whose: str = "",
    ) -> None:
        """`own` gives the private upstream of a conversation or person, for a server that keeps its callers apart.

        `parked_calls` keeps calls whose agents went to find an answer, `roots` are the folders of this gateway.
        `whose` is the proof of the only person it is for.
        """
        self._upstream = upstream
        self._whose = whose
        parked = ParkedCalls() if parked_calls is None else parked_calls
        self._relayed = RelayedServer(upstream, parked, roots, self._visited, own)
        self._calls = calls = ServerCalls(self._relayed)
        self.run, self.start = calls.run, calls.start
        self.close: Callable[[], Awaitable[None]] = upstream.stop
        self._changes: Changes | None = None
        self._chosen_from: tuple[Tool, ...] = ()
        self._chosen: list[Tool] = []
        self._readable = ResourceLists(None)
        self._reads: ServerReads | None = None
        self.server = upstream.spec.name
        self.namespace = f"mcp:{self.server}"

    @property
    def upstream(self) -> Upstream:
        return self._upstream

    @property
    def extensions(self) -> Mapping[str, Any]:
        """The server's extensions except tasks, which the gateway serves; none if there is too much of them."""
        session = self._upstream.session
        declared: Mapping[str, Any] = session.peer.extensions if session is not None else {}
        known = {name: settings for name, settings in declared.items() if name != metas.TASKS}
        spelled = _encode(known)
        fits = len(spelled) <= metas.MAX_EXTENSION_BYTES and not is_deeper(spelled, MAX_LEVELS)
        return known if fits else {}

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def list_tools(self) -> Sequence[Tool]:
        """The tools its configuration allows, chosen again only when the server's list changes."""
        offered = self._upstream.tools
        if self._chosen_from is not offered:
            rules = self._upstream.spec.tools
            self._chosen = [tool for tool in offered if _is_chosen(tool.name, rules)]
            self._chosen_from = offered
        return self._chosen

    def absence(self) -> ClawftError | None:
        return self._upstream.absence()

    def arrival(self) -> Awaitable[None] | None:
        return self._arrive() if self._upstream.is_unknown else None

    async def _arrive(self) -> None:
        try:
            await self._upstream.connected(min(self._upstream.spec.timeout_ms / 1000, CONNECT_SECONDS))
        except NotConnected as absent:
            log.debug("%s", absent)  # a call reports its state then

    async def refresh_tools(self) -> None:
        """Ask the server; the list is replaced in one step when the answer is there."""
        await self._upstream.refresh()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        tool = next((tool for tool in self._upstream.tools if tool.name == name), Tool(name, b""))
        call = Call(Caller(), name, tool, Origin(self.namespace, self.server), arguments_of(arguments))
        return as_result((await self.run(call)).result)

    # ── notices ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_notification(
        self, notification: Notification, upstream: Upstream | None = None, stream: int | None = None
    ) -> None:
        """`upstream` is the private one of a conversation, if it is not the shared one."""
        if notification.method == "notifications/progress":
            self._relayed.following.progressed(notification.params)
        elif notification.method == "notifications/message":
            self._pass_on_log_message(notification.params, upstream or self._upstream, stream)
        elif notification.method == "notifications/elicitation/complete":
            from clawft.provider.server.question import questions  # few servers send a person to an address

            self._visited(questions.elicitation_id(self.server, questions.read_visit(notification.params)))

    def _visited(self, id: str) -> None:
        if self._changes is not None:
            self._changes.elicitation_completed(id)

    def _pass_on_log_message(self, params: bytes, upstream: Upstream, stream: int | None) -> None:
        """Send it to the call it belongs to; else to the conversations of the server's only principal."""
        from clawft.provider.server import log_messages  # few servers send log messages

        message = log_messages.read_said(params)
        if message is None:
            return
        flights, per_request = upstream.flights, upstream.logs_per_request
        flight = log_messages.belongs_to(flights, stream, per_request=per_request)
        if flight is not None:
            log_messages.pass_on(flight, message, params)
            return
        if stream is not None:
            return  # on the stream of a call that did not ask for it
        principal = self._calls.only_principal if log_messages.is_wanted(flights, per_request=per_request) else ""
        if self._changes is not None and principal and upstream is self._upstream:
            passed = params if len(params) <= log_messages.MAX_SAID_BYTES else _encode(message)
            self._changes.log(message.level, make_visible(passed), principal)
        else:
            log.info("%s says: %s", self.server, params[:SHOWN_CHARS].decode(errors="replace"))

    async def set_log_level(self, level: str) -> None:
        self._upstream.interest.hear(level)
        if not self._upstream.logs_per_request:
            await self._upstream.interest.settled(TELL_SECONDS)

    # ── watched resources ────────────────────────────────────────────────────────────────────────────────────────────

    async def watch_resource(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None] | None:
        if not self._read().may_have(uri):
            return None
        from clawft.provider.server.server_reads import watch  # loaded with the first of them

        return await watch(self._relayed.upstream_of(caller), uri, changed)

    # ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_task(self, id: str, caller: Caller) -> Coroutine[Any, Any, bytes]:
        return self._tasks.get(id, caller)

    async def update_task(self, id: str, caller: Caller, responses: Mapping[str, Raw]) -> None:
        await self._tasks.update(id, caller, responses)

    async def cancel_task(self, id: str, caller: Caller) -> None:
        await self._tasks.cancel(id, caller)

    async def watch_task(self, id: str, caller: Caller, changed: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._tasks.watch(id, caller, changed)

    @cached_property
    def _tasks(self) -> ForeignTasks:
        from clawft.provider.server.call.tasks import ForeignTasks  # most servers know no tasks

        return ForeignTasks(self._relayed)

    # ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────

    def list_resources(self) -> Sequence[ForeignResource]:
        return self._read().lists.resources

    def list_templates(self) -> Sequence[ForeignTemplate]:
        return self._read().lists.templates

    def list_prompts(self) -> Sequence[ForeignPrompt]:
        return self._read().lists.prompts

    def _read(self) -> ResourceLists:
        """The server's resource lists, evaluated again only when they change."""
        offer = self._upstream.offer
        if self._readable.offer is not offer:
            self._readable = ResourceLists(offer)
        return self._readable

    async def read_resource(self, uri: str) -> bytes | None:
        """The server's whole result; None if it has no such resource."""
        return await self.read_resource_for(Call(Caller(), uri, Tool(uri, b""), Origin(self.namespace, self.server)))

    def may_have(self, uri: str) -> bool:
        return self._read().may_have(uri)

    @property
    def pages(self) -> frozenset[str]:
        return self._read().pages

    async def read_resource_for(self, call: Call) -> bytes | None:
        return await self._reading.resource(call) if self._read().may_have(call.tool.name) else None

    async def get_prompt(self, call: Call) -> bytes:
        return await self._reading.prompt(call)

    async def complete_after(self, asked: Completing) -> Completion | ForeignCompletion:
        if not self.completes(asked.ref):
            return Completion(())
        return await self._reading.completion(asked)

    @property
    def _reading(self) -> ServerReads:
        if self._reads is None:
            from clawft.provider.server.server_reads import ServerReads  # most servers have nothing but tools

            self._reads = ServerReads(self._relayed)
        return self._reads

    def completes(self, ref: Mapping[str, Any]) -> bool:
        """Whether it may complete this; a server that is not connected may."""
        session = self._upstream.session
        if session is not None and not session.peer.completes:
            return False
        templates = self._read().lists.templates
        return ref.get("type") == "ref/prompt" or any(each.uri_template == ref.get("uri") for each in templates)

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def offer_changed(self, parts: Parts) -> None:
        """Report that these lists of the server have changed."""
        if parts & {"resources", "templates"} and self._reads is not None:
            self._reads.kept.clear()
        if self._changes is None:
            return
        if "tools" in parts:
            self._changes.tools_changed(self._whose)
        if "prompts" in parts:
            self._changes.prompts_changed(self._whose)
        if parts & {"resources", "templates"}:
            self._changes.resources_changed(self._whose)


def _is_chosen(name: str, rules: ToolRules) -> bool:
    return any_matches((name,), rules.allow) and not any_matches((name,), rules.deny)


def as_result(result: bytes) -> CallToolResult:
    """The result for Python programs. One without any known member is shown as JSON."""
    try:
        if {"content", "isError", "structuredContent"} & msgspec.json.decode(result, type=dict[str, Raw]).keys():
            return msgspec.json.decode(result, type=CallToolResult)
    except msgspec.DecodeError as wrong:
        raise ExecutionFailed(f"the result cannot be read: {wrong}") from None
    return CallToolResult.text(result.decode())
