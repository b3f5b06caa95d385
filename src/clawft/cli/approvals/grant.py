"""`weft approvals grant`: the start of a server, or tools of it, as they are now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from clawft.cli.approvals.book import book
from clawft.cli.approvals.confirmation import tell_all
from clawft.cli.approvals.named_tools import is_named, named_by
from clawft.cli.approvals.waiting import unknown
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import one_line
from clawft.cli.setup.sources import sources
from clawft.config.launch_approval import launch_approval
from clawft.config.layers import FoundServer, Sources
from clawft.config.servers import discover
from clawft.error_words import nearest
from clawft.errors import ClawftError, NotConnected, ToolNotFound
from clawft.guard.approval.offers import OfferedTools
from clawft.policy.approval import Approval, approval_of
from clawft.policy.globs import MAX_HOSTILE_GLOB, is_glob
from clawft.policy.pin import shown_tool

DAY = 24 * 60 * 60.0
MAX_DAYS = 36_500
NAMED = 12
"""Tools that an error names."""


def run(options: Options) -> int:
    server, globs = named_by(options)
    where, kept = sources(options), book()
    given: list[Approval] = []
    launched = _to_launch(server, options, again=not globs)
    if launched is not None:
        given.append(_launch(launched, where, options))
        kept.add(*given)
    elif not globs:
        raise unknown(server, options) or _which_tools(server)
    if globs:
        from clawft.cli.approvals.offered import offered  # only where servers are started, which takes an app

        tools = _tools(server, offered([server], options).get(server), globs, where, options)
        kept.add(*tools)
        given += tools
    return tell_all("approved", given, options)


def _to_launch(server: str, options: Options, *, again: bool) -> FoundServer | None:
    """The server of this workspace that waits. `again`: one that was approved, too, as a running weft may not know it.

    It looks at scripts when it starts them, and has one wait that was changed; nobody tells it when that is undone.
    """
    known = discover(sources(options))
    found = known.found.get(server)
    approved = found if again and found is not None and found.must_wait else None
    return known.waiting.get(server) or approved


def _which_tools(server: str) -> ClawftError:
    return WrongUsage(
        f"approvals grant: {server} needs no approval to start; which of its tools do you approve?",
        hint=f"weft approvals grant {server} '*'",
    )


def _launch(found: FoundServer, where: Sources, options: Options) -> Approval:
    now = time.time()
    return launch_approval(found, where, now, _end(options, now), options.only_agent)


def _tools(
    server: str, offers: OfferedTools | None, globs: Sequence[str], where: Sources, options: Options
) -> list[Approval]:
    if offers is None:
        raise unknown(server, options) or _says_nothing(server)
    now = time.time()
    scope: dict[str, Any] = {
        "expires": _end(options, now),
        "agent": options.only_agent,
        "workspace": str(where.workspace) if options.only_workspace or offers.local else "*",
    }
    chosen = [tool for tool in offers.tools if is_named(server, tool.name, globs)]
    found = [
        approval_of(server, tool.name, shown_tool(tool.wire, offers.instructions), now, **scope) for tool in chosen
    ]
    later = [Approval(server, glob, granted=now, **scope) for glob in globs if options.new and is_glob(glob)]
    if any(len(each.tool) > MAX_HOSTILE_GLOB for each in later):
        raise WrongUsage(f"approvals grant: a glob has up to {MAX_HOSTILE_GLOB} letters", hint="name the tools")
    if not found and not later:
        raise _no_tool(server, globs, [tool.name for tool in offers.tools])
    return [*found, *later]


def _says_nothing(server: str) -> ClawftError:
    return NotConnected(f"{server} does not say what it has", hint=f"weft servers test {server}")


def _no_tool(server: str, globs: Sequence[str], known: Sequence[str]) -> ToolNotFound:
    near = nearest(globs[0], known)
    some = ", ".join(map(one_line, known[:NAMED])) + (f" and {len(known) - NAMED} more" if len(known) > NAMED else "")
    return ToolNotFound(
        f"{server} has no tool {' or '.join(globs)}",
        hint=f"did you mean {one_line(near)}?" if near else f"it has: {some or 'none'}",
    )


def _end(options: Options, now: float) -> float | None:
    if not 0 <= options.days <= MAX_DAYS:  # nan is no number of days either
        raise WrongUsage(
            f"approvals grant: --days is a number up to {MAX_DAYS}",
            hint="leave it out for an approval that does not expire",
        )
    return now + options.days * DAY if options.days else None
