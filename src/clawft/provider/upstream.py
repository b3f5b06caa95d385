"""The tools, resources and prompts of an external server, as a provider like any other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from clawft.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    BadParams,
    ExecutionFailed,
    JsonRpcFailure,
    LinkClosed,
    LinkError,
    NotConnected,
    ProcessExited,
    ProtocolFailure,
    SessionLost,
    WireError,
)
from clawft.link.base import Outgoing
from clawft.link.patience import Patience
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Era,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Kind,
    Origin,
    Reply,
    Talk,
    Tool,
)
from clawft.policy.globs import any_matches
from clawft.provider import relay
from clawft.provider.base import Changes
from clawft.provider.refusal import failed
from clawft.upstream.cache import Remembered
from clawft.upstream.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc import Failure, Notification

CONNECT_SECONDS = 30.0
SHOWN_CHARS = 500

log = logging.getLogger("clawft.upstream")

_encode = msgspec.json.encode


class _Running(Struct):
    """A call in flight, as far as progress is concerned."""

    talk: Talk
    patience: Patience


class UpstreamProvider:
    """Relays. Arguments and results pass as the bytes they are."""

    def __init__(self, upstream: Upstream, own: Callable[[str], Upstream] | None = None) -> None:
        """`own` gives the server as one conversation has it, for a server that keeps its callers apart."""
        self._upstream = upstream
        self._own = own if upstream.spec.isolation == "per-session" else None
        self._progress: dict[int, _Running] = {}
        self._tokens = count(1)
        self._changes: Changes | None = None
        self._native: dict[str, bytes] = {}
        self._readable = _Readable(None)
        self.server = upstream.spec.name
        self.namespace = f"mcp:{self.server}"

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def list_tools(self) -> Sequence[Tool]:
        rules = self._upstream.spec.tools
        return [
            tool
            for tool in self._upstream.tools
            if any_matches((tool.name,), rules.allow) and not any_matches((tool.name,), rules.deny)
        ]

    async def refresh_tools(self) -> None:
        """Ask the server; the list is swapped in one step when its answer is there."""
        await self._upstream.refresh()

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        tool = next((tool for tool in self._upstream.tools if tool.name == name), Tool(name, b""))
        call = Call(Caller(), name, tool, Origin(self.namespace, self.server), _encode(arguments))
        return as_result((await self.run(call)).result)

    async def run(self, call: Call) -> Reply:
        upstream = self._upstream if self._own is None else self._of(call.caller)
        seconds = upstream.spec.deadline_of(call.tool.name)
        session = upstream.session or await self._connected(call, seconds)
        if not upstream.gate.try_enter():
            await upstream.gate.enter()
        try:
            return await self._relay(call, session, seconds)
        except (LinkError, WireError, ProtocolFailure) as wrong:
            raise failed(self.server, wrong) from None
        finally:
            upstream.gate.leave()

    def _of(self, caller: Caller) -> Upstream:
        """Its own where the caller has a conversation to keep apart; a pipe, or a stateless request, has none."""
        return self._own(caller.session) if self._own is not None and caller.session else self._upstream

    async def _connected(self, call: Call, seconds: float) -> Session:
        try:
            return await self._of(call.caller).connected(min(seconds, CONNECT_SECONDS))
        except NotConnected as down:
            raise ExecutionFailed(down.message, hint=down.hint) from None

    async def _relay(self, call: Call, session: Session, seconds: float, *, last: bool = False) -> Reply:
        """`last`: what is lost now stays lost."""
        patience = Patience(call.tool.name, seconds, seconds * HARD_LIMIT_FACTOR)
        token = self._follow(call.talk, patience) if relay.wants_progress(call.meta) else None
        try:
            answer = await session.link.request(self._outgoing(call, session, token), patience)
        except (ProcessExited, LinkClosed, SessionLost):
            if last or not _may_repeat(call.tool):
                raise
            left = patience.left()
            return await self._relay(call, await self._connected(call, left), patience.left(), last=True)
        finally:
            if token is not None:
                del self._progress[token]
        if isinstance(answer, Failure):
            return await self._refused(call, session, answer.read(), seconds, last=last)
        reply = relay.reply_of(answer.result, stateless=session.peer.era is Era.STATELESS)
        return reply if reply.kind is Kind.COMPLETE else await self._complete(call, session, answer.result, seconds)

    async def _refused(
        self, call: Call, session: Session, error: JsonRpcFailure, seconds: float, *, last: bool
    ) -> Reply:
        """A tool whose header annotations have changed is read again, and the call, which did not run, made again."""
        if last or error.error_code != HEADER_MISMATCH:
            raise error
        await self._upstream.lists.ask(session)
        return await self._relay(call, session, seconds, last=True)

    async def _complete(self, call: Call, session: Session, result: bytes, seconds: float) -> Reply:
        """The server wants to know something first: what the house can answer, it does."""
        whole = await session.complete("tools/call", self._members(call, None), result, seconds=seconds)
        return relay.reply_of(whole, stateless=True)

    def _outgoing(self, call: Call, session: Session, token: int | None) -> Outgoing:
        if session.peer.era is Era.STATELESS:
            return session.outgoing("tools/call", self._members(call, token))
        name = self._native.get(call.tool.name)
        if name is None:
            name = self._native[call.tool.name] = _encode(call.tool.name)
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return Outgoing("tools/call", relay.call_params(name, call.arguments, meta))

    def _members(self, call: Call, token: int | None) -> dict[str, Any]:
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        return {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta}

    # ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _follow(self, talk: Talk, patience: Patience) -> int:
        token = next(self._tokens)
        self._progress[token] = _Running(talk, patience)
        return token

    def noticed(self, notification: Notification) -> None:
        if notification.method == "notifications/progress":
            self._progressed(notification)
        elif notification.method == "notifications/resources/updated":
            self._updated(notification)
        elif notification.method == "notifications/message":
            log.info("%s says: %s", self.server, notification.params[:SHOWN_CHARS].decode(errors="replace"))

    def _updated(self, notification: Notification) -> None:
        uri = relay.read_uri(notification.params)
        if uri is not None and self._changes is not None:
            self._changes.resource_updated(uri)

    def _progressed(self, notification: Notification) -> None:
        said = relay.read_progress(notification.params)
        running = self._progress.get(said.progress_token) if said else None
        if said is None or running is None:
            return
        running.patience.extend()
        total = None if said.total is msgspec.UNSET else said.total
        running.talk.progress(said.progress, total, "" if said.message is msgspec.UNSET else said.message)

    # ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────

    def list_resources(self) -> Sequence[ForeignResource]:
        return self._read().resources

    def list_templates(self) -> Sequence[ForeignTemplate]:
        return self._read().templates

    def list_prompts(self) -> Sequence[ForeignPrompt]:
        return self._read().prompts

    def _read(self) -> _Readable:
        """The server's lists, read once for as long as they are the same."""
        answers = self._upstream.answers
        if self._readable.answers is not answers:
            self._readable = _Readable(answers)
        return self._readable

    async def read_resource(self, uri: str) -> bytes | None:
        """The server's whole result; None if it has nothing of that name."""
        if not self._may_have(uri):
            return None
        try:
            return await self._ask("resources/read", {"uri": uri})
        except JsonRpcFailure as refused:
            if refused.error_code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
                return None
            raise

    def _may_have(self, uri: str) -> bool:
        read = self._read()
        return uri in read.uris or any(uri.startswith(t.uri_template.partition("{")[0]) for t in read.templates)

    async def get_prompt(self, call: Call) -> bytes:
        try:
            return await self._ask("prompts/get", {"name": call.tool.name, "arguments": Raw(call.arguments)})
        except JsonRpcFailure as refused:
            if refused.error_code != INVALID_PARAMS:
                raise
            raise BadParams(f"{self.server}: {refused.message}") from None

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        session = self._upstream.session
        if session is None or "completions" not in session.peer.capabilities or not self._owns(ref):
            return ()
        members = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        try:
            told = msgspec.json.decode(await self._ask("completion/complete", members), type=_Completed)
        except (JsonRpcFailure, msgspec.DecodeError):
            return ()
        return told.completion.values

    def _owns(self, ref: Mapping[str, Any]) -> bool:
        """Whether a completion of this is ours to give: another server's template is none of this one's business."""
        if ref.get("type") == "ref/prompt":
            return True
        return any(template.uri_template == ref.get("uri") for template in self._read().templates)

    async def _ask(self, method: str, members: Mapping[str, Any]) -> bytes:
        seconds = self._upstream.spec.timeout_ms / 1000
        session = await self._upstream.connected(min(seconds, CONNECT_SECONDS))
        result = await session.request(method, members, seconds=seconds)
        whole = await session.complete(method, members, result, seconds=seconds)
        return relay.plain_result(whole) if session.peer.era is Era.STATELESS else whole

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def offer_changed(self) -> None:
        """The server's lists differ from what was offered before."""
        if self._changes is not None:
            self._changes.tools_changed()
            self._changes.prompts_changed()
            self._changes.resources_changed()


def _may_repeat(tool: Tool) -> bool:
    """A call that was lost may have run: only one that changes nothing, or nothing more, is made again."""
    return tool.annotations.read_only_hint or tool.annotations.idempotent_hint


def as_result(result: bytes) -> CallToolResult:
    """The view for Python programs. A result that says nothing we know is shown as the JSON it is."""
    try:
        if {"content", "isError", "structuredContent"} & msgspec.json.decode(result, type=dict[str, Raw]).keys():
            return msgspec.json.decode(result, type=CallToolResult)
    except msgspec.DecodeError as wrong:
        raise ExecutionFailed(f"the result cannot be read: {wrong}") from None
    return CallToolResult.text(result.decode())


class _Values(Struct, frozen=True):
    values: list[str] = []


class _Completed(Struct, frozen=True):
    completion: _Values = _Values()


class _Readable:
    """The lists of a server as structs, each item with what the server said of it."""

    def __init__(self, answers: Remembered | None) -> None:
        self.answers = answers
        known = answers or Remembered("", 0.0, "handshake")
        self.resources = _read_items(known.resources, ForeignResource)
        self.templates = _read_items(known.templates, ForeignTemplate)
        self.prompts = _read_items(known.prompts, ForeignPrompt)
        self.uris = {resource.uri for resource in self.resources}


T = TypeVar("T", ForeignResource, ForeignTemplate, ForeignPrompt)


def _read_items(items: Sequence[Raw], kind: type[T]) -> Sequence[T]:
    """Those that can be read; one that cannot loses itself, not the list."""
    read: list[T] = []
    for item in items:
        try:
            read.append(msgspec.structs.replace(msgspec.json.decode(item, type=kind), raw=bytes(item)))
        except msgspec.DecodeError as wrong:
            log.warning("an item was left out: %s", wrong)
    return read
