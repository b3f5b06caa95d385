"""The rows of `weft servers status`: for servers that run or should, are off, wait, or cannot be read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clawft.catalog.surface import BYTES_PER_TOKEN
from clawft.config.places import offers_folder
from clawft.errors import NotConnected, ServerNotFound
from clawft.model import Origin
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:
    from clawft.app.application import App
    from clawft.config.layers import FoundServer
    from clawft.upstream.status import ServerStatus

JUDGED_AT_ONCE = 50
"""Definitions compared with approvals before other tasks get a turn: a millisecond or two of work."""


class ServerRow(Struct, frozen=True):
    """One server in `weft servers status`. One that does not run has only the first fields."""

    name: str
    state: str
    era: str | None = None
    revision: str | None = None
    transport: str | None = None
    url: str | None = None
    """With secrets masked."""
    tools: int | None = None
    tokens: int | None = None
    restarts: int | None = None
    pid: int | None = None
    memory: int | None = None
    """Resident bytes, with all processes it has started."""
    error: str = ""
    login: str | None = None
    server: str | None = None
    origin: str = ""
    scope: str | None = None
    """The layer of the configuration that names it."""
    trust: str | None = None
    sandbox: str | None = None
    left_out: str | None = None
    withheld: int | None = None
    faults: Mapping[str, int] | None = None
    """Kinds of misbehaviour, and how often each occurred."""
    lost: str | None = None
    """Why the connection was lost the last time, though it may be back."""
    next: str = ""
    stderr: str | None = None
    weft: int | None = None
    """The process id of the weft that runs it; None if it was started for a look."""


async def server_rows(app: App, here: Path) -> list[ServerRow]:
    """All rows. `here`: the folder where the person would type the commands that a row proposes."""
    if not app.files.name_any:
        return []
    running = [await _with_withheld(app, row) for row in list(_running_rows(app))]
    return await asyncio.to_thread(lambda: [*_with_memory(running), *_idle_rows(app, here)])


def _running_rows(app: App) -> Iterator[ServerRow]:
    for status in app.pool.status():
        if status.name in app.servers.found and status.status != "disabled":
            yield _running(app, status)


def _idle_rows(app: App, here: Path) -> Iterator[ServerRow]:
    """Rows of servers that do not run. Reads programs to compare them with approvals, so use a thread."""
    servers = app.servers
    for name, found in servers.found.items():
        if not found.spec.enabled:
            yield ServerRow(name, "disabled", origin=str(found.origin), scope=found.scope.value)
    for name, found in servers.waiting.items():
        origin, scope = str(found.origin), found.scope.value
        yield ServerRow(name, "waiting", error=_waits(app, found), origin=origin, scope=scope, next=_grant(found, here))
    for name, refused in servers.refused.items():
        yield ServerRow(name, "refused", error=str(refused.error), origin=refused.file)


def _waits(app: App, found: FoundServer) -> str:
    from clawft.config.servers import launch_line  # loaded with the servers

    changed = app.files.has_changed(found)
    why = f"is not what you approved (weft approvals diff {found.spec.name}), and " if changed else ""
    return f"{why}waits for approval to start {launch_line(found.spec)}"


def _grant(found: FoundServer, here: Path) -> str:
    from clawft.config.launch_approval import grant_command  # loaded with the servers

    return grant_command(found.spec.name, found, here)


def _running(app: App, status: ServerStatus) -> ServerRow:
    name, info = status.name, status.server_info
    found = app.servers.found[name]
    login = _login(app, status)
    why, step = _reason_and_step(status)
    return ServerRow(
        name,
        status.status,
        era=status.era,
        revision=status.revision,
        transport=status.transport,
        url=mask_url(found.spec.url) or None,
        tools=len(status.tools),
        tokens=sum(len(tool.wire) for tool in app.pool.find(name).tools) // BYTES_PER_TOKEN,
        restarts=status.restarts,
        pid=status.pid,
        error=_error(status, why, login),
        login=login,
        server=" ".join(str(info[key]) for key in ("name", "version") if key in info),
        origin=str(found.origin),
        scope=found.scope.value,
        trust=found.spec.trust,
        sandbox=status.sandbox,
        left_out=_left_out(status),
        faults=status.faults,
        lost=status.lost,
        stderr=status.stderr,
        next=step,
    )


async def _with_withheld(app: App, row: ServerRow) -> ServerRow:
    """The row with the number of withheld definitions; 0 for a server that has just gone."""
    try:
        count = await _count_withheld(app, row)
    except (NotConnected, ServerNotFound):
        count = 0
    return replace(row, withheld=count, next=f"weft approvals diff {row.name}" if count else row.next)


async def _count_withheld(app: App, row: ServerRow) -> int:
    origin = Origin(row.name, row.name, trusted=row.trust == "trusted")
    tools = (*app.upstreams.offered(row.name).tools, *app.upstreams.beside(row.name))
    count = 0
    for judged, tool in enumerate(tools, start=1):
        count += bool(app.approving.withheld(tool, origin, app.caller))
        if judged % JUDGED_AT_ONCE == 0:
            await asyncio.sleep(0)
    return count


def _left_out(status: ServerStatus) -> str:
    """The parts of the server's offer that we leave out, with the reasons."""
    reasons = list(status.left_out)
    if status.cut:
        parts = " and ".join(status.cut)
        reasons.append(f"some of its {parts}: it lists more than there is room for next to other servers")
    return "; ".join(reasons)


def _reason_and_step(status: ServerStatus) -> tuple[str, str]:
    """Why it is not connected, and the command that helps: the reason of one that wants a login ends with it."""
    if status.status == "failed":
        return status.error, f"weft servers reconnect {status.name}"
    login = f"weft auth login {status.name}"
    why, found, scopes = status.error.removesuffix(")").partition(f" ({login}")
    return (why, login + scopes) if found and status.status == "needs-auth" else (status.error, "")


def _error(status: ServerStatus, why: str, login: str) -> str:
    """Why it is not connected, or what it is being waited for."""
    if login:
        return f"{why}; log in here: {login}"
    if status.step and not status.error:
        from clawft.upstream.reasons import not_ready  # loaded with the servers

        return not_ready(round(status.seconds), status.step)
    return f"{why}; it is being tried again" if why and status.status == "pending" else why


def _login(app: App, status: ServerStatus) -> str:
    """The address to log in at, if a running weft waits for that."""
    if status.status != "needs-auth":
        return ""
    from clawft.provider.server.login_offers import offered  # only where a login is wanted

    return offered(offers_folder(app.settings.home), status.name)


def _with_memory(rows: Sequence[ServerRow]) -> Iterator[ServerRow]:
    """Rows with the resident bytes of the session each child leads: `npx` itself is small, what it starts is not.

    All processes are read once, whatever the number of servers; use a thread.
    """
    used = dict.fromkeys((row.pid for row in rows if row.pid), 0)
    for pid in _processes() if used else ():
        leader = _session(pid)
        if leader in used:
            used[leader] += _resident(pid)
    yield from (replace(row, memory=used.get(row.pid or 0) or None) for row in rows)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _session(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0  # gone in the meantime
    return int(fields[3])


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
