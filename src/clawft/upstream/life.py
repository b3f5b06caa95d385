"""One life of a server, until it is stopped or given up: connect, serve, lose, back off, and again.

All that happens to a server happens here. What others see of it is written to the `Upstream` whose life it is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawft.errors import ClawftError, JsonRpcFailure, LinkClosed, LinkError, NeedsAuth, ProtocolFailure
from clawft.upstream.backoff import Comeback
from clawft.upstream.health import HealthFinding
from clawft.upstream.interest.subscriber import keep_subscribed
from clawft.upstream.session.capabilities import declared
from clawft.upstream.session.opening import open_session
from clawft.upstream.session.session import Session
from clawft.upstream.state import DOWN, ServerEvent, ServerState

if TYPE_CHECKING:  # which begins it
    from clawft.upstream.surroundings import Surroundings
    from clawft.upstream.upstream import Upstream

OPEN_SECONDS = 60.0
"""For everything until a server is ready: start, handshake, lists."""

log = logging.getLogger("clawft.upstream")


class Life:
    """The task that keeps a server open while it is wanted, and all that others may do to it."""

    def __init__(self, server: Upstream, surroundings: Surroundings) -> None:
        self._server = server
        self._surroundings = surroundings
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        """Set while the server is to be open; until then a resting one waits for it."""
        self._comeback = Comeback()
        self._loss: asyncio.Future[LinkError | None] | None = None
        """Why the session is over, once it is; None if it gave its slot to another."""
        self._lost_session: Session | None = None
        """Taken away from callers already, and still to be closed."""

    # ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, *, rest: bool, after: asyncio.Task[None] | None) -> None:
        """`rest`: open only for a call; `after`: a task to wait for."""
        work = self._run() if after is None else self._run_after(after)
        self._task = asyncio.get_running_loop().create_task(work, name=f"upstream {self._server.spec.name}")
        if rest:
            self._server.tried.set()
        else:
            self._wanted.set()

    @property
    def is_over(self) -> bool:
        """Whether the server was given up for good."""
        return self._task is not None and self._task.done()

    @property
    def is_wanted(self) -> bool:
        return self._wanted.is_set()

    @property
    def is_coming(self) -> bool:
        return self._server.state is ServerState.PENDING or self._comeback.trying

    def want(self) -> None:
        """A call waits: take a slot now if possible, and open."""
        self._surroundings.slots.claim(self._server)
        self._wanted.set()

    def try_again(self, *, at_once: bool = False) -> None:
        """Somebody wants a server that counts as given up: it is tried, unless that has just been in vain."""
        self._comeback.call(at_once=at_once)

    def rest(self) -> None:
        """Close until the next call."""
        self._wanted.clear()
        self.lose(None)

    def lose(self, error: LinkError | None) -> None:
        """Take the session away from callers; the loop closes it. None: it gave its slot to another."""
        if self._loss is None or self._loss.done():
            return
        server = self._server
        self._loss.set_result(error)
        server.condition = server.condition.with_error(_words_of(error) if error is not None else "")
        if server.condition.is_open:
            self._lost_session, server.session = server.session, None
            server.happened(ServerEvent.RESTED if error is None else ServerEvent.LOST)

    async def end(self) -> None:
        """End whatever runs; may be called twice."""
        task, self._task = self._task, None  # what it ended with holds its frames, and they hold us
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._comeback.tried()
        await self._close_session()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run_after(self, end: asyncio.Task[None]) -> None:
        await asyncio.wait({end})
        await self._run()

    async def _run(self) -> None:
        """Keep it open while it is to be, and open it again when it is lost, until it is given up."""
        server = self._server
        while True:
            await self._wanted.wait()
            error = await self._connect_and_serve()
            if error is None:
                await self._close_session()
                continue
            wait = self._plan_next_try(error)
            if server.state in DOWN or not server.waiting:
                self._surroundings.slots.leave(server)
            await self._close_session()
            server.tried.set()
            if wait is None:
                return
            await self._comeback.pause(server.state, wait)

    async def _connect_and_serve(self) -> ClawftError | OSError | None:
        """Open a session and keep it to its end. Why it ended, or None if it gave its slot to another."""
        try:
            await self._surroundings.slots.enter(self._server)
            loss = self._loss = asyncio.get_running_loop().create_future()
            session = await self._connect()
            return await self._server.health.watch(session, loss, self._health_checked)
        except (ClawftError, OSError) as failed:
            return failed
        except Exception as broken:
            log.exception("%s: internal error, a bug in weft", self._server.spec.name)
            return ProtocolFailure(f"{type(broken).__name__}: {broken}")

    def _plan_next_try(self, error: ClawftError | OSError) -> float | None:
        """Change the condition by this error. Seconds to the next try; None if there is none."""
        from clawft.upstream.verdict import judge, note  # most servers are not lost

        server = self._server
        challenge = error.challenge if isinstance(error, NeedsAuth) else None
        server.condition = server.condition.lost(_words_of(error), challenge)
        self._comeback.tried()
        before = server.state
        verdict = judge(before, error, server.backoff, is_address=bool(server.spec.url))
        for event in verdict.moves:
            server.happened(event)
        note(server.spec.name, server.error, before, server.state, verdict)
        if server.state is ServerState.PENDING:
            server.announce()
        return verdict.wait

    # ── connect ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _connect(self) -> Session:
        server = self._server
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                with self._step("the handshake"):
                    server.session = session = await self._open()
                session.start_task(keep_subscribed(session, server.interest, server.lists_changed))
                with self._step("tools/list"):
                    await server.lists.ask(session)
        except TimeoutError:
            raise LinkClosed(f"not ready after {OPEN_SECONDS:g} s") from None
        self._connected()
        return session

    async def _open(self) -> Session:
        server = self._server
        ways = await self._surroundings.link_to(server.spec)
        return await open_session(server.spec, ways, server, declared(server.spec), server.lists.era, server.add_faults)

    @contextmanager
    def _step(self, name: str) -> Generator[None]:
        """A refusal during this step names the step, as the words of the server may be anything."""
        server = self._server
        server.condition = server.condition.at_step(name)
        try:
            yield
        except JsonRpcFailure as refused:
            raise JsonRpcFailure(refused.error_code, f"{name}: {refused.message}", refused.error_data) from None
        finally:
            server.condition = server.condition.at_step("")

    def _connected(self) -> None:
        server = self._server
        server.condition = server.condition.with_error("")
        server.health.begin()
        server.backoff.worked()
        self._comeback.tried()
        server.used = time.monotonic()
        server.happened(ServerEvent.OPENED)
        server.interest.missed()
        server.tried.set()
        self._surroundings.slots.look()

    # ── serve, and close ─────────────────────────────────────────────────────────────────────────────────────────────

    def _health_checked(self, finding: HealthFinding) -> None:
        server = self._server
        if finding is not HealthFinding.WELL:
            missed = finding is HealthFinding.MISSED
            server.condition = server.condition.with_error(server.health.error if missed else "")
            server.happened(ServerEvent.MISSED if missed else ServerEvent.RECOVERED)

    async def _close_session(self) -> None:
        server = self._server
        session, server.session = server.session or self._lost_session, None
        self._lost_session = None
        server.lists.settle()
        if session is not None:
            await session.end_tasks()
            server.add_faults(session.faults)
            await session.close()


def _words_of(error: Exception) -> str:
    from clawft.upstream.reasons import words_of  # most servers are there

    return words_of(error)
