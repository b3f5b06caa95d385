"""The tools, resources and prompts of an external server, as a provider like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.errors import ExecutionFailed, JsonRpcFailure, LinkError, NotConnected, ToolNotFound
from clawft.link.base import Outgoing
from clawft.link.patience import Patience
from clawft.model import (
    Call,
    Caller,
    CallToolResult,
    Era,
    Origin,
    Prompt,
    Reply,
    Resource,
    ResourceContent,
    ResourceTemplate,
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

    def list_resources(self) -> Sequence[Resource]:
        answers = self._upstream.answers
        return _readable(answers.resources, Resource) if answers else ()

    def list_templates(self) -> Sequence[ResourceTemplate]:
        answers = self._upstream.answers
        return _readable(answers.templates, ResourceTemplate) if answers else ()

    def list_prompts(self) -> Sequence[Prompt]:
        answers = self._upstream.answers
        return _readable(answers.prompts, Prompt) if answers else ()

    async def read_resource(self, uri: str) -> Sequence[ResourceContent] | None:
        raise NotImplementedError

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


def _readable(items: Sequence[Raw], kind: Any) -> Sequence[Any]:
    read: list[Any] = []
    for item in items:
        try:
            read.append(msgspec.json.decode(item, type=kind))
        except msgspec.DecodeError:
            continue
    return read
