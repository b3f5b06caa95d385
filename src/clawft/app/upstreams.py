"""The servers of a gateway: connects them by the settings, and tells guards about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.app.missing_servers import MissingServers
from clawft.config.follow import RUNNING
from clawft.errors import NotConnected
from clawft.gateway.events import ConversationEnded, GatewayEvent, RootsChanged
from clawft.link.base import Credentials, Link
from clawft.link.process import kill_all
from clawft.model import Caller, Tool
from clawft.policy.pseudo_tools import pseudo_tools
from clawft.provider.server.call.server_calls import CONNECT_SECONDS
from clawft.provider.server.question.parked_calls import ParkedCalls
from clawft.provider.server.server_provider import ServerProvider
from clawft.provider.server.server_providers import PersonalLogins, ServerProviders
from clawft.upstream.cells import Cells
from clawft.upstream.links import links_to
from clawft.upstream.offer.cache import folder as cache_folder
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.upstream import Upstream

if TYPE_CHECKING:  # the house makes this object
    from clawft.app.application import App
    from clawft.guard.approval.offers import OfferedTools
    from clawft.sandbox.pinned_file import PinnedFile


class Upstreams:
    """The servers. Made with the first one, because most of the client side is loaded with it."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._cells = Cells(app.settings.home, app.settings.workspace)
        self.pool = self._pool()
        MissingServers(self.pool, app.own)

    def _pool(self) -> Pool:
        settings, gateway = self._app.settings, self._app.gateway
        bounds = (settings.max_connections, settings.list_seconds)
        pool = Pool(cache_folder(settings.home), self._ways, _roots(settings.workspace), *bounds)
        people = PersonalLogins(settings.auth_issuer, self._login_of)
        pool.news.offer_changed.listen(lambda upstream, _: self._app.approving.forget(upstream.spec.name))
        pool.news.state_changed.listen(self._state_changed)
        ServerProviders(pool, gateway, ParkedCalls(settings.question_seconds), gateway.roots.ask, people)
        pool.clearance = self._cleared_ways
        gateway.pending.servers = pool.pending
        gateway.on_list_read = pool.refresh_stale
        gateway.events.subscribe(lambda event: _pass_on(event, pool))
        return pool

    async def _cleared_ways(self, spec: UpstreamSpec) -> list[Callable[[], Link]]:
        return self._ways(spec, await self._app.files.ensure_approved(spec))

    def _ways(self, spec: UpstreamSpec, pinned: tuple[PinnedFile, ...] = ()) -> list[Callable[[], Link]]:
        return links_to(spec, self._app.heard, self._cells, self._login_to, pinned)

    def _login_to(self, spec: UpstreamSpec) -> Credentials:
        return self._app.logins.to_servers.credentials(spec)

    def _login_of(self, spec: UpstreamSpec, proof: str) -> Credentials:
        return self._app.logins.to_servers.of_person(spec, proof)

    def _state_changed(self, upstream: Upstream) -> None:
        if upstream.session is None:
            self._app.approving.forget(upstream.spec.name)
        if self._app.is_serving and upstream.spec.url:
            self._app.logins.offers.state_changed(upstream)

    # ── what guards, delegates and the person have to know ───────────────────────────────────────────────────────────

    async def up(self, server: str, caller: Caller) -> None:
        """Return when the server is connected, or needs a login, which it asks for when it is called."""
        upstream = self._as_had_by(caller, server)
        try:
            await upstream.connected(min(upstream.spec.timeout_ms / 1000, CONNECT_SECONDS))
        except NotConnected:
            if not upstream.login_url:
                raise

    def offered(self, server: str, caller: Caller | None = None) -> OfferedTools:
        """The server's present offer to this caller, for approval."""
        from clawft.guard.approval.offers import OfferedTools  # loaded already, by approval itself

        upstream = self._as_had_by(caller, server)
        instructions = upstream.offer.instructions if upstream.offer else ""
        return OfferedTools(upstream.tools, instructions, local=upstream.spec.is_local)

    def beside(self, server: str, caller: Caller | None = None) -> Sequence[Tool]:
        """The server's prompts and resources as tools, for approval."""
        known = self._as_had_by(caller, server).offer
        if known is None:
            return ()
        return pseudo_tools([each.raw for each in known.prompts], resources=bool(known.resources or known.templates))

    def _as_had_by(self, caller: Caller | None, server: str) -> Upstream:
        shared = self.pool.find(server)
        if caller is None or shared.spec.exchange is None:
            return shared
        own = self._app.gateway.provider(f"mcp:{server}", caller)
        return own.upstream if isinstance(own, ServerProvider) else shared

    def running(self) -> list[Upstream]:
        return [upstream for upstream in self.pool if upstream.state.value in RUNNING]

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def kill(self) -> None:
        """Kill all servers at once."""
        from clawft.link.http_out.client import say_no_goodbyes  # most servers are children

        kill_all()
        say_no_goodbyes()

    async def stop(self) -> None:
        """Stop all servers; returns when none is left."""
        await self.pool.close()


def _pass_on(event: GatewayEvent, pool: Pool) -> None:
    """Report events of callers to the servers."""
    if isinstance(event, ConversationEnded):
        pool.conversation_ended(event.session)
    elif isinstance(event, RootsChanged):
        pool.roots_changed()


def _roots(workspace: Path) -> list[Mapping[str, str]]:
    """The folders reported to servers that ask for the agent's."""
    return [{"uri": workspace.as_uri(), "name": workspace.name}]
