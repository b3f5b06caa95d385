"""Reads the resources, prompts and completions of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from clawft.errors import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ClawftError,
    JsonRpcFailure,
    LinkError,
    ProtocolFailure,
)
from clawft.link.share.large_messages import process_message
from clawft.model import Call, Completing, Completion, Era, ForeignCompletion
from clawft.provider.base import TellChange
from clawft.provider.server import completion, relay
from clawft.provider.server.attempt import Attempt
from clawft.provider.server.call.refusal import failed, passed_on
from clawft.provider.server.call.server_calls import BROKEN, CONNECT_SECONDS, LOST
from clawft.provider.server.kept_reads import KeptReads
from clawft.provider.server.notices import beside_uri, read_uri
from clawft.provider.server.question.urls import ask_for_urls
from clawft.provider.server.relayed_server import RelayedServer
from clawft.upstream.session.peer import read_wanted
from clawft.upstream.session.session import Session
from clawft.upstream.upstream import Upstream
from clawft.wire.revisions import REVISIONS

NO_VALUES = Completion(())

T = TypeVar("T")


class ServerReads:
    """The reads of one server. Results pass as bytes."""

    def __init__(self, server: RelayedServer) -> None:
        self._server = server
        self._keeps = server.spec.isolation == "shared"
        """Whether results are cached; not for a server that keeps its callers apart."""
        self.kept = KeptReads()
        server.upstream.interest.when_updated(self.kept.forget)

    async def resource(self, call: Call) -> bytes | None:
        """The result; None if the server has no such resource."""
        uri = call.tool.name
        try:
            kept = None if call.more or not self._keeps else self.kept.get(uri, call.caller.principal)
            result = kept or await self._ask_for(call, "resources/read", {"uri": uri})
            return result if call.caller.era is Era.STATELESS else relay.without_hints(result)
        except JsonRpcFailure as refused:
            if refused.error_code in (RESOURCE_NOT_FOUND, INVALID_PARAMS):
                return None
            raise

    async def prompt(self, call: Call) -> bytes:
        return await self._ask_for(call, "prompts/get", {"name": call.tool.name, "arguments": Raw(call.arguments)})

    async def completion(self, asked: Completing) -> Completion | ForeignCompletion:
        upstream = self._server.upstream_of(asked.caller)
        try:
            result = await self._complete(upstream, asked)
            if not result:
                return NO_VALUES
            return await process_message(result, self._server.name, partial(completion.incoming, result))
        except JsonRpcFailure as refused:
            raise passed_on(self._server.name, refused) from None
        except BROKEN as wrong:
            raise self._failed(upstream, wrong) from None
        except msgspec.DecodeError:
            return NO_VALUES

    async def _ask_for(self, call: Call, method: str, members: Mapping[str, Any]) -> bytes:
        """Make a request whose agent may be asked questions on the way."""
        upstream, seconds = self._server.upstream_of(call.caller), self._server.spec.timeout_ms / 1000
        changes = self.kept.changes

        async def ask(session: Session) -> tuple[bytes, bool, bool]:
            attempt = Attempt(call, upstream, session, seconds)
            result, asked = await self._server.questions.request(attempt, method, members)
            return result, asked, session.peer.era is Era.STATELESS

        try:
            result, asked, stateless = await (_once(upstream, ask) if call.talk.carried else _anew(upstream, ask))
        except JsonRpcFailure as refused:
            if refused.error_code == URL_ELICITATION_REQUIRED:
                await ask_for_urls(self._server.name, call, refused)
            raise passed_on(self._server.name, refused) from None
        except BROKEN as wrong:
            raise self._failed(upstream, wrong) from None
        read = partial(relay.answer_of, method, result, stateless=stateless)
        try:
            answer = await process_message(result, self._server.name, read)
        except ProtocolFailure as wrong:
            raise self._failed(upstream, wrong) from None
        may_keep = self._keeps and stateless and method == "resources/read" and not asked and not call.more
        if may_keep and self.kept.changes == changes:
            self.kept.put(call.tool.name, call.caller.principal, answer)
        return answer

    def _failed(self, upstream: Upstream, wrong: ClawftError) -> ClawftError:
        upstream.failed_a_request(wrong)
        return failed(self._server.name, wrong)

    async def _complete(self, upstream: Upstream, asked: Completing) -> bytes:
        """The result; empty if the server does not complete, which is known once it is connected."""
        method, seconds = "completion/complete", upstream.spec.timeout_ms / 1000

        async def ask(session: Session) -> tuple[bytes, bool]:
            if not session.peer.completes:
                return b"", False
            members = completion.outgoing(asked, context=REVISIONS[session.peer.revision].completion_context)
            result = await session.request(method, members, seconds=seconds)
            relay.must_be_readable(result, f"its answer to {method}")
            stateless = session.peer.era is Era.STATELESS
            if stateless and read_wanted(result) is not None:
                raise ProtocolFailure(f"its answer to {method} is a question, which only calls and reads may be")
            return result, stateless

        result, stateless = await _anew(upstream, ask)
        if not stateless:
            return result
        return await process_message(result, self._server.name, partial(relay.plain_result, result))


async def _anew(upstream: Upstream, ask: Callable[[Session], Awaitable[T]]) -> T:
    """Make the request again if it was lost with its connection: reading changes nothing."""
    try:
        return await _once(upstream, ask)
    except LOST:
        return await _once(upstream, ask)


async def _once(upstream: Upstream, ask: Callable[[Session], Awaitable[T]]) -> T:
    return await ask(await upstream.connected(min(upstream.spec.timeout_ms / 1000, CONNECT_SECONDS)))


async def watch(upstream: Upstream, uri: str, changed: TellChange) -> Callable[[], None]:
    """Watch a resource; returns when the server knows, with the function that ends it. Raises ClawftError."""
    await upstream.connected(min(upstream.spec.timeout_ms / 1000, CONNECT_SECONDS))
    interest = upstream.interest

    def ear(params: bytes) -> None:
        changed(read_uri(params) or uri, beside_uri(params))

    release = interest.watch(interest.resources, uri, ear)
    try:
        heard = await interest.settled(upstream.spec.timeout_ms / 1000)
        if uri in interest.refused:
            raise failed(upstream.spec.name, interest.refused[uri])
        if not heard:
            raise failed(upstream.spec.name, LinkError(f"it did not confirm the subscription to {uri}"))
    except BaseException:
        release()
        raise
    return release
