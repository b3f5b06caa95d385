"""The tools, resources and prompts of an external server, as a provider like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from clawft.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    BadParams,
    ExecutionFailed,
    JsonRpcFailure,
    LinkError,
    NotConnected,
    ToolNotFound,
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
    Origin,
    Reply,
    Talk,
    Tool,
)
from clawft.policy.globs import any_matches
from clawft.provider import relay
from clawft.provider.base import Changes
from clawft.upstream.session import Session
from clawft.upstream.spec import HARD_LIMIT_FACTOR
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc import Failure, Notification

CONNECT_SECONDS = 30.0

_encode = msgspec.json.encode


class _Running(Struct):
    """A call in flight, as far as progress is concerned."""

    talk: Talk
    patience: Patience


class UpstreamProvider:
    """Relays. Arguments and results pass as the bytes they are."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._progress: dict[int, _Running] = {}
        self._tokens = count(1)
        self._changes: Changes | None = None
        self._native: dict[str, bytes] = {}
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

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        call = Call(Caller(), name, Tool(name, b""), Origin(self.namespace, self.server), _encode(arguments))
        return msgspec.json.decode((await self.run(call)).result, type=CallToolResult)

    async def run(self, call: Call) -> Reply:
        upstream = self._upstream
        session = upstream.session or await self._connected()
        await upstream.gate.enter()
        try:
            return await self._relay(call, session)
        finally:
            upstream.gate.leave()

    async def _connected(self) -> Session:
        try:
            return await self._upstream.connected(CONNECT_SECONDS)
        except NotConnected as down:
            raise ExecutionFailed(down.message, hint=down.hint) from None

    async def _relay(self, call: Call, session: Session) -> Reply:
        spec = self._upstream.spec
        seconds = spec.deadline_of(call.tool.name)
        patience = Patience(f"{self.server}: {call.tool.name}", seconds, seconds * HARD_LIMIT_FACTOR)
        token = self._follow(call.talk, patience) if relay.wants_progress(call.meta) else None
        try:
            answer = await session.link.request(self._outgoing(call, session, token), patience)
        except LinkError as lost:
            raise ExecutionFailed(f"{self.server}: {lost.message}", hint=f"weft servers status {self.server}") from None
        finally:
            if token is not None:
                del self._progress[token]
        if isinstance(answer, Failure):
            raise _refused(self.server, answer.read())
        return relay.reply_of(answer.result, stateless=session.peer.era is Era.STATELESS)

    def _outgoing(self, call: Call, session: Session, token: int | None) -> Outgoing:
        name = self._native.get(call.tool.name)
        if name is None:
            name = self._native[call.tool.name] = _encode(call.tool.name)
        meta = relay.outgoing_meta(call.meta, token) if call.meta else {}
        if session.peer.era is Era.HANDSHAKE:
            return Outgoing("tools/call", relay.call_params(name, call.arguments, meta))
        members = {"name": call.tool.name, "arguments": Raw(call.arguments), "_meta": meta}
        return session.outgoing("tools/call", members)

    # ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _follow(self, talk: Talk, patience: Patience) -> int:
        token = next(self._tokens)
        self._progress[token] = _Running(talk, patience)
        return token

    def noticed(self, notification: Notification) -> None:
        if notification.method != "notifications/progress":
            return
        said = relay.read_progress(notification.params)
        running = self._progress.get(said.progress_token) if said else None
        if said is None or running is None:
            return
        running.patience.extend()
        total = None if said.total is msgspec.UNSET else said.total
        running.talk.progress(said.progress, total, "" if said.message is msgspec.UNSET else said.message)

    # ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────

    def list_resources(self) -> Sequence[ForeignResource]:
        answers = self._upstream.answers
        return _readable(answers.resources, ForeignResource) if answers else ()

    def list_templates(self) -> Sequence[ForeignTemplate]:
        answers = self._upstream.answers
        return _readable(answers.templates, ForeignTemplate) if answers else ()

    def list_prompts(self) -> Sequence[ForeignPrompt]:
        answers = self._upstream.answers
        return _readable(answers.prompts, ForeignPrompt) if answers else ()

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
        if any(resource.uri == uri for resource in self.list_resources()):
            return True
        return any(uri.startswith(t.uri_template.partition("{")[0]) for t in self.list_templates())

    async def get_prompt(self, call: Call) -> bytes:
        try:
            return await self._ask("prompts/get", {"name": call.tool.name, "arguments": Raw(call.arguments)})
        except JsonRpcFailure as refused:
            raise BadParams(f"{self.server}: {refused.message}") from None

    async def complete(self, ref: Mapping[str, Any], argument: str, value: str) -> Sequence[str]:
        answers = self._upstream.session
        if answers is None or "completions" not in answers.peer.capabilities:
            return ()
        members = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        try:
            told = msgspec.json.decode(await self._ask("completion/complete", members), type=_Completed)
        except (JsonRpcFailure, msgspec.DecodeError):
            return ()
        return told.completion.values

    async def _ask(self, method: str, members: Mapping[str, Any]) -> bytes:
        session = await self._upstream.connected(CONNECT_SECONDS)
        result = await session.request(method, members, seconds=self._upstream.spec.timeout_ms / 1000)
        return relay.plain_result(result) if session.peer.era is Era.STATELESS else result

    # ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def watch(self, changes: Changes) -> None:
        self._changes = changes

    def offer_changed(self) -> None:
        """The server's lists differ from what was offered before."""
        if self._changes is not None:
            self._changes.tools_changed()
            self._changes.prompts_changed()
            self._changes.resources_changed()


def _refused(server: str, failure: JsonRpcFailure) -> ToolNotFound | ExecutionFailed:
    return ExecutionFailed(f"{server}: {failure.message} (code {failure.error_code})")


class _Values(Struct, frozen=True):
    values: list[str] = []


class _Completed(Struct, frozen=True):
    completion: _Values = _Values()


T = TypeVar("T", ForeignResource, ForeignTemplate, ForeignPrompt)


def _readable(items: Sequence[Raw], kind: type[T]) -> Sequence[T]:
    """Those that can be read, each with what the server said of it."""
    read: list[T] = []
    for item in items:
        try:
            read.append(msgspec.structs.replace(msgspec.json.decode(item, type=kind), raw=bytes(item)))
        except msgspec.DecodeError:
            continue
    return read
