"""Offers the tool `weft__missing_servers` while servers are missing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clawft.app.own_tools import OwnTools
from clawft.upstream.state import ServerState

if TYPE_CHECKING:  # loaded with the tool
    from clawft.builtin.missing_servers import MissingServer
    from clawft.upstream.pool import Pool
    from clawft.upstream.upstream import Upstream

COMMANDS = {ServerState.FAILED: "weft servers reconnect", ServerState.NEEDS_AUTH: "weft auth login"}
"""State of a server without tools → the command that helps, which takes its name."""


class MissingServers:
    def __init__(self, pool: Pool, own: OwnTools) -> None:
        self._pool = pool
        self._own = own
        self._offered = False
        pool.news.state_changed.listen(self._look)
        pool.news.removed.listen(self._look)

    def _look(self, changed: Upstream) -> None:
        if not self._offered and changed.state not in COMMANDS:
            return  # a healthy server changes nothing where none was missing, and there may be hundreds
        wanted = any(each.state in COMMANDS for each in self._pool)
        if wanted is not self._offered:
            self._offered = wanted
            self._offer(wanted)

    def _offer(self, wanted: bool) -> None:
        from clawft.builtin.missing_servers import NAME, missing_servers_tool  # most gateways miss none

        self._own.offer(NAME, partial(missing_servers_tool, self._missing) if wanted else None)

    def _missing(self) -> list[MissingServer]:
        return [_missing(upstream) for upstream in self._pool if upstream.state in COMMANDS]


def _missing(upstream: Upstream) -> MissingServer:
    from clawft.builtin.missing_servers import WHY_CHARS, MissingServer  # loaded with the tool

    name, state = upstream.spec.name, upstream.state
    return MissingServer(name, state.value, upstream.error[:WHY_CHARS], f"{COMMANDS[state]} {name}")
