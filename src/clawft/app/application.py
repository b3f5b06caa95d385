"""`App`: a gateway with its guards, providers and servers, put together from the settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING

from clawft.app.editors import EditorsAtTheDoor
from clawft.app.loop import stop_signal
from clawft.app.own_secrets import sealing_key
from clawft.app.own_tools import OwnTools
from clawft.app.serving import serve_http, serve_stdio
from clawft.catalog.surface import SurfaceForm
from clawft.config.follow import ServerFiles
from clawft.config.places import audit_file
from clawft.config.settings import Settings
from clawft.errors import InvalidConfig
from clawft.gateway.core import Gateway
from clawft.guard.approval.book import Approvals
from clawft.guard.approval.guard import ApprovalGuard
from clawft.guard.audit import Audit
from clawft.guard.permission import Permission
from clawft.guard.pipeline import Guard
from clawft.guard.redaction import Redaction
from clawft.guard.result import ResultGuard
from clawft.guard.security import Security
from clawft.model import Call, Caller, Grant
from clawft.provider.registry import outside_providers
from clawft.store.cut_results import CutResults
from clawft.store.journal import Journal

if TYPE_CHECKING:  # loaded with the first server, or editor, or task
    from clawft.app.logins import Logins
    from clawft.app.status_socket import FrontName, StatusSocket
    from clawft.app.upstreams import Upstreams
    from clawft.config.edited_settings import EditedSettings
    from clawft.config.servers import Servers
    from clawft.delegate.delegator import Delegator
    from clawft.delegate.prompt import ConnectedServer
    from clawft.link.process import Said
    from clawft.upstream.pool import Pool

STATUS_AFTER_SECONDS = 0.3
"""Delay before the status socket opens, so that the first list is not slowed down by it."""

log = logging.getLogger("clawft")


class App:
    """One `weft`, ready to be served."""

    def __init__(self, settings: Settings, *, outside: bool = True) -> None:
        """`outside`: also offer the providers of other installed packages, and the servers that files name."""
        self.settings = settings
        self._outside = outside
        self._edited: EditedSettings | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._status: StatusSocket | None = None
        self._upstreams: Upstreams | None = None
        self._logins: Logins | None = None
        self.problems: list[str] = []
        self.approvals = Approvals(settings.home)
        self.files = ServerFiles(settings, lambda: self.pool, self.approvals, given_only=not outside)
        self.editors = EditorsAtTheDoor(settings.home)
        self.heard: Callable[[str], Said] | None = None
        """Gives the function that hears what a server of this name writes to stderr."""
        self.is_serving = False
        """Only then are logins offered: a command that only looks would end before somebody has logged in."""
        self.caller = Caller(agent=settings.agent, grant=_grant(settings))
        self._cut_results = CutResults() if settings.builtin else CutResults(max_bytes=0)
        self._audit = Audit(
            Journal(audit_file(settings.home), keep_files=settings.audit_files), values=settings.audit_values
        )
        self.gateway = Gateway(
            self._guards(),
            form=settings.names,
            instructions=settings.instructions,
            page_size=settings.page_size,
            surface=settings.surface,
            key=sealing_key(settings.home),
            question_seconds=settings.question_seconds,
        )
        self.own = OwnTools(self.gateway, self.files, settings.workspace)
        self._register(outside)

    # ── guards ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def approving(self) -> ApprovalGuard:
        settings = self.settings
        return ApprovalGuard(
            self.approvals,
            lambda: self.upstreams,
            settings.workspace,
            asking=settings.ask,
            days=settings.approval_days,
            relisted=self._relist,
        )

    def _guards(self) -> list[Guard]:
        """All guards, the outermost first. A new guard is a file in `guard/` and a row here."""
        settings = self.settings
        asking, hearing = self._after_exposure()
        guards: list[Guard] = [
            self._audit,
            Permission(self._names_of),
            self.approving,
            *asking,
            Security(settings.command_policy, settings.url_policy),
            *hearing,
            ResultGuard(self._cut_results, settings.result_limit, self._is_verbatim, settings.resource_limit),
            Redaction(self._redacts),
        ]
        if settings.builtin:
            from clawft.guard.editors import EditorsGuard  # nobody else's tools are told to editors

            guards.append(EditorsGuard(self.editors.hub))
        return guards if settings.audit else guards[1:]

    def _after_exposure(self) -> tuple[list[Guard], list[Guard]]:
        """The guards that ask, and those that note what strangers said; none unless the settings want them."""
        if not self.settings.ask_after_untrusted:
            return [], []
        from clawft.guard.exposure import (  # few settings want them
            ExposedConversations,
            ExposureGuard,
            ExposureRecorder,
        )

        conversations = ExposedConversations()
        return [ExposureGuard(conversations)], [ExposureRecorder(conversations)]

    def _names_of(self, call: Call) -> tuple[str, ...]:
        return self.gateway.tools.names_of(call.name, call.caller)

    def _relist(self) -> None:
        self.gateway.tools_changed()
        self.gateway.prompts_changed()

    def _redacts(self, server: str) -> bool:
        """Whether results of this server are redacted: by its own entry, else by the general setting."""
        found = self.servers.found.get(server) if server else None
        own = found.spec.redact if found is not None else None
        return self.settings.redact if own is None else own

    def _is_verbatim(self, server: str) -> bool:
        found = self.servers.found.get(server) if server else None
        return found is not None and found.spec.verbatim

    # ── providers ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _register(self, outside: bool) -> None:
        if self.settings.builtin:
            self._register_builtins()
        if self.settings.surface.form is not SurfaceForm.FULL:
            self.own.offer_search()
        if self.settings.delegation.is_on:
            self._register_delegate()
        if outside:
            self._register_outside()

    def _register_builtins(self) -> None:
        from clawft.app.families import Families  # a gateway may have no built-in tools

        families = Families(self.settings, self.editors)
        if families.own is not None:
            self.own.begin(families.own, self._cut_results)
        for provider in families.offered:
            self.gateway.register(provider)

    def _register_delegate(self) -> None:
        from clawft.delegate.tool import delegate_provider  # most gateways delegate nothing

        self.gateway.register(delegate_provider(self.delegator, self.settings.workspace))

    def _register_outside(self) -> None:
        found = outside_providers(self.settings.workspace)
        self.problems += [f"{broken.name}: {broken.reason}" for broken in found.broken]
        for entry, provider in zip(found.entries, found.providers, strict=True):
            try:
                self.gateway.register(provider)
            except InvalidConfig as wrong:
                self.problems.append(f"{entry.name}: {entry.target}: {wrong}")
        for problem in self.problems:
            log.warning("provider %s", problem)

    # ── tasks that are handed on ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def delegator(self) -> Delegator:
        """Takes tasks for delegates."""
        from clawft.delegate.delegator import Delegator, DelegatorHost  # most gateways delegate nothing

        host = DelegatorHost(self.gateway, self.own.offer_search, self._connected, self.settings.workspace)
        return Delegator(self.settings.delegation, host)

    def _connected(self) -> list[ConnectedServer]:
        """The servers delegates are told of; instructions only of trusted ones."""
        from clawft.delegate.prompt import ConnectedServer  # loaded with the delegator

        running = self._upstreams.running() if self._upstreams is not None else []
        heard = {one.spec.name: one.offer for one in running if one.spec.trust == "trusted"}
        names = [one.spec.name for one in running]
        return [ConnectedServer(name, offer.instructions if (offer := heard.get(name)) else "") for name in names]

    # ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def servers(self) -> Servers:
        """The servers that the configuration names, and what is wrong with those that cannot be used."""
        return self.files.servers

    async def start_servers(self, only: Collection[str] = (), *, quiet: bool = False) -> None:
        """Start all servers at once, or those named. Raises NotConnected for a required one that fails."""
        await self.files.start(only, quiet=quiet)

    @property
    def upstreams(self) -> Upstreams:
        if self._upstreams is None:
            from clawft.app.upstreams import Upstreams  # loaded with the first server

            self._upstreams = Upstreams(self)
        return self._upstreams

    @property
    def pool(self) -> Pool:
        """The pool of all servers."""
        return self.upstreams.pool

    @property
    def logins(self) -> Logins:
        if self._logins is None:
            from clawft.app.logins import Logins  # loaded with the first server over HTTP

            self._logins = Logins(self.settings, self._exchanges)
        return self._logins

    def _exchanges(self) -> bool:
        """Whether any server is called in people's names."""
        found = self.servers.found.values() if self.files.name_any else ()
        return any(each.spec.exchange is not None for each in found)

    # ── from the first caller to the last ────────────────────────────────────────────────────────────────────────────

    async def begin_serving(self, front: FrontName) -> None:
        """Start the servers, follow their files from now on, and open the status socket."""
        self.files.follow()
        self._timer = asyncio.get_running_loop().call_later(STATUS_AFTER_SECONDS, self._open_status, front)
        if self._outside:
            from clawft.config.edited_settings import EditedSettings  # loaded with the settings

            self._edited = EditedSettings(self.settings.home, self.settings.agent)
        self.is_serving = True
        await self.start_servers()
        if self.settings.delegation.is_on:
            Thread(target=_warn_of_delegates, args=(self.delegator,), name="delegates", daemon=True).start()

    def _open_status(self, front: FrontName) -> None:
        from clawft.app.status_socket import StatusSocket  # a command that only looks has no status

        self._status = StatusSocket(self, front)

    async def serve_stdio(self, stop: asyncio.Future[int] | None = None) -> int:
        """Serve until `stop` is done; by default that is a signal."""
        return await serve_stdio(self, self._stop_signal() if stop is None else stop)

    async def serve_http(
        self,
        host: str,
        port: int,
        token: str | None,
        ready: Callable[[str], None],
        stop: asyncio.Future[int] | None = None,
    ) -> int:
        """`token` None means open to all, which is for loopback only."""
        return await serve_http(self, host, port, token, ready, self._stop_signal() if stop is None else stop)

    def _stop_signal(self) -> asyncio.Future[int]:
        return stop_signal(self.kill_servers)

    def kill_servers(self) -> None:
        """Kill all servers at once."""
        if self._upstreams is not None:
            self._upstreams.kill()

    async def stop_servers(self) -> None:
        """Stop all servers; returns when none is left."""
        if self._upstreams is not None:
            await self._upstreams.stop()

    def write_audit(self) -> None:
        """Write the lines of the audit that are waiting."""
        self._audit.flush()

    async def close(self) -> None:
        """End servers and tasks, and write the audit, so that nothing is lost."""
        if self._timer is not None:
            self._timer.cancel()
        if self._status is not None:
            await self._status.close()
        await self.files.close()
        if self._edited is not None:
            await self._edited.close()
        await self.stop_servers()
        if self._logins is not None:
            await self._logins.close()
        await self.editors.close()
        await self.gateway.close()
        self._audit.close()


def _warn_of_delegates(delegator: Delegator) -> None:
    """Log what is wrong with delegates; in a thread, as a key may be kept behind a slow program."""
    for one in delegator.warnings():
        log.warning("delegation: %s", one)


def _grant(settings: Settings) -> Grant:
    """The grant of the settings; if it allows everything, the shared object for that."""
    asked = Grant(settings.allow, settings.deny)
    everything = Caller().grant
    return everything if asked == everything else asked
