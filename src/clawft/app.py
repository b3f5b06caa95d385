"""The one place that wires configuration into a running gateway."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import signal
import sys
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from clawft.builtin import FAMILIES, families
from clawft.builtin.lazy import lazily
from clawft.builtin.leftover import read_result_tool
from clawft.builtin.resources import resource_tools
from clawft.config.follow import ServerFiles
from clawft.config.places import audit_file
from clawft.config.settings import Settings
from clawft.errors import InvalidConfig
from clawft.gateway.core import Gateway
from clawft.gateway.events import ConversationEnded, Event, RootsChanged
from clawft.gateway.pipe import PipeCaller
from clawft.guard.audit import Audit
from clawft.guard.permission import Permission
from clawft.guard.pipeline import Guard
from clawft.guard.result import ResultGuard
from clawft.guard.security import Security
from clawft.link.lines import LineWriter
from clawft.link.stdio_in import open_stdio
from clawft.model import Caller, Grant
from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.provider.registry import outside_providers
from clawft.store.files import FileStore, state_folder
from clawft.store.home import private_dir, write_private
from clawft.store.journal import Journal
from clawft.store.leftovers import Leftovers

if TYPE_CHECKING:  # loaded with the first server
    from clawft.config.servers import Servers
    from clawft.link.base import Link
    from clawft.link.process import Said
    from clawft.upstream.pool import Pool
    from clawft.upstream.spec import UpstreamSpec

GC_THRESHOLDS = (50_000, 20, 20)
"""Calls make many short-lived objects and hardly any cycles: the default looks for them far too often."""
GRACE_SECONDS = 5.0
"""How long running calls may take after we were asked to stop."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_CROWDED = "too many requests in flight"

log = logging.getLogger("clawft")

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """On uvloop where there is one."""
    gc.freeze()  # what start-up made stays for good
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


class App:
    """A gateway with its guards and providers, ready to be served."""

    def __init__(self, settings: Settings, *, outside: bool = True) -> None:
        """`outside`: also offer the providers of other installed packages."""
        self.settings = settings
        self.problems: list[str] = []
        self.files = ServerFiles(settings, lambda: self.pool)
        self.heard: Callable[[str], Said] | None = None
        """For a server's name: who hears what it writes to stderr."""
        self.caller = Caller(agent=settings.agent, grant=_grant(settings))
        self._leftovers = Leftovers() if settings.builtin else Leftovers(max_bytes=0)
        self._audit = Audit(Journal(audit_file(settings.home)), values=settings.audit_values)
        self.gateway = Gateway(
            self._guards(),
            form=settings.names,
            instructions=settings.instructions,
            page_size=settings.page_size,
            key=_sealing_key(settings.home),
            question_seconds=settings.question_seconds,
        )
        if settings.builtin:
            self._register_builtins()
        if outside:
            self._register_outside()

    @classmethod
    def build(cls, settings: Settings) -> App:
        return cls(settings)

    def _guards(self) -> list[Guard]:
        """Outermost first. A new guard is a file in `guard/` and a row here."""
        settings = self.settings
        guards: list[Guard] = [
            self._audit,
            Permission(self._names_of),
            Security(settings.command_policy, settings.url_policy),
            ResultGuard(self._leftovers, settings.result_limit),
        ]
        return guards if settings.audit else guards[1:]

    def _names_of(self, canonical: str) -> tuple[str, ...]:
        return self.gateway.names_of(canonical)

    def _register_outside(self) -> None:
        found = outside_providers(self.settings.workspace)
        self.problems += [f"{broken.name}: {broken.reason}" for broken in found.broken]
        for provider in found.providers:
            try:
                self.gateway.register(provider)
            except InvalidConfig as wrong:
                self.problems.append(f"{provider.namespace}: {wrong}")
        for problem in self.problems:
            log.warning("provider %s", problem)

    def _register_builtins(self) -> None:
        settings = self.settings
        hidden = frozenset[str]() if settings.search_url else frozenset({"web__search"})
        for provider in lazily(tuple(FAMILIES), self._load_family, hidden):
            if provider.namespace == "weft" and isinstance(provider, FunctionProvider):
                self._add_own_tools(provider)
            self.gateway.register(provider)

    def _load_family(self, namespace: str) -> Provider:
        told = {namespace: made(self.settings)} if (made := FAMILY_SETTINGS.get(namespace)) else None
        return families(self.settings.workspace, self._store_for, settings=told, only=[namespace])[0]

    def _add_own_tools(self, provider: FunctionProvider) -> None:
        """The tools of the namespace `weft` that work on the gateway itself."""
        provider.add(read_result_tool(self._leftovers))
        for function in resource_tools(self.gateway.resources.owned, self.gateway.resources.read):
            provider.add(function)

    def _store_for(self, agent: str, family: str) -> FileStore:
        return FileStore(state_folder(agent, family))

    # ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def servers(self) -> Servers:
        """The servers that the configuration names, and what is wrong with those that cannot be used."""
        return self.files.servers

    @cached_property
    def pool(self) -> Pool:
        """All servers; made when the first is wanted, because most of the client side is loaded with it."""
        from clawft.provider.parked import Park
        from clawft.provider.upstreams import UpstreamProviders
        from clawft.upstream.cells import Cells
        from clawft.upstream.pool import Pool
        from clawft.upstream.ways import ways_to

        cells = Cells(self.settings.home, self.settings.workspace)

        def ways(spec: UpstreamSpec) -> list[Callable[[], Link]]:
            return ways_to(spec, self.heard, cells)

        pool = Pool(self.settings.home / "cache" / "servers", ways, _roots(self.settings.workspace))
        UpstreamProviders(pool, self.gateway, Park(self.settings.question_seconds), self.gateway.folders.ask)

        def heard(event: Event) -> None:
            if isinstance(event, ConversationEnded):
                pool.private.end(event.session)
            elif isinstance(event, RootsChanged):
                pool.roots_changed()

        self.gateway.events.subscribe(heard)
        return pool

    async def start_servers(self, only: Collection[str] = ()) -> None:
        """All at once, or those named; none blocks another. Raises NotConnected for one we must not run without."""
        await self.files.start(only)

    # ── serving ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def serve_stdio(self) -> int:
        """Until stdin ends, nobody reads stdout, or a signal comes. Running calls get their time, then we leave."""
        stop = _stop_signal()
        self.files.follow()
        await self.start_servers()
        writer = LineWriter()
        caller = PipeCaller(self.gateway, self.caller, writer.write, writer.unread)
        reader = await open_stdio(caller.accept, writer)
        caller.running.when_crowded(lambda: reader.hold(_CROWDED), lambda: reader.let_go(_CROWDED))
        await asyncio.wait({reader.ended, writer.broken, stop}, return_when=asyncio.FIRST_COMPLETED)
        self.gateway.closing.set()
        if not writer.broken.done():
            await caller.running.drain(GRACE_SECONDS)
        caller.close()
        await writer.finish(GRACE_SECONDS)
        return 0

    async def serve_http(self, host: str, port: int, token: str | None, ready: Callable[[str], None]) -> int:
        """Until a signal comes. `token` None means open to all, which is for loopback only."""
        from clawft.gateway.access import LOOPBACK_HOSTS, Access, open_to_all, with_token  # stdio needs none of HTTP
        from clawft.gateway.http import ENDPOINT, HttpApp
        from clawft.link.http_server import HttpServer

        if token is None and host not in LOOPBACK:
            raise InvalidConfig(f"no token on {host}: that would be open to the network", hint="leave out --no-auth")
        authenticate = open_to_all(self.caller) if token is None else with_token(token, self.caller)
        access = Access(authenticate, LOOPBACK_HOSTS if host in LOOPBACK else None)
        app = HttpApp(self.gateway, access, max_body=self.settings.max_body)
        server = HttpServer(app)
        stop = _stop_signal()
        self.files.follow()
        await self.start_servers()
        bound, bound_port = await server.start(host, port)
        ready(f"http://{f'[{bound}]' if ':' in bound else bound}:{bound_port}{ENDPOINT}")
        await stop
        self.gateway.closing.set()
        await asyncio.gather(app.drain(GRACE_SECONDS), server.stop(GRACE_SECONDS))
        return 0

    async def close(self) -> None:
        """Nothing that happened is lost: servers and tasks end, the audit is written."""
        await self.files.close()
        if "pool" in self.__dict__:
            await self.pool.close()
        await self.gateway.tasks.close()
        self._audit.close()


def _web_settings(settings: Settings) -> object:
    from clawft.builtin.web import WebSettings  # loaded with the family

    return WebSettings(search_url=settings.search_url, url_policy=settings.url_policy)


def _git_settings(settings: Settings) -> object:
    from clawft.builtin.git import GitSettings  # loaded with the family
    from clawft.builtin.trust import trusted_in

    return GitSettings(
        trusted=partial(trusted_in, settings.workspace),
        granted=settings.git_allow,
        hosts=settings.git_hosts,
        local=settings.git_local,
        variables=settings.git_variables,
    )


FAMILY_SETTINGS: Mapping[str, Callable[[Settings], object]] = {"web": _web_settings, "git": _git_settings}
"""What a family is told of the settings; made when it is loaded."""


def _roots(workspace: Path) -> list[Mapping[str, str]]:
    """What servers are told when they ask for the agent's folders."""
    return [{"uri": workspace.as_uri(), "name": workspace.name}]


def _grant(settings: Settings) -> Grant:
    """Everything, as the one object that stands for it, or what the settings say."""
    told = Grant(settings.allow, settings.deny)
    everything = Caller().grant
    return everything if told == everything else told


def _stop_signal() -> asyncio.Future[None]:
    """Done at the first SIGTERM or SIGINT; the second ends us at once."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()

    def on_signal(number: int) -> None:
        if stop.done():
            sys.exit(128 + number)
        stop.set_result(None)

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, on_signal, number)
        except NotImplementedError:  # Windows: Ctrl-C arrives as KeyboardInterrupt
            continue
    return stop


def gateway_token(home: Path) -> str:
    """The token that opens our HTTP gateway: made once, kept 0600."""
    return _kept_secret(home / "gateway.token").decode().strip()


def _sealing_key(home: Path) -> bytes:
    return _kept_secret(home / "state.key")


def _kept_secret(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        private_dir(path.parent)
        write_private(path, secrets.token_urlsafe(32).encode())
        return path.read_bytes()
