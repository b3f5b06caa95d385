"""How the way down of a tool ends: what its provider says, or how it fails, becomes a reply."""

from __future__ import annotations

import logging
from functools import partial

from clawft.errors import ClawftError, MissingCapability, ToolError
from clawft.link.share.workshop import in_turn, is_light
from clawft.model import Call, Caller, Era, Finish, Next, Reply, Tool
from clawft.wire.meta import NEEDED

log = logging.getLogger("clawft.gateway")


def as_reply(end: Next, finish: Finish) -> Next:
    """What a tool says when it fails is a result like any other, and passes the guards like one."""

    async def run(call: Call) -> Reply:
        try:
            reply = await end(call)
        except ToolError as failed:
            reply = Reply.error(str(failed))
        except (ClawftError, RecursionError):
            raise
        except (Exception, SystemExit) as broken:  # a tool that exits ends its call, and not us
            log.exception("%s broke", call.name)
            reply = Reply.error(f"{call.name}: {type(broken).__name__}: {broken}")
        if is_light(reply.result):
            return finish(call, reply)
        return await in_turn(call.origin.server, partial(finish, call, reply))

    return run


def able(end: Next) -> Next:
    """For tools that need a client with certain capabilities: asked last, behind all guards."""

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


def told(failed: ToolError | MissingCapability, caller: Caller) -> Reply:
    """A tool that fails gives a result like any other; what a client lacks has an error of its own in one era."""
    if isinstance(failed, MissingCapability) and caller.era is Era.STATELESS:
        raise failed
    return Reply.error(str(failed))
