"""The redaction step: removes secrets of known shape, and those we were given, from results; off by default.

It runs inside the result step, so that the rest of a long result, kept for reading on, is redacted as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from clawft.errors import JsonRpcFailure
from clawft.guard.pipeline import hands_on
from clawft.guard.side_duties import ContentsGuard, LateReplyGuard
from clawft.link.share.large_messages import search_message
from clawft.model import Call, Next, Origin, Reply, Tool


class Redaction(ContentsGuard, LateReplyGuard):
    def __init__(self, wanted: Callable[[str], bool]) -> None:
        """`wanted`: whether results of this server are redacted; an empty name stands for our own tools."""
        self._wanted = wanted

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return self._wanted(origin.server) and not hands_on(tool, origin)

    async def __call__(self, call: Call, after: Next) -> Reply:
        try:
            reply = await after(call)
        except JsonRpcFailure as refused:
            raise _without_secrets_in(refused) from None
        result = await _without_secrets(reply.result, call.origin)
        return reply if result is reply.result else msgspec.structs.replace(reply, result=result)

    def finish_late(self, call: Call, reply: Reply) -> Reply:
        if not self._wanted(call.origin.server):
            return reply
        result = _looked_through(reply.result)
        return reply if result is reply.result else msgspec.structs.replace(reply, result=result)

    async def contents(self, what: str, origin: Origin, result: bytes) -> bytes:
        return await _without_secrets(result, origin) if self._wanted(origin.server) else result


def _without_secrets_in(error: JsonRpcFailure) -> JsonRpcFailure:
    cleaned = _looked_through(msgspec.json.encode((error.message, error.error_data)))
    message, data = msgspec.json.decode(cleaned)
    return JsonRpcFailure(error.error_code, message, data)


async def _without_secrets(result: bytes, origin: Origin) -> bytes:
    return await search_message(result, origin.server, partial(_looked_through, result))


def _looked_through(result: bytes) -> bytes:
    from clawft.store.concealed_secrets import without_resolved  # most configurations want none of this
    from clawft.wire.secrets import redact

    return redact(without_resolved(result))
