"""The servers that files name, kept in step with a pool: at the start, and whenever a file changes.

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
from clawft.errors import ClawftError, NotConnected, PermissionDenied, SpawnFailed, quoted

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
"""How long a server we must not run without may take to start."""
RUNNING = ("connected", "degraded")
MAX_TOLD = 20
"""Servers that count for nothing which the log names at a time: a workspace may name thousands."""

log = logging.getLogger("clawft")


class ServerFiles:
    """`pool` is asked for when the first server is wanted. `given_only`: the files of the user are not read."""

    def __init__(
        self, settings: Settings, pool: Callable[[], Pool], approvals: Approvals, *, given_only: bool = False
    ) -> None:
        self._given_only = given_only
        self._settings = settings
        self._approvals = approvals
        self._pool = pool
        self._read: Servers | None = None
        """What the files said when they were last read; most starts read none."""
        self.waiting_changed: Callable[[], None] = lambda: None
        """Called when other servers wait for approval than before."""
        self._watching: list[asyncio.Task[None]] = []
        self._turn = asyncio.Lock()

    @property
    def name_any(self) -> bool:
        """Whether anything could name a server."""
        told = self._settings
        if self._given_only or told.mcp_config:
            return bool(told.mcp_config)
        return names_servers(told.home, told.workspace, told.agent)

    @property
    def servers(self) -> Servers:
        """The servers that are named now, and what is wrong with those that cannot be used."""
        if self._read is None:
            from clawft.config.servers import approved_in, discover

            self._approvals.look()
            self._read = discover(self._sources, approved_in(self._approvals, self._sources))
        return self._read

    @cached_property
    def _sources(self) -> Sources:
        from clawft.config.layers import Sources

        told = self._settings
        return Sources(told.home, told.workspace, told.agent, told.mcp_config, told.command_folders, self._given_only)

    async def start(self, only: Collection[str] = ()) -> None:
        """All at once, or those named; none blocks another, or us, unless we must not run without it."""
        if not self.name_any:
            return
        if not only:  # else it is not about the others
            self._tell_unused(self.servers)
        self.waiting_changed()
        wanted = self.servers.wanted
        chosen = {name: spec for name, spec in wanted.items() if name in only or self._is_needed(spec)}
        await self._pool().set_servers(chosen if only else wanted)
        await self._must_run()

    def _is_needed(self, spec: UpstreamSpec) -> bool:
        """One that is called in the name of people has nothing to run before they come."""
        return spec.exchange is None and (spec.required or self._settings.strict_servers)

    def _tell_unused(self, servers: Servers, before: Servers | None = None) -> None:
        """What was told before is not told again."""
        unused = _unused(servers, before)
        for said in islice(unused, MAX_TOLD):
            log.warning("%s", said())
        if more := sum(1 for _ in unused):
            log.warning("%d more servers count for nothing: weft config check", more)

    async def _must_run(self) -> None:
        """Raises NotConnected for servers that are down and may not be: required ones, and in strict mode all."""
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
        """The next command, as it can be typed: what was given to us has to be given to it."""
        from clawft.config.layers import Scope  # loaded with the servers

        given, refused = self._settings.mcp_config, self.servers.refused.get(name)
        if refused is not None:
            return refused.error.hint if refused.file in (GIVEN, *given) else "weft config check"
        if self.servers.found[name].scope is not Scope.COMMAND_LINE:
            return f"weft servers test {name}"
        if any(map(is_json, given)):  # which may hold a secret, so it is not said again
            return f"correct {name} in --mcp-config"
        return " ".join([f"weft servers test {name}", *(f"--mcp-config {quoted(file)}" for file in given)])

    # ── while we run ─────────────────────────────────────────────────────────────────────────────────────────────────

    def follow(self) -> None:
        """From now on a changed file is applied at once, until we close. What does not differ never notices."""
        from clawft.config.watch import watch  # only where something is served

        for look, changed in ((self._look, self._changed), (self._asked, self._reconnect)):
            self._watching.append(asyncio.create_task(watch(look, look(), changed), name=changed.__name__))

    def _look(self) -> Stamps:
        from clawft.config.watch import stamps

        told = self._settings
        return stamps([*server_files(told.home, told.workspace, told.agent, told.mcp_config), self._approvals.path])

    def _asked(self) -> Stamps:
        from clawft.config.watch import folder_stamps

        return folder_stamps(reconnect_folder(self._settings.home))

    async def _changed(self, before: Stamps, now: Stamps) -> None:
        await self._apply()

    async def _apply(self) -> None:
        """What the files say now. One that broke keeps the servers it named as they were."""
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
        """A file may be long, and a program that it names longer: not on the loop. So with a book of its own."""
        from clawft.config.servers import approved_in, carried, discover

        approved = approved_in(self._own_book(), self._sources)
        return carried(old, discover(self._sources, approved), approved)

    async def ensure_approved(self, spec: UpstreamSpec) -> tuple[PinnedFile, ...]:
        """Before every start of a server of the workspace: what it would run may have changed while we did.

        What it is to be started with. Raises SpawnFailed, and has the server wait for approval again.
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
        """A program is read for it, which may have grown to a gigabyte: not on the loop. So with a book of its own."""
        from clawft.config.launch_approval import cleared

        return cleared(self._own_book(), found, self._sources)

    def _own_book(self) -> Approvals:
        from clawft.guard.approval.book import Approvals

        return Approvals(self._settings.home, self._approvals.clock)

    # ── servers that wait ────────────────────────────────────────────────────────────────────────────────────────────

    async def waiting_launches(self) -> Mapping[str, WaitingServer]:
        """Programs are read for it, and those can be large: not on the loop."""
        from clawft.config.launch_approval import waiting_launch

        waiting = dict(self.servers.waiting)
        return await asyncio.to_thread(
            lambda: {
                name: waiting_launch(name, found, changed=self.has_changed(found)) for name, found in waiting.items()
            }
        )

    def has_changed(self, found: FoundServer) -> bool:
        """Whether it waits because it is not what was approved."""
        from clawft.config.launch_approval import has_changed

        return has_changed(self._approvals, found, self._sources)

    async def approve_launch(self, asked: WaitingServer) -> None:
        """Keep the approval and start it. Raises PermissionDenied if it is not what was asked about any more."""
        from clawft.config.launch_approval import launch_approval

        found = self.servers.waiting.get(asked.name)
        if found is None:
            return  # somebody else was faster
        approval = await asyncio.to_thread(launch_approval, found, self._sources, self._approvals.clock())
        if approval.pin != asked.pin:
            raise PermissionDenied(asked.name, "it has changed since it was asked about", hint="ask again")
        await asyncio.to_thread(self._approvals.add, approval)
        await self._apply()

    async def _reconnect(self, before: Stamps, now: Stamps) -> None:
        from clawft.config.watch import renewed

        for name in renewed(before, now):
            if self.name_any and name in self.servers.waiting:
                await self._apply()  # a script that was changed may be what was approved again
                continue
            try:
                await self._pool().reconnect(name, seconds=0.0)  # whoever asked waits for none, nor does the next
            except ClawftError as failed:
                log.warning("%s is not connected anew: %s", name, failed)

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)


def _unused(servers: Servers, before: Servers | None) -> Iterator[Callable[[], ClawftError | None]]:
    """What the files say that counts for nothing, and did not say `before`; each gives the reason."""
    from clawft.config.servers import Servers, named_twice, waits  # loaded with the servers

    known = before or Servers()
    errors = {str(each.error) for each in known.refused.values()}
    refused = (each for each in servers.refused.values() if str(each.error) not in errors)
    twice = ((name, found) for name, found in servers.found.items() if found.instead_of is not None)
    yield from (partial(getattr, each, "error") for each in refused)
    yield from (
        partial(waits, name, found) for name, found in servers.waiting.items() if known.waiting.get(name) != found
    )
    yield from (partial(named_twice, found) for name, found in twice if known.found.get(name) != found)
