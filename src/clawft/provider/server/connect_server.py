"""Connects a Python program to one server, to call its tools or offer them by a gateway."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from clawft.errors import InvalidConfig, NotConnected
from clawft.provider.base import Provider
from clawft.provider.server.server_provider import ServerProvider
from clawft.provider.server.server_providers import ServerProviders
from clawft.store.home import home
from clawft.upstream.cells import Cells
from clawft.upstream.links import links_to
from clawft.upstream.offer.cache import folder as cache_folder
from clawft.upstream.pool import CONNECT_SECONDS, Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.spec_rules import as_written


class _Nobody:
    """Registers no provider: the program itself decides who offers it."""

    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        pass

    def unregister(self, namespace: str) -> None:
        pass

    def arrange(self, namespaces: Sequence[str]) -> None:
        pass


def _resolved(workspace: Path | str) -> Path:
    return Path(workspace).resolve()


def _pool(workspace: Path) -> Pool:
    ways = partial(links_to, cells=Cells(home(), workspace))
    return Pool(cache_folder(home()), ways, [{"uri": workspace.as_uri(), "name": workspace.name}])


class Connecting(Coroutine[Any, Any, ServerProvider]):
    """The pending connection: await it for the provider, or enter it by `async with`, which closes the server again."""

    def __init__(self, connecting: Coroutine[Any, Any, ServerProvider]) -> None:
        self._connecting = connecting
        self._server: ServerProvider | None = None

    def __await__(self) -> Generator[Any, Any, ServerProvider]:
        return self._connecting.__await__()

    async def __aenter__(self) -> ServerProvider:
        self._server = await self._connecting
        return self._server

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.close()

    # A coroutine has these, and `asyncio.create_task` takes nothing less.

    def send(self, value: Any, /) -> Any:
        return self._connecting.send(value)

    def throw(self, *raised: Any) -> Any:
        return self._connecting.throw(*raised)

    def close(self) -> None:
        self._connecting.close()


def connect_server(spec: UpstreamSpec, *, workspace: Path | str = ".", seconds: float = CONNECT_SECONDS) -> Connecting:
    """Start the server, or reach it over HTTP: `server = await connect_server(…)`, until its `close`, or
    `async with connect_server(…) as server`.

    Raises NotConnected with the step that failed: the start, the handshake, the list of tools.
    """
    if not isinstance(spec, UpstreamSpec):  # pyright: ignore[reportUnnecessaryIsInstance] - not all check types
        raise TypeError(
            f"{spec!r} is not an UpstreamSpec: UpstreamSpec('name', command=…), or UpstreamSpec('name', url=…)"
        )
    return Connecting(_connect(spec, _resolved(workspace), seconds))


async def _connect(spec: UpstreamSpec, folder: Path, seconds: float) -> ServerProvider:
    try:
        read = as_written(msgspec.structs.replace(spec, cwd=str(folder / spec.cwd)))
    except InvalidConfig as wrong:
        raise NotConnected(f"{spec.name}: {wrong.message}", hint=wrong.hint) from None
    pool = _pool(folder)
    providers = ServerProviders(pool, _Nobody())
    done = await pool.connect(read, seconds=seconds)
    provider = providers.find(spec.name)
    if provider is None or done.errors:
        await pool.close()
        why = done.errors.get(spec.name, "it is disabled, or called on behalf of people")
        raise NotConnected(f"{spec.name}: {why}")
    provider.close = pool.close
    return provider
