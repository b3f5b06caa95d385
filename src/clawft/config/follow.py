"""Keeps a pool of servers in step with the configuration files, at the start and whenever a file changes.

Light to load: most starts have no server, and then neither the client side nor its configuration is imported.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING

from clawft.config.places import GIVEN, is_json, names_servers, reconnect_folder, server_files
from clawft.config.settings import Settings
from clawft.error_words import quoted
from clawft.errors import ClawftError, NotConnected, PermissionDenied, SpawnFailed

if TYPE_CHECKING:  # loaded with the first server
    from clawft.builtin.start_server import WaitingServer
    from clawft.config.layers import FoundServer, Sources
    from clawft.config.servers import Servers
    from clawft.config.watch import Stamps
    from clawft.guard.approval.book import Approvals
    from clawft.sandbox.pinned_file import PinnedFile
    from clawft.upstream.pool import Pool
    from clawft.upstream.spec import UpstreamSpec

START_SECONDS = 60.0
"""How long a required server may take to start."""
RUNNING = ("connected", "degraded")
MAX_TOLD = 20
"""How many unusable servers the log names at a time: a workspace may name thousands."""

log = logging.getLogger("clawft")


class ServerFiles:
    """The files. `pool` is asked for with the first server. `given_only`: the user's files are not read."""

    def __init__(
        self, settings: Settings, pool: Callable[[], Pool], approvals: Approvals, *, given_only: bool = False
    ) -> None:
        self._given_only = given_only
        self._settings = settings
        self._approvals = approvals
        self._pool = pool
        self._read: Servers | None = None
        """The servers when the files were last read; None if they were not, as at most starts."""
        self.waiting_changed: Callable[[], None] = lambda: None
        """Called when other servers wait for approval than before."""
        self._watching: list[asyncio.Task[None]] = []
        self._turn = asyncio.Lock()

    @property
    def name_any(self) -> bool:
        """Whether any file or option could name a server."""
        settings = self._settings
        if self._given_only or settings.mcp_config:
            return bool(settings.mcp_config)
        return names_servers(settings.home, settings.workspace, settings.agent)

    @property
    def servers(self) -> Servers:
        """The servers, and the errors of those that cannot be used."""
        if self._read is None:
            from clawft.config.servers import approved_in, discover

            self._approvals.look()
            self._read = discover(self._sources, approved_in(self._approvals, self._sources))
        return self._read

    @cached_property
    def _sources(self) -> Sources:
        from clawft.config.layers import Sources

        settings = self._settings
        return Sources(
            settings.home,
            settings.workspace,
            settings.agent,
            settings.mcp_config,
            settings.command_folders,
            self._given_only,
        )

    async def start(self, only: Collection[str] = (), *, quiet: bool = False) -> None:
        """Start all servers at once, or those named; only required ones are waited for.

        `quiet`: whoever starts them says himself which are not used.
        """
        if not self.name_any:
            return
        if not only and not quiet:  # else the errors are about other servers
            self._tell_unused(self.servers)
        self.waiting_changed()
        wanted = self.servers.wanted
        chosen = {name: spec for name, spec in wanted.items() if name in only or self._is_needed(spec)}
        await self._pool().set_servers(chosen if only else wanted)
        await self._must_run()

    def _is_needed(self, spec: UpstreamSpec) -> bool:
        """Whether we must not run without it. A server that is called in people's names starts only with them."""
        return spec.exchange is None and (spec.required or self._settings.strict_servers)

    def _tell_unused(self, servers: Servers, before: Servers | None = None) -> None:
        """Log servers that are not used, unless they were logged `before`."""
        unused = _unused(servers, before)
        for message in islice(unused, MAX_TOLD):
            log.warning("%s", message())
        if more := sum(1 for _ in unused):
            log.warning("%d more servers are ignored; run weft config check", more)

    async def _must_run(self) -> None:
        """Raises NotConnected for required servers that are down; in strict mode all are required."""
        strict, servers, pool = self._settings.strict_servers, self.servers, self._pool()
        down = {name: str(each.error) for name, each in servers.refused.items() if strict or each.required}
        needed = [name for name, spec in servers.wanted.items() if self._is_needed(spec)]
        if needed:
            await pool.settled(START_SECONDS)
        for name in needed:
            status = pool.server_status(name)
            if status.status not in RUNNING and not status.rests:
                down[name] = f"{name}: {status.error or f'not ready after {START_SECONDS:g} s'}"
        if down:
            raise NotConnected("; ".join(down.values()), hint=self._look_at(next(iter(down))))

    def _look_at(self, name: str) -> str:
        """The next command for the person, with the options we were started with."""
        from clawft.config.layers import Scope  # loaded with the servers

        given, refused = self._settings.mcp_config, self.servers.refused.get(name)
        if refused is not None:
            return refused.error.hint if refused.file in (GIVEN, *given) else "weft config check"
        if self.servers.found[name].scope is not Scope.COMMAND_LINE:
            return f"weft servers test {name}"
        if any(map(is_json, given)):  # which may hold a secret, so it is not repeated
            return f"correct {name} in --mcp-config"
        return " ".join([f"weft servers test {name}", *(f"--mcp-config {quoted(file)}" for file in given)])

    # ── while we run ─────────────────────────────────────────────────────────────────────────────────────────────────

    def follow(self) -> None:
        """Apply changed files from now on, until we close. Unchanged servers are left alone."""
        from clawft.config.watch import watch  # only when serving

        for look, changed in ((self._look, self._changed), (self._asked, self._reconnect)):
            self._watching.append(asyncio.create_task(watch(look, look(), changed), name=changed.__name__))

    def _look(self) -> Stamps:
        from clawft.config.watch import stamps

        settings = self._settings
        return stamps(
            [
                *server_files(settings.home, settings.workspace, settings.agent, settings.mcp_config),
                self._approvals.path,
            ]
        )

    def _asked(self) -> Stamps:
        from clawft.config.watch import folder_stamps

        return folder_stamps(reconnect_folder(self._settings.home))

    async def _changed(self, before: Stamps, now: Stamps) -> None:
        await self._apply()

    async def _apply(self) -> None:
        """Apply the files. One that cannot be read keeps its servers as they were."""
        from clawft.config.servers import Servers

        async with self._turn:  # or what was read first would count last
            old = self._read or Servers()  # nothing was read if there was nothing to read
            try:
                now = self._read = await asyncio.to_thread(self._read_again, old)
                self._tell_unused(now, old)
                done = await self._pool().set_servers(now.wanted)
            except Exception as failed:  # noqa: BLE001 - whatever is written there, those that run go on
                self._read = old
                log.error("the changed configuration is not applied: %s", failed)
                return
        self.waiting_changed()
        log.info("servers started %s, stopped %s, restarted %s", done.added, done.removed, done.restarted)

    def _read_again(self, old: Servers) -> Servers:
        """Read the files in a thread, with a separate book of approvals: they, and programs, may be large."""
        from clawft.config.servers import approved_in, carried, discover

        approved = approved_in(self._own_book(), self._sources)
        return carried(old, discover(self._sources, approved), approved)

    async def ensure_approved(self, spec: UpstreamSpec) -> tuple[PinnedFile, ...]:
        """The files to start an approved workspace server with; called before every start, as they may have changed.

        Raises SpawnFailed if they have, and makes the server wait for approval again.
        """
        found = self._read.found.get(spec.name) if self._read is not None else None
        if found is None or not found.must_wait:
            return ()
        from clawft.link.own_thread import run_in_own_thread  # loaded with the first that waits

        try:
            return await run_in_own_thread(partial(self._cleared, found), f"launch of {spec.name}")
        except SpawnFailed:
            if self._watching:
                self._watching.append(asyncio.ensure_future(self._apply()))
            raise

    def _cleared(self, found: FoundServer) -> tuple[PinnedFile, ...]:
        """Check the program in a thread, with a separate book of approvals: it may be a gigabyte large."""
        from clawft.config.launch_approval import cleared  # loaded with the first that waits

        return cleared(self._own_book(), found, self._sources)

    def _own_book(self) -> Approvals:
        from clawft.guard.approval.book import Approvals

        return Approvals(self._settings.home, self._approvals.clock)

    # ── servers that wait ────────────────────────────────────────────────────────────────────────────────────────────

    async def waiting_launches(self) -> Mapping[str, WaitingServer]:
        """The waiting servers with what they would start; in a thread, as programs can be large."""
        from clawft.config.launch_approval import waiting_launch  # loaded with the first that waits

        waiting = dict(self.servers.waiting)
        return await asyncio.to_thread(
            lambda: {
                name: waiting_launch(name, found, changed=self.has_changed(found)) for name, found in waiting.items()
            }
        )

    def has_changed(self, found: FoundServer) -> bool:
        """Whether it waits because it differs from what was approved."""
        from clawft.config.launch_approval import has_changed  # loaded with the first that waits

        return has_changed(self._approvals, found, self._sources)

    async def approve_launch(self, asked: WaitingServer) -> None:
        """Store the approval and start the server. Raises PermissionDenied if it differs from what was asked about."""
        from clawft.config.launch_approval import launch_approval  # loaded with the first that waits

        found = self.servers.waiting.get(asked.name)
        if found is None:
            return  # another call was faster
        approval = await asyncio.to_thread(launch_approval, found, self._sources, self._approvals.clock())
        if approval.pin != asked.pin:
            raise PermissionDenied(asked.name, "it has changed since you were asked", hint="ask again")
        await asyncio.to_thread(self._approvals.add, approval)
        await self._apply()

    async def _reconnect(self, before: Stamps, now: Stamps) -> None:
        from clawft.config.watch import renewed

        for name in renewed(before, now):
            if self.name_any and name in self.servers.waiting:
                await self._apply()  # a changed script may be one that is approved again
                continue
            try:
                await self._pool().reconnect(name, seconds=0.0)  # the server is not waited for
            except ClawftError as failed:
                log.warning("%s is not reconnected: %s", name, failed)

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)


def _unused(servers: Servers, before: Servers | None) -> Iterator[Callable[[], ClawftError | None]]:
    """Errors about unused servers that `before` does not have; each is made when it is called.

    An entry of a workspace beside a server that the user took over from it is no news.
    """
    from clawft.config.servers import Servers, is_there_already, named_twice, waits  # loaded with the servers

    known = before or Servers()
    errors = {str(each.error) for each in known.refused.values()}
    refused = (each for each in servers.refused.values() if not each.own and str(each.error) not in errors)
    twice = ((name, found) for name, found in servers.found.items() if found.instead_of is not None)
    yield from (partial(getattr, each, "error") for each in refused)
    yield from (
        partial(waits, name, found)
        for name, found in servers.waiting.items()
        if known.waiting.get(name) != found and not is_there_already(found, servers)
    )
    yield from (partial(named_twice, found) for name, found in twice if known.found.get(name) != found)
