"""No server, or none of a name that somebody types: the same words wherever that is."""

from __future__ import annotations

from collections.abc import Iterable

from clawft.error_words import nearest
from clawft.errors import ServerNotFound

NO_SERVERS = "no servers; `weft servers add NAME -- COMMAND…` adds one, `weft servers import` imports those you have"


def no_server(name: str, known: Iterable[str]) -> ServerNotFound:
    near = nearest(name, known)
    return ServerNotFound(f"there is no server {name!r}", hint=f"did you mean {near}?" if near else "weft servers list")
