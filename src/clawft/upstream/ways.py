"""How a server is reached: its spec into links, best first."""

from __future__ import annotations

from collections.abc import Callable

from clawft.link.base import Link
from clawft.link.http_out import HttpLink
from clawft.link.process import Launch
from clawft.link.stream import StreamLink
from clawft.store.secrets import resolve_all
from clawft.upstream.spec import UpstreamSpec


def ways_to(spec: UpstreamSpec) -> list[Callable[[], Link]]:
    """One row per transport. Secrets are resolved when the link is made, and live no longer than it."""
    if spec.transport == "stdio":
        return [lambda: StreamLink(Launch(spec.command, spec.args, resolve_all(spec.env), spec.cwd))]
    return [lambda: HttpLink(spec.url, resolve_all(spec.headers))]
