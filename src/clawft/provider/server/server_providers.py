"""Registers and unregisters the providers of servers, as these come and go in the pool."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from clawft.errors import InvalidConfig
from clawft.link.base import Credentials
from clawft.provider.base import Provider
from clawft.provider.server.question.parked_calls import ParkedCalls
from clawft.provider.server.server_provider import ServerProvider
from clawft.upstream.offer.lists import Parts
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # loaded with the first server that is called in the name of people
    from clawft.provider.server.personal_server import PersonalServer

log = logging.getLogger("clawft.upstream")

AskRoots = Callable[[], Awaitable[list[Mapping[str, Any]] | None]]


class PersonalLogins(Struct, frozen=True):
    """The issuer whose tokens prove who calls, and the logins to servers in a person's name."""

    issuer: str
    login_of: Callable[[UpstreamSpec, str], Credentials]


class ProviderRegistry(Protocol):
    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None: ...

    def unregister(self, namespace: str) -> None: ...

    def arrange(self, namespaces: Sequence[str]) -> None: ...


class ServerProviders:
    """Keeps one registered provider for each server of the pool."""

    def __init__(
        self,
        pool: Pool,
        registry: ProviderRegistry,
        parked_calls: ParkedCalls | None = None,
        ask_roots: AskRoots | None = None,
        people: PersonalLogins | None = None,
    ) -> None:
        """`parked_calls` keeps the calls of all servers whose agents went to find an answer.

        `ask_roots` asks the agent for its folders, for servers that want them outside any call. `people` are the logins
        of people in whose name servers are called.
        """
        self._people = PersonalLogins("", _nobody) if people is None else people
        self._ask_roots = ask_roots
        self._pool = pool
        self._registry = registry
        self._parked_calls = ParkedCalls() if parked_calls is None else parked_calls
        self._providers: dict[str, ServerProvider | PersonalServer] = {}
        pool.news.added.listen(self._added)
        pool.news.removed.listen(self._removed)
        pool.news.arranged.listen(self._arranged)
        pool.news.offer_changed.listen(self._offer_changed)
        pool.news.notification.listen(self._pass_on_notification)
        pool.news.answer_request = self._answer_request

    def find(self, server: str) -> ServerProvider | None:
        """The provider; None also for a server that is called in the name of people, which has nothing without one."""
        found = self._providers.get(server)
        return found if isinstance(found, ServerProvider) else None

    def _added(self, upstream: Upstream) -> None:
        provider = self._shared(upstream) if upstream.spec.exchange is None else self._personal(upstream.spec)
        trusted = upstream.spec.trust == "trusted"
        try:
            self._registry.register(provider, server=provider.server, trusted=trusted)
        except InvalidConfig as wrong:
            log.error("%s: its tools are not offered: %s", provider.server, wrong)
            return
        self._providers[provider.server] = provider

    def _shared(self, upstream: Upstream) -> ServerProvider:
        return ServerProvider(
            upstream,
            lambda who: self._pool.private.of(upstream.spec, who),
            parked_calls=self._parked_calls,
            roots=self._pool.roots,
        )

    def _personal(self, spec: UpstreamSpec) -> PersonalServer:
        from clawft.provider.server.personal_server import PersonalServer  # most servers are called in nobody's name

        return PersonalServer(spec, self._pool, self._people, self._parked_calls)

    def _removed(self, upstream: Upstream) -> None:
        provider = self._providers.pop(upstream.spec.name, None)
        if provider is not None:
            self._registry.unregister(provider.namespace)

    def _arranged(self, servers: Sequence[str]) -> None:
        known = (self._providers.get(server) for server in servers)
        self._registry.arrange([provider.namespace for provider in known if provider is not None])

    def _offer_changed(self, upstream: Upstream, parts: Parts) -> None:
        provider = self.find(upstream.spec.name)
        if provider is not None:
            provider.offer_changed(parts)

    async def _answer_request(self, upstream: Upstream, request: Request, stream: int | None) -> Mapping[str, Any]:
        from clawft.provider.server.question.handshake_questions import answer  # most servers never ask
        from clawft.provider.server.question.questions import ROOTS

        if request.method == ROOTS and not upstream.flights and self._ask_roots is not None:
            roots = await self._ask_roots()
            if roots is not None and "roots" in upstream.spec.asks:
                return {"roots": roots}
        return await answer(upstream, request, stream, self._pool.roots)

    def _pass_on_notification(self, upstream: Upstream, notification: Notification, stream: int | None) -> None:
        provider = self.find(upstream.spec.name)
        if provider is not None:
            provider.on_notification(notification, upstream, stream)


def _nobody(spec: UpstreamSpec, proof: str) -> Credentials:
    from clawft.auth.no_credentials import NoCredentials  # only where people call whom nobody can vouch for

    return NoCredentials(spec.name, "")
