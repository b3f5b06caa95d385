"""How a server is reached: its spec into links, best first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clawft.link.base import Link
from clawft.link.http_out import HttpLink
from clawft.link.process import Launch, Said
from clawft.link.sse_out import SseLink
from clawft.link.stream import StreamLink
from clawft.store.secrets import resolve_all
from clawft.upstream.cells import Cells
from clawft.upstream.spec import UpstreamSpec


def ways_to(
    spec: UpstreamSpec, said: Callable[[str], Said] | None = None, cells: Cells | None = None
) -> list[Callable[[], Link]]:
    """One row per transport. Secrets are resolved when the link is made, and live no longer than it.

    `said` gives, for a server's name, who hears what it writes to stderr; without `cells` a child runs free.
    """
    if spec.transport == "stdio":
        return [lambda: _child(spec, said(spec.name) if said else None, cells)]
    return [
        lambda: HttpLink(spec.url, resolve_all(spec.headers)),
        lambda: SseLink(spec.url, resolve_all(spec.headers)),
    ]


def _child(spec: UpstreamSpec, said: Said | None, cells: Cells | None) -> StreamLink:
    confine = partial(cells.cell, spec) if cells is not None else None
    return StreamLink(Launch(spec.command, spec.args, resolve_all(spec.env), spec.cwd, confine), said=said)
