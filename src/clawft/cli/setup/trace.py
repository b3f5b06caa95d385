"""`--mcp-debug`: what each server does, line by line on stderr, with its name in front."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from clawft.cli.screen import paint, safe, tell
from clawft.config.servers import launch_line
from clawft.store.concealed_secrets import conceal
from clawft.upstream.state import ServerState

if TYPE_CHECKING:
    from clawft.upstream.offer.lists import Parts
    from clawft.upstream.pool import Pool
    from clawft.upstream.upstream import Upstream

MAX_LINE = 2_000


class Trace:
    """Listens to a pool from its making on."""

    def __init__(self, pool: Pool) -> None:
        self._stderr: dict[str, bytes] = {}
        pool.news.state_changed.listen(self._state_changed)
        pool.news.offer_changed.listen(self._offer_changed)

    def _state_changed(self, upstream: Upstream) -> None:
        name = upstream.spec.name
        match upstream.state:
            case ServerState.PENDING if not upstream.error:
                self._say(name, f"starting {launch_line(upstream.spec)}")
            case ServerState.PENDING:
                self._say(name, f"lost: {upstream.error}; restart {upstream.backoff.total}")
            case ServerState.CONNECTED:
                self._say(name, f"connected: {_who(upstream)}")
            case ServerState.DISABLED:
                self._say(name, "stopped")
            case state:
                self._say(name, f"{state.value}{f': {upstream.error}' if upstream.error else ''}")

    def _offer_changed(self, upstream: Upstream, parts: Parts) -> None:
        offer = upstream.offer
        prompts, resources = (len(offer.prompts), len(offer.resources)) if offer else (0, 0)
        found = f"{len(upstream.tools)} tools, {prompts} prompts, {resources} resources"
        self._say(upstream.spec.name, f"offers {found}")

    def listener(self, name: str) -> Callable[[bytes], None]:
        """The listener for this server's stderr."""
        return lambda data: self._heard(name, data)

    def _heard(self, name: str, data: bytes) -> None:
        """Log the whole lines that a child wrote to stderr."""
        *lines, rest = (self._stderr.get(name, b"") + data).split(b"\n")
        self._stderr[name] = rest[-MAX_LINE:]
        for line in lines:
            self._say(name, f"stderr: {line[:MAX_LINE].decode('utf-8', 'replace')}")

    def _say(self, name: str, what: str) -> None:
        tell(f"{paint(f'[{name}]', 'cyan', sys.stderr)} {safe(conceal(what))}")


def _who(upstream: Upstream) -> str:
    session = upstream.session
    if session is None:
        return "again"
    info = session.peer.server_info
    named = " ".join(str(info[key]) for key in ("name", "version") if key in info)
    child = session.link.child
    sandbox = f"sandbox {child.sandbox}" if child is not None and child.sandbox else ""
    known = (f"{session.peer.era.value} era", session.peer.revision, named, f"{len(upstream.tools)} tools", sandbox)
    return ", ".join(filter(None, known))
