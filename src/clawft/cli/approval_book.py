"""What the commands of `weft approvals` share: the book, a line of it, and what servers say now."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clawft.cli.house import with_app
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, width
from clawft.config.places import home_folder
from clawft.errors import ClawftError

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.guard.approval.book import Approvals
    from clawft.guard.approval.offers import OfferedTools
    from clawft.model import Tool
    from clawft.policy.approval import Approval

MOMENTS, MINUTE, DAY = ("GRANTED", "EXPIRES"), len("2026-07-28T12:00"), len("2026-07-28")
LAUNCH = "(launch)"
"""What stands for a tool where the approval is about starting the server."""
NOTHING_APPROVED = "nothing is approved yet; tools of untrusted servers ask when they are first called"


class NothingApproved(ClawftError):
    blame = "the caller"


def nothing_approved(server: str) -> NothingApproved:
    return NothingApproved(f"nothing of {server} is approved", hint="weft approvals list")


def book() -> Approvals:
    """Raises InvalidConfig where a running weft would go on without approvals."""
    from clawft.guard.approval.book import Approvals, read  # only where approvals are looked at

    found = Approvals(home_folder())
    read(found.path)
    found.look()
    return found


def described(each: Approval, now: float, changed: Container[tuple[str, str]] = ()) -> dict[str, Any]:
    """`changed`: servers, each with its workspace, that would start something else than was approved."""
    from clawft.policy.approval import ANYONE  # loaded with the book

    scopes = (("agent", each.agent), ("workspace", each.workspace), ("caller", each.principal))
    narrowed = [f"{what} {who}" for what, who in scopes if who != ANYONE]
    return {
        "server": each.server,
        "tool": each.tool or LAUNCH,
        "state": _state(each, now, changed),
        "granted": _moment(each.granted),
        "expires": _moment(each.expires) if each.expires is not None else "",
        "holds_for": ", ".join(narrowed) or "everyone",
        "agent": each.agent,
        "workspace": each.workspace,
        "caller": each.principal,
        "pin": each.pin,
    }


def _state(each: Approval, now: float, changed: Container[tuple[str, str]]) -> str:
    from clawft.policy.approval import is_live  # loaded with the book

    if not is_live(each, now):
        return "expired"
    if each.is_glob:
        return "glob: new tools too"
    return "changed" if not each.tool and (each.server, each.workspace) in changed else "approved"


def is_named(server: str, tool: str, words: Sequence[str]) -> bool:
    """Whether it is meant by one of these: its own name, the one agents see, or a glob."""
    from clawft.catalog.names import fit  # loaded with the book
    from clawft.policy.approval import covers

    heads = (f"{server}__", f"mcp__{server}__")
    seen = [fit(head + tool) for head in heads]
    return any(
        word == tool or word in seen or covers(word, tool) or any(head + word in seen for head in heads)
        for word in words
    )


def _moment(when: float) -> str:
    """A date, as far as the calendar of this machine goes."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(when))
    except (OverflowError, OSError, ValueError):
        return f"second {when:.3g}"


def cells_of(row: Mapping[str, Any], head: Sequence[str]) -> list[str]:
    """What stands in a table below this head. At a terminal a moment is a day, so that names of tools have room."""
    texts = {key: str(row[key.lower().replace(" ", "_")]) for key in head}
    shown = DAY if width() else MINUTE
    return [one_line(text[:shown].replace("T", " ") if key in MOMENTS else text) for key, text in texts.items()]


def offered(servers: Sequence[str], options: Options) -> dict[str, OfferedTools]:
    """What these servers say now: they are started for it. Of one that does not run here, what it said last."""
    from clawft.cli.house.start_servers import SETTLE_SECONDS, start_servers  # only where servers are started

    async def work(app: App) -> dict[str, OfferedTools]:
        known = [name for name in servers if app.files.name_any and name in app.servers.wanted]
        if known:
            await start_servers(app, only=known)
            await app.pool.settled(SETTLE_SECONDS)
        told = {name: _whole(app.upstreams.offered(name), app.upstreams.beside(name)) for name in known}
        return {name: found for name, found in told.items() if found.tools}

    now = with_app(options, work, servers=False)
    return {name: found for name in servers if (found := now.get(name) or _last_said(name)) is not None}


def _whole(found: OfferedTools, beside: Sequence[Tool]) -> OfferedTools:
    import msgspec  # loaded by now

    return msgspec.structs.replace(found, tools=(*found.tools, *beside))


def _last_said(server: str) -> OfferedTools | None:
    from clawft.guard.approval.offers import OfferedTools  # loaded by now
    from clawft.policy.beside_tools import beside_tools
    from clawft.upstream.offer.cache import SchemaCache, folder
    from clawft.upstream.offer.list_reading import read_tools

    known = SchemaCache(folder(home_folder())).last(server)
    if known is None:
        return None
    beside = beside_tools(list(map(bytes, known.prompts)), resources=bool(known.resources or known.templates))
    return OfferedTools((*read_tools(known.tools), *beside), known.instructions)
