"""The last step of a call: what the provider returns or raises becomes a reply."""

from __future__ import annotations

import logging
from functools import partial

import msgspec

from clawft.catalog.holdings import UriSpelling
from clawft.errors import ClawftError, MissingCapability, ToolError
from clawft.gateway.offer.shared_uris import SharedUris
from clawft.link.share.large_messages import in_worker, is_cheap
from clawft.model import Call, Caller, Era, Finish, Kind, Next, Reply, Tool
from clawft.wire.meta import NEEDED

MAX_SPELLED_HERE = 32 * 1024
"""Bytes of a result up to which its URIs are spelled at once: each may have to be looked for at many servers."""

log = logging.getLogger("clawft.gateway")


def as_reply(end: Next, finish: Finish, shared: SharedUris) -> Next:
    """Call the provider. An error of the tool becomes a result, which passes the guards like any other."""

    async def run(call: Call) -> Reply:
        try:
            reply = await end(call)
        except ToolError as failed:
            reply = Reply.error(str(failed))
        except (ClawftError, RecursionError):
            raise
        except BaseException as broken:  # a tool that exits ends its call, and not us
            from clawft.provider.failure import failure_text, is_failure  # most tools never do

            if not is_failure(broken):
                raise
            log.exception("%s broke", call.name)
            reply = Reply.error(f"{call.name}: {failure_text(broken)}")
        if shared.any:
            reply = await _spelled(call, reply, shared.spelled(call.origin, call.caller))
        if is_cheap(reply.result):
            return finish(call, reply)
        return await in_worker(call.origin.server, partial(finish, call, reply))

    return run


def may_name(reply: Reply) -> bool:
    """Whether the reply may name a resource; most are one text, and do not."""
    from clawft.wire.blocks import is_one_text  # most houses never get here

    return reply.kind is Kind.COMPLETE and not is_one_text(reply.result)


async def _spelled(call: Call, reply: Reply, spelled: UriSpelling | None) -> Reply:
    """The reply with the URIs of its resources spelled so that this caller can read them."""
    if spelled is None or not may_name(reply):
        return reply
    from clawft.wire import resource_links  # only where URIs are shared

    work = partial(resource_links.in_result, reply.result, spelled)
    result = work() if len(reply.result) <= MAX_SPELLED_HERE else await in_worker(call.origin.server, work)
    return reply if result is reply.result else msgspec.structs.replace(reply, result=result)


def able(end: Next) -> Next:
    """Check what the tool needs of its client, after all guards."""

    async def run(call: Call) -> Reply:
        _require(call.tool, call.caller)
        return await end(call)

    return run


def _require(tool: Tool, caller: Caller) -> None:
    """Raises MissingCapability if the caller lacks what this tool cannot do without."""
    can = caller.capabilities
    lacking: dict[str, dict[str, object]] = {
        wire: {} for wire, field in NEEDED.items() if getattr(tool.needs, field) and not getattr(can, field)
    }
    if lacking:
        raise MissingCapability(f"{tool.name} needs a client that can do: {', '.join(lacking)}", required=lacking)


def error_reply(failed: ToolError | MissingCapability, caller: Caller) -> Reply:
    """The error as a result; a missing capability is a JSON-RPC error in the stateless era."""
    if isinstance(failed, MissingCapability) and caller.era is Era.STATELESS:
        raise failed
    return Reply.error(str(failed))
