"""Servers come and go; their providers with them. Between the pool, which keeps servers, and whoever offers tools."""

from __future__ import annotations

import logging
from typing import Protocol

from clawft.errors import InvalidConfig
from clawft.provider.base import Provider
from clawft.provider.upstream import UpstreamProvider
from clawft.upstream.lists import Parts
from clawft.upstream.pool import Pool
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc import Notification

log = logging.getLogger("clawft.upstream")


class Registry(Protocol):
    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None: ...

    def unregister(self, namespace: str) -> None: ...


class UpstreamProviders:
    """Keeps one registered provider for each server of the pool."""

    def __init__(self, pool: Pool, registry: Registry) -> None:
        self._pool = pool
        self._registry = registry
        self._providers: dict[str, UpstreamProvider] = {}
        pool.news.added = self._added
        pool.news.removed = self._removed
        pool.news.offer_changed = self._offer_changed
        pool.news.noticed = self._noticed

    def find(self, server: str) -> UpstreamProvider | None:
        return self._providers.get(server)

    def _added(self, upstream: Upstream) -> None:
        provider = UpstreamProvider(upstream, lambda who: self._pool.private.of(upstream.spec, who))
        trusted = upstream.spec.trust == "trusted"
        try:
            self._registry.register(provider, server=provider.server, trusted=trusted)
        except InvalidConfig as wrong:
            log.error("%s: its tools are not offered: %s", provider.server, wrong)
            return
        self._providers[provider.server] = provider

    def _removed(self, upstream: Upstream) -> None:
        provider = self._providers.pop(upstream.spec.name, None)
        if provider is not None:
            self._registry.unregister(provider.namespace)

    def _offer_changed(self, upstream: Upstream, parts: Parts) -> None:
        provider = self._providers.get(upstream.spec.name)
        if provider is not None:
            provider.offer_changed(parts)

    def _noticed(self, upstream: Upstream, notification: Notification, stream: int | None) -> None:
        provider = self._providers.get(upstream.spec.name)
        if provider is not None:
            provider.noticed(notification, upstream, stream)
