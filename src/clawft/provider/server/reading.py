"""What a server has beside its tools, as it is read: resources, prompts, and values that complete an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clawft.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonRpcFailure, ProtocolFailure
from clawft.link.share.workshop import worked_on
from clawft.model import Call, Completion, Era
from clawft.provider.server import relay
from clawft.provider.server.call.refusal import failed, passed_on
from clawft.provider.server.call.relaying import CONNECT_SECONDS
from clawft.provider.server.kept import KeptReads
from clawft.provider.server.question.conversing import Conversing
from clawft.upstream.interest.interest import TELL_SECONDS
from clawft.upstream.upstream import Upstream
from clawft.wire.revisions import REVISIONS

MAX_VALUE_BYTES = 4 * 1024
"""Of one value that completes an argument."""


class Reading:
    """Of one server. Results pass as the bytes they are."""

    def __init__(self, upstream: Upstream, conversing: Conversing) -> None:
        self._upstream = upstream
        self._conversing = conversing
        self._server = upstream.spec.name
        self.kept = KeptReads()
        upstream.interest.when_updated(self.kept.forget)

    async def resource(self, call: Call) -> bytes | None:
        """None if the server has nothing of that name."""
        uri = call.tool.name
        try:
            kept = None if call.more else self.kept.get(uri, call.caller.principal)
            result = kept or await self._ask_for(call, "resources/read", {"uri": uri})
            return result if call.caller.era is Era.STATELESS else relay.without_hints(result)
        except JsonRpcFailure as refused:
            if refused.error_code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
                return None
            raise

    async def prompt(self, call: Call) -> bytes:
        return await self._ask_for(call, "prompts/get", {"name": call.tool.name, "arguments": Raw(call.arguments)})

    async def completion(
        self, ref: Mapping[str, Any], argument: str, value: str, chosen: Mapping[str, str]
    ) -> Completion:
        members: dict[str, Any] = {"ref": dict(ref), "argument": {"name": argument, "value": value}}
        session = self._upstream.session
        if session is not None and chosen and REVISIONS[session.peer.revision].completion_context:
            members["context"] = {"arguments": chosen}
        try:
            told = msgspec.json.decode(await self._ask("completion/complete", members), type=_Completed)
            return _fitting(told.completion)
        except JsonRpcFailure as refused:
            raise passed_on(self._server, refused) from None
        except msgspec.DecodeError:
            return Completion(())

    async def _ask_for(self, call: Call, method: str, members: Mapping[str, Any]) -> bytes:
        """A request of an agent's, which may be asked something on the way."""
        seconds = self._upstream.spec.timeout_ms / 1000
        session = await self._upstream.connected(min(seconds, CONNECT_SECONDS))
        try:
            whole, asked = await self._conversing.request(call, self._upstream, session, method, members, seconds)
        except JsonRpcFailure as refused:
            raise passed_on(self._server, refused) from None
        stateless = session.peer.era is Era.STATELESS
        read = partial(relay.answer_of, method, whole, stateless=stateless)
        try:
            answer = await worked_on(whole, self._server, read)
        except ProtocolFailure as wrong:
            raise failed(self._server, wrong) from None
        if stateless and method == "resources/read" and not asked and not call.more:
            self.kept.put(call.tool.name, call.caller.principal, answer)
        return answer

    async def _ask(self, method: str, members: Mapping[str, Any]) -> bytes:
        seconds = self._upstream.spec.timeout_ms / 1000
        session = await self._upstream.connected(min(seconds, CONNECT_SECONDS))
        result = await session.request(method, members, seconds=seconds)
        whole = await session.complete(method, members, result, seconds=seconds)
        if session.peer.era is not Era.STATELESS:
            return whole
        return await worked_on(whole, self._server, partial(relay.plain_result, whole))


async def watch(upstream: Upstream, uri: str, changed: Callable[[str], None]) -> Callable[[], None]:
    """Back when the server knows of it; what this returns ends it. Raises ClawftError if nobody will tell."""
    await upstream.connected(min(upstream.spec.timeout_ms / 1000, CONNECT_SECONDS))
    interest = upstream.interest

    def ear(params: bytes) -> None:
        changed(relay.read_uri(params) or uri)

    release = interest.watch(interest.resources, uri, ear)
    try:
        await interest.settled(TELL_SECONDS)
        if uri in interest.refused:
            raise interest.refused[uri].with_traceback(None)  # it would keep all who were told before
    except BaseException:
        release()
        raise
    return release


class _Values(Struct, frozen=True, rename="camel"):
    values: list[Raw] = []
    total: int | None = None
    has_more: bool | None = None


class _Completed(Struct, frozen=True):
    completion: _Values = _Values()


def _fitting(told: _Values) -> Completion:
    """A value that nobody could have typed is left out: cut, it would be another one. Raises DecodeError."""
    fitting = [raw for raw in told.values if len(bytes(raw)) <= MAX_VALUE_BYTES]
    values = [msgspec.json.decode(raw, type=str) for raw in fitting]
    return Completion(values, told.total, told.has_more if len(fitting) == len(told.values) else True)
