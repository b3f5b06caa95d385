"""How a server is, as it is told to people. Loaded when somebody asks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from clawft.store.concealed_secrets import conceal
from clawft.upstream.offer.server_offer import NOTHING
from clawft.upstream.reasons import words
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import ServerState
from clawft.upstream.upstream import Upstream


class ServerStatus(Struct, frozen=True):
    """One server as `weft servers status` shows it."""

    name: str
    status: str
    transport: Literal["stdio", "http"]
    error: str = ""
    era: str = ""
    revision: str = ""
    server_info: Mapping[str, Any] = {}
    tools: tuple[str, ...] = ()
    restarts: int = 0
    pid: int | None = None
    trusted: bool = False
    seconds: float = 0.0
    stderr: str = ""
    sandbox: str = ""
    """The sandbox of its process, and the gaps in it."""
    cut: tuple[str, ...] = ()
    """Lists of its that there is no room for to the end."""
    faults: Mapping[str, int] = {}
    """The faults of the server, each with its count."""
    lost: str = ""
    """Why it was lost the last time, though it may be back."""
    left_out: tuple[str, ...] = ()
    """The other parts of its lists that are not offered, with the reasons."""
    step: str = ""
    """The step we wait for, while it is being opened."""
    scope: str = ""
    """The layer of the configuration it came from: user, workspace, agent, command line."""
    rests: bool = False
    """Whether it is opened when it is called: there are more servers than places."""


def status_of(spec: UpstreamSpec, upstream: Upstream | None) -> ServerStatus:
    """Without an upstream it is switched off."""
    trusted = spec.trust == "trusted"
    if upstream is None:
        return ServerStatus(spec.name, ServerState.DISABLED.value, spec.transport, trusted=trusted, scope=spec.scope)
    condition, session, offer = upstream.condition, upstream.session, upstream.offer or NOTHING
    child = session.link.child if session is not None else None
    return ServerStatus(
        name=spec.name,
        status=condition.state.value,
        transport=spec.transport,
        error=condition.error or (conceal(session.link.refused_notice) if session else ""),
        era=session.peer.era.value if session else "",
        revision=session.peer.revision if session else "",
        server_info={key: conceal(value) for key, value in session.peer.server_info.items()} if session else {},
        tools=tuple(tool.name for tool in upstream.tools),
        restarts=upstream.backoff.total,
        pid=child.pid if child is not None else None,
        trusted=trusted,
        seconds=round(time.monotonic() - condition.since, 1),
        stderr=conceal(child.stderr.text()) if child is not None else "",
        sandbox=child.sandbox if child is not None else "",
        cut=offer.cut,
        faults=upstream.faults.in_words(),
        lost=condition.last_loss,
        left_out=tuple(map(words, offer.left_out)),
        step=condition.step,
        scope=spec.scope,
        rests=upstream.is_resting,
    )
