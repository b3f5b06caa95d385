"""A name of a server that nobody knows: the same words wherever somebody types one."""

from __future__ import annotations

from collections.abc import Iterable

from clawft.errors import ServerNotFound, nearest


def no_server(name: str, known: Iterable[str]) -> ServerNotFound:
    near = nearest(name, known)
    return ServerNotFound(f"there is no server {name!r}", hint=f"did you mean {near}?" if near else "weft servers list")
