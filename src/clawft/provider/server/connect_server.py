"""One server for a Python program: connected, its tools read, ready to be called or to be offered by a gateway."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from clawft.errors import NotConnected
from clawft.provider.base import Provider
from clawft.provider.server.upstream import UpstreamProvider
from clawft.provider.server.upstreams import UpstreamProviders
from clawft.store.home import home
from clawft.upstream.cells import Cells
from clawft.upstream.offer.cache import folder as cache_folder
from clawft.upstream.pool import CONNECT_SECONDS, Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.ways import ways_to


class _Nobody:
    """Who offers it is up to the program."""

    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        pass

    def unregister(self, namespace: str) -> None:
        pass

    def arrange(self, namespaces: Sequence[str]) -> None:
        pass


def _resolved(workspace: Path | str) -> Path:
    return Path(workspace).resolve()


def _pool(workspace: Path) -> Pool:
    ways = partial(ways_to, cells=Cells(home(), workspace))
    return Pool(cache_folder(home()), ways, [{"uri": workspace.as_uri(), "name": workspace.name}])


async def connect_server(
    spec: UpstreamSpec, *, workspace: Path | str = ".", seconds: float = CONNECT_SECONDS
) -> UpstreamProvider:
    """Start the server, or reach it over HTTP. `close` of what this returns ends it again.

    Raises NotConnected with the step that failed: the start, the handshake, the list of tools.
    """
    folder = _resolved(workspace)
    pool = _pool(folder)
    providers = UpstreamProviders(pool, _Nobody())
    done = await pool.connect(msgspec.structs.replace(spec, cwd=str(folder / spec.cwd)), seconds=seconds)
    provider = providers.find(spec.name)
    if provider is None or done.errors:
        await pool.close()
        why = done.errors.get(spec.name, f"not ready after {seconds:g} s")
        raise NotConnected(f"{spec.name}: {why}")
    provider.close = pool.close
    return provider
