"""The tools, resources and prompts of an external server, as a provider like any other."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from clawft.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ExecutionFailed,
    JsonRpcFailure,
    ProtocolFailure,
)
from clawft.link.share.workshop import worked_on
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Completing,
    Completion,
    Era,
    ForeignCompletion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Origin,
    Tool,
)
from clawft.policy.globs import any_matches
from clawft.provider.base import Changed, Changes
from clawft.provider.server import completing, relay
from clawft.provider.server.call.refusal import failed, passed_on
from clawft.provider.server.call.relaying import CONNECT_SECONDS, LOST, Relaying
from clawft.provider.server.following import Following
from clawft.provider.server.foreign import Readable
from clawft.provider.server.hearing import MAX_SAID_BYTES, belongs_to, pass_on, read_said
from clawft.provider.server.kept import KeptReads
from clawft.provider.server.question.asking import Roots
from clawft.provider.server.question.conversing import Conversing
from clawft.provider.server.question.parked import Park
from clawft.provider.server.question.questions import elicitation_id, read_visit
from clawft.provider.server.question.urls import ask_for_urls
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.offer.lists import Parts
from clawft.upstream.session.session import Session
from clawft.upstream.spec import ToolRules
from clawft.upstream.upstream import Upstream
from clawft.wire import meta as metas
from clawft.wire.jsonrpc import Notification
from clawft.wire.revisions import REVISIONS
from clawft.wire.visible import make_visible

SHOWN_CHARS = 500

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode

T = TypeVar("T")


class UpstreamProvider:
    """Relays. Arguments and results pass as the bytes they are."""

    def __init__(
        self,
        upstream: Upstream,
        own: Callable[[str], Upstream] | None = None,
        *,
        park: Park | None = None,
        roots: Roots = list,
        whose: str = "",
    ) -> None:
        """`own` gives the server as one conversation has it, for a server that keeps its callers apart.

        `park` keeps calls whose agents went to find an answer, `roots` are the folders of the house. `whose` is the
        proof of the only person it is for.
        """
        self._upstream = upstream
        self._whose = whose
        self.following = Following()
        kept = Park() if park is None else park
        self._conversing = Conversing(upstream.spec, self.following, kept, roots, self._visited)
        self._relaying = relaying = Relaying(upstream, self.following, self._conversing, own)
        self.run, self.start = relaying.run, relaying.start
        self.close: Callable[[], Awaitable[None]] = upstream.stop
        self._changes: Changes | None = None
        self._chosen_from: tuple[Tool, ...] = ()
        self._chosen: list[Tool] = []
        self._readable = Readable(None)
        self._kept = KeptReads()
        upstream.interest.when_updated(self._kept.forget)
        self.server = upstream.spec.name
        self.namespace = f"mcp:{self.server}"

    @property
    def upstream(self) -> Upstream:
        return self._upstream

    @property
    def extensions(self) -> Mapping[str, Any]:
        """All but tasks, which are ours to serve; none, if there is no end to them."""
        session = self._upstream.session
        told: Mapping[str, Any] = session.peer.extensions if session is not None else {}
        known = {name: settings for name, settings in told.items() if name != metas.TASKS}
        return known if len(_encode(known)) <= metas.MAX_EXTENSION_BYTES else {}

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def list_tools(self) -> Sequence[Tool]:
        """Those its entry lets through, chosen once for as long as the server's list is the same."""
        told = self._upstream.tools
        if self._chosen_from is not told:
            rules = self._upstream.spec.tools
            self._chosen = [tool for tool in told if _is_chosen(tool.name, rules)]
            self._chosen_from = told
        return self._chosen

    async def refresh_tools(self) -> None:
        """Ask the server; the list is swapped in one step when its answer is there."""
        await self._upstream.refresh()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        tool = next((tool for tool in self._upstream.tools if tool.name == name), Tool(name, b""))
        call = Call(Caller(), name, tool, Origin(self.namespace, self.server), _encode(arguments))
        return as_result((await self.run(call)).result)

    # ── notices ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def noticed(self, notification: Notification, upstream: Upstream | None = None, stream: int | None = None) -> None:
        """`upstream` is the server as one conversation has it, if it is not the one we share."""
        if notification.method == "notifications/progress":
            self.following.progressed(notification.params)
        elif notification.method == "notifications/message":
            self._said(notification.params, upstream or self._upstream, stream)
        elif notification.method == "notifications/elicitation/complete":
            self._visited(elicitation_id(self.server, read_visit(notification.params)))

    def _visited(self, id: str) -> None:
        if self._changes is not None:
            self._changes.elicitation_completed(id)

    def _said(self, params: bytes, upstream: Upstream, stream: int | None) -> None:
        """To the call it belongs to; else to the conversations of the only principal that uses this server."""
        said = read_said(params)
        if said is None:
            return
        flight = belongs_to(upstream.flights, stream, per_request=upstream.logs_per_request)
        if flight is not None:
            pass_on(flight, said, params)
            return
        if stream is not None:
            return  # on the stream of a call that did not ask for it
        principal = self._relaying.only_principal
        if self._changes is not None and principal and upstream is self._upstream:
            told = params if len(params) <= MAX_SAID_BYTES else _encode(said)
            self._changes.log(said.level, make_visible(told), principal)
        else:
            log.info("%s says: %s", self.server, params[:SHOWN_CHARS].decode(errors="replace"))

    async def heed(self, level: str) -> None:
        self._upstream.interest.hear(level)
        if not self._upstream.logs_per_request:
            await self._upstream.interest.settled(TELL_SECONDS)

    # ── watched resources ────────────────────────────────────────────────────────────────────────────────────────────

    async def watch_resource(self, uri: str, caller: Caller, changed: Changed) -> Callable[[], None] | None:
        if not self._read().may_have(uri):
            return None
        upstream = self._relaying.of(caller)
        await upstream.connected(min(upstream.spec.timeout_ms / 1000, CONNECT_SECONDS))
        interest = upstream.interest

        def ear(params: bytes) -> None:
            changed(relay.read_uri(params) or uri, relay.beside_uri(params))

        release = interest.watch(interest.resources, uri, ear)
        try:
            await interest.settled(TELL_SECONDS)
            if uri in interest.refused:
                raise interest.refused[uri].with_traceback(None)  # it would keep all who were told before
        except BaseException:
            release()
            raise
        return release

    # ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_task(self, id: str, caller: Caller) -> Coroutine[Any, Any, bytes]:
        return self._relaying.tasks.get(id, caller)

    async def update_task(self, id: str, caller: Caller, responses: Mapping[str, Raw]) -> None:
        await self._relaying.tasks.update(id, caller, responses)

    async def cancel_task(self, id: str, caller: Caller) -> None:
        await self._relaying.tasks.cancel(id, caller)

    async def watch_task(self, id: str, changed: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._relaying.tasks.watch(id, changed)

    # ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────

    def list_resources(self) -> Sequence[ForeignResource]:
        return self._read().lists.resources

    def list_templates(self) -> Sequence[ForeignTemplate]:
        return self._read().lists.templates

    def list_prompts(self) -> Sequence[ForeignPrompt]:
        return self._read().lists.prompts

    def _read(self) -> Readable:
        """The server's lists, read once for as long as they are the same."""
        answers = self._upstream.answers
        if self._readable.answers is not answers:
            self._readable = Readable(answers)
        return self._readable

    async def read_resource(self, uri: str) -> bytes | None:
        """The server's whole result; None if it has nothing of that name."""
        return await self.read_resource_for(Call(Caller(), uri, Tool(uri, b""), Origin(self.namespace, self.server)))

    def may_have(self, uri: str) -> bool:
        return self._read().may_have(uri)

    async def read_resource_for(self, call: Call) -> bytes | None:
        uri = call.tool.name
        if not self._read().may_have(uri):
            return None
        try:
            kept = None if call.more else self._kept.get(uri, call.caller.principal)
            result = kept or await self._ask_for(call, "resources/read", {"uri": uri})
            return result if call.caller.era is Era.STATELESS else relay.without_hints(result)
        except JsonRpcFailure as refused:
            if refused.error_code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
                return None
            raise

    async def get_prompt(self, call: Call) -> bytes:
        return await self._ask_for(call, "prompts/get", {"name": call.tool.name, "arguments": Raw(call.arguments)})

    async def complete_after(self, asked: Completing) -> Completion | ForeignCompletion:
        session = self._upstream.session
        if session is None or not self.completes(asked.ref):
            return Completion(())
        members = completing.outgoing(asked, context=REVISIONS[session.peer.revision].completion_context)
        try:
            whole = await self._ask("completion/complete", members)
            return await worked_on(whole, self.server, partial(completing.incoming, whole))
        except JsonRpcFailure as refused:
            raise passed_on(self.server, refused) from None
        except msgspec.DecodeError:
            return Completion(())

    def completes(self, ref: Mapping[str, Any]) -> bool:
        session = self._upstream.session
        if session is None or not session.peer.completes:
            return False
        templates = self._read().lists.templates
        return ref.get("type") == "ref/prompt" or any(each.uri_template == ref.get("uri") for each in templates)

    async def _ask_for(self, call: Call, method: str, members: Mapping[str, Any]) -> bytes:
        """A request of an agent's, which may be asked something on the way."""
        seconds = self._upstream.spec.timeout_ms / 1000

        async def ask(session: Session) -> tuple[bytes, bool, bool]:
            whole, asked = await self._conversing.request(call, self._upstream, session, method, members, seconds)
            return whole, asked, session.peer.era is Era.STATELESS

        try:
            whole, asked, stateless = await (self._once(ask) if call.talk.carried else self._reading(ask))
        except JsonRpcFailure as refused:
            if refused.error_code == URL_ELICITATION_REQUIRED:
                await ask_for_urls(self.server, call, refused)
            raise passed_on(self.server, refused) from None
        read = partial(relay.answer_of, method, whole, stateless=stateless)
        try:
            answer = await worked_on(whole, self.server, read)
        except ProtocolFailure as wrong:
            raise failed(self.server, wrong) from None
        if stateless and method == "resources/read" and not asked and not call.more:
            self._kept.put(call.tool.name, call.caller.principal, answer)
        return answer

    async def _ask(self, method: str, members: Mapping[str, Any]) -> bytes:
        seconds = self._upstream.spec.timeout_ms / 1000

        async def ask(session: Session) -> tuple[bytes, bool]:
            result = await session.request(method, members, seconds=seconds)
            whole = await session.complete(method, members, result, seconds=seconds)
            return whole, session.peer.era is Era.STATELESS

        whole, stateless = await self._reading(ask)
        return await worked_on(whole, self.server, partial(relay.plain_result, whole)) if stateless else whole

    async def _reading(self, ask: Callable[[Session], Awaitable[T]]) -> T:
        """Reading changes nothing: what was lost with its connection is asked once more."""
        try:
            return await self._once(ask)
        except LOST:
            return await self._once(ask)

    async def _once(self, ask: Callable[[Session], Awaitable[T]]) -> T:
        seconds = self._upstream.spec.timeout_ms / 1000
        return await ask(await self._upstream.connected(min(seconds, CONNECT_SECONDS)))

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def offer_changed(self, parts: Parts) -> None:
        """These lists of the server differ from what was offered before."""
        if parts & {"resources", "templates"}:
            self._kept.clear()
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
    """The view for Python programs. A result that says nothing we know is shown as the JSON it is."""
    try:
        if {"content", "isError", "structuredContent"} & msgspec.json.decode(result, type=dict[str, Raw]).keys():
            return msgspec.json.decode(result, type=CallToolResult)
    except msgspec.DecodeError as wrong:
        raise ExecutionFailed(f"the result cannot be read: {wrong}") from None
    return CallToolResult.text(result.decode())
