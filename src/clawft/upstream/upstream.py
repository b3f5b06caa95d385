"""One server and its life: started, listed, watched, restarted after growing pauses, given up in the end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clawft.errors import (
    ClawftError,
    JsonRpcFailure,
    LinkClosed,
    LinkError,
    NeedsAuth,
    NotConnected,
    ProtocolFailure,
    UnreadableAnswer,
)
from clawft.link.faults import Faults
from clawft.link.share.gate import Gate, sharer
from clawft.model import Era, Tool
from clawft.upstream.backoff import Backoff, Comeback
from clawft.upstream.flights import AbandonedCalls, Flight
from clawft.upstream.health import Health, HealthFinding
from clawft.upstream.interest.interest import Interest
from clawft.upstream.interest.telling import keep_told
from clawft.upstream.offer.cache import SchemaCache
from clawft.upstream.offer.lists import LIST_CHANGED, Lists, NoLists
from clawft.upstream.offer.server_offer import ServerOffer
from clawft.upstream.session.capabilities import declared
from clawft.upstream.session.opening import open_session
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import DOWN, Condition, ServerEvent, ServerState
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # a promise of others, that nobody asks for at run time
    from clawft.upstream.surroundings import Surroundings

OPEN_SECONDS = 60.0
"""For everything until a server is ready: start, handshake, lists."""

log = logging.getLogger("clawft.upstream")


class Upstream:
    """A server as the rest of the program sees it: a state, its lists, and a session while it is connected."""

    private = False
    """Whether a single conversation or person has it for itself."""

    def __init__(
        self,
        spec: UpstreamSpec,
        surroundings: Surroundings,
        cache: SchemaCache,
        *,
        offers: bool = True,
        interest: Interest | None = None,
    ) -> None:
        """`offers`: False for a further session with a server whose lists come from another one.

        `interest`: what is watched at this server already.
        """
        self.spec = spec
        self._surroundings = surroundings
        self.lists = self._lists(cache) if offers else NoLists(spec, cache)
        self.interest = Interest() if interest is None else interest.pass_on()
        # its life
        self._life: asyncio.Task[None] | None = None
        self._loss: asyncio.Future[LinkError | None] | None = None
        self._to_be_open = asyncio.Event()
        """Set while the server is to be open; until then a resting one waits for it."""
        self.tried = asyncio.Event()
        """Set when the first try to connect has ended, well or not."""
        self.backoff = Backoff()
        self._comeback = Comeback()
        self.health = Health(spec.name)
        # its session
        self.session: Session | None = None
        self._ended: Session | None = None
        self._earlier_faults = Faults()
        # how it is
        self.condition = Condition(time.monotonic())
        self._changed = asyncio.Event()
        self.login_url = ""
        """Where a person can log in now, while such an offer stands."""
        self.used = time.monotonic()
        # who calls
        self.gate = Gate(spec.name, quiet=self._went_idle, runs=self._has_call_of)
        self.flights: dict[Flight, None] = {}
        """Calls at the server now, oldest first, including those that wait for an answer of their agent."""
        self.abandoned = AbandonedCalls()
        self._callers = 0
        """How many calls wait for it to be connected."""

    def _lists(self, cache: SchemaCache) -> Lists:
        around = self._surroundings
        return Lists(self.spec, cache, lambda parts: around.offer_changed(self, parts), around.room.place())

    @property
    def state(self) -> ServerState:
        return self.condition.state

    @property
    def error(self) -> str:
        """Why it is not there, or not well; empty while nothing is wrong."""
        return self.condition.error

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.lists.tools

    @property
    def offer(self) -> ServerOffer | None:
        return self.lists.offer

    @property
    def faults(self) -> Faults:
        """What the server did wrong, in this session and earlier ones."""
        return self._earlier_faults.plus(self.session.faults) if self.session is not None else self._earlier_faults

    @property
    def logs_per_request(self) -> bool:
        """Whether it logs only for requests that ask for it, as servers of the stateless era do."""
        return self.session is not None and self.session.peer.era is Era.STATELESS

    # ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_resting(self) -> bool:
        """Whether it is closed without anything being wrong; the next call opens it."""
        return self.state is ServerState.PENDING and not self._to_be_open.is_set()

    def start(self, *, rest: bool = False, after: asyncio.Task[None] | None = None) -> None:
        """Begin, or begin again after it was given up. `rest`: open only for a call; `after`: a task to wait for."""
        if self._life is None or self._life.done():
            self.backoff.forgive()
            self._move(ServerEvent.ENABLE)
            life = self._run() if after is None else self._run_after(after)
            self._life = asyncio.get_running_loop().create_task(life, name=f"upstream {self.spec.name}")
            if rest:
                self.tried.set()
            else:
                self._to_be_open.set()
        else:
            self._comeback.call(at_once=True)

    async def stop(self) -> None:
        """End whatever runs; may be called twice. Whoever waits for the first try waits no longer."""
        self.tried.set()
        life, self._life = self._life, None
        if life is not None:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)
        await self._close_session()
        self._surroundings.slots.leave(self)
        self.lists.leave()
        self.gate.let_go()
        if self.state is not ServerState.DISABLED:
            self._move(ServerEvent.DISABLE)

    async def connected(self, seconds: float) -> Session:
        """The open session, after waiting for it if need be. Raises NotConnected, saying why."""
        if self.session is not None and self.condition.is_open:
            return self.session
        self._callers += 1
        self._comeback.call()
        try:
            async with asyncio.timeout(seconds):
                while self.state is ServerState.PENDING or self._comeback.trying:
                    self._surroundings.slots.claim(self)
                    self._to_be_open.set()
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise self._not_connected(seconds) from None
        finally:
            self._callers -= 1
        if self.session is None:
            raise self._not_connected()
        return self.session

    @property
    def is_unknown(self) -> bool:
        """Whether it is being opened and nothing is remembered of what it offers."""
        return self.state is ServerState.PENDING and self.offer is None

    def absence(self) -> NotConnected | None:
        """Why nothing is known of what it offers; None if something is."""
        if self.offer is not None:
            return None
        return self._not_connected(time.monotonic() - self.condition.since)

    def _not_connected(self, waited: float = 0.0) -> NotConnected:
        """`waited`: the seconds that were waited, if it is still expected."""
        from clawft.upstream.reasons import no_slot, not_connected, not_ready  # most servers are there

        slots = self._surroundings.slots
        if waited and slots.is_queued(self):
            return no_slot(self.spec.name, waited, slots.limit)
        why = not_ready(waited, self.condition.step) if waited else self.state.value
        return not_connected(self.spec.name, self.state, self.error or why)

    # ── as a holder of a slot ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_idle(self) -> bool:
        return self.condition.is_open and not self.is_busy and not self._callers and not self.interest.resources

    @property
    def has_callers(self) -> bool:
        return self._callers > 0

    @property
    def is_busy(self) -> bool:
        return self.gate.running > 0 or bool(self.flights)

    def give_way(self) -> None:
        self._to_be_open.clear()
        self._end_session(None)

    def _went_idle(self) -> None:
        self.used = time.monotonic()
        self._surroundings.slots.look()

    def _has_call_of(self, who: Hashable) -> bool:
        return any(sharer(flight.call.caller) == who for flight in self.flights)

    # ── its life ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run_after(self, end: asyncio.Task[None]) -> None:
        await asyncio.wait({end})
        await self._run()

    async def _run(self) -> None:
        """Keep it open while it is to be, and open it again when it is lost, until it is given up."""
        while True:
            await self._to_be_open.wait()
            error = await self._run_once()
            if error is None:
                await self._close_session()
                continue
            challenge = error.challenge if isinstance(error, NeedsAuth) else None
            self.condition = self.condition.lost(_words_of(error), challenge)
            wait = self._plan_next_try(error)
            if self.state in DOWN or not self._callers:
                self._surroundings.slots.leave(self)
            await self._close_session()
            self.tried.set()
            if wait is None:
                return
            await self._comeback.pause(self.state, wait)

    async def _run_once(self) -> ClawftError | OSError | None:
        """Open a session and keep it to its end. Why it ended, or None if it gave its slot to another."""
        try:
            await self._surroundings.slots.enter(self)
            loss = self._loss = asyncio.get_running_loop().create_future()
            session = await self._connect()
            return await self.health.watch(session, loss, self._health_checked)
        except (ClawftError, OSError) as failed:
            return failed
        except Exception as broken:
            log.exception("%s: a bug of ours", self.spec.name)
            return ProtocolFailure(f"{type(broken).__name__}: {broken}")

    def _plan_next_try(self, error: ClawftError | OSError) -> float | None:
        """Change the state by this error. Seconds to the next try; None if there is none."""
        self._comeback.tried()
        from clawft.upstream.verdict import judge, note  # most servers are not lost

        before = self.state
        verdict = judge(before, error, self.backoff, is_address=bool(self.spec.url))
        for event in verdict.moves:
            self._move(event)
        note(f"{self.spec.name}: {self.error}", before, self.state, verdict)
        if self.state is ServerState.PENDING:
            self._announce_state()
        return verdict.wait

    async def _connect(self) -> Session:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                with self._step("the handshake"):
                    self.session = session = await self._open()
                session.start_task(keep_told(session, self.interest, self._lists_changed))
                with self._step("tools/list"):
                    await self.lists.ask(session)
        except TimeoutError:
            raise LinkClosed(f"not ready after {OPEN_SECONDS:g} s") from None
        self.condition = self.condition.with_error("")
        self.health.begin()
        self.backoff.worked()
        self._comeback.tried()
        self.used = time.monotonic()
        self._move(ServerEvent.OPENED)
        self.interest.missed()
        self.tried.set()
        self._surroundings.slots.look()
        return session

    @contextmanager
    def _step(self, name: str) -> Generator[None]:
        """A refusal during this step names the step, as the words of the server may be anything."""
        self.condition = self.condition.at_step(name)
        try:
            yield
        except JsonRpcFailure as refused:
            raise JsonRpcFailure(refused.error_code, f"{name}: {refused.message}", refused.error_data) from None
        finally:
            self.condition = self.condition.at_step("")

    async def _open(self) -> Session:
        ways = await self._surroundings.link_to(self.spec)
        return await open_session(self.spec, ways, self, declared(self.spec), self.lists.era, self.add_faults)

    def _health_checked(self, finding: HealthFinding) -> None:
        if finding is not HealthFinding.WELL:
            missed = finding is HealthFinding.MISSED
            self.condition = self.condition.with_error(self.health.error if missed else "")
            self._move(ServerEvent.MISSED if missed else ServerEvent.RECOVERED)

    async def _close_session(self) -> None:
        session, self.session = self.session or self._ended, None
        self._ended = None
        self.lists.settle()
        if session is not None:
            await session.end_tasks()
            self.add_faults(session.faults)
            await session.close()

    def add_faults(self, faults: Faults) -> None:
        self._earlier_faults = self._earlier_faults.plus(faults)

    def failed_a_request(self, error: ClawftError) -> None:
        """What is no message at all was counted where it came in."""
        if isinstance(error, ProtocolFailure) and not isinstance(error, UnreadableAnswer):
            self.add_faults(Faults(malformed=1))

    # ── what it offers ───────────────────────────────────────────────────────────────────────────────────────────────

    async def refresh(self, seconds: float = OPEN_SECONDS) -> None:
        """Read all lists again; the old ones stay in place until all have come."""
        await self.lists.ask(await self.connected(seconds))

    async def read_tools(self) -> Sequence[Tool]:
        """The tools as they are remembered, or read from the server if they are no longer fresh."""
        if not self.lists.is_fresh():
            await self.refresh()
        return self.tools

    def refresh_stale(self) -> None:
        """Begin to read the lists again if they are no longer fresh; readers see the old ones meanwhile."""
        if self.session is not None and not self.lists.is_fresh():
            self._lists_changed()

    def _lists_changed(self) -> None:
        self._read_lists_again()

    def _read_lists_again(self) -> asyncio.Task[None] | None:
        if not self.lists.invalidate() or self.session is None:
            return None
        return self.session.start_task(self.lists.ask_again(self.session))

    def notify_roots_changed(self) -> None:
        if (session := self.session) is not None and session.peer.era is Era.HANDSHAKE and "roots" in self.spec.asks:
            session.start_task(session.notify("notifications/roots/list_changed"))

    # ── as the listener of its session ───────────────────────────────────────────────────────────────────────────────

    def on_notification(self, notification: Notification, stream: int | None) -> None:
        if notification.method in LIST_CHANGED:
            if reading := self._read_lists_again():
                self._surroundings.lists_changing(self, reading)
        elif not self.interest.heard(notification.method, notification.params):
            self._surroundings.on_notification(self, notification, stream)

    async def answer_request(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        return await self._surroundings.answer_request(self, request, stream)

    def on_lost(self, error: LinkError) -> None:
        self._end_session(error)

    def _end_session(self, error: LinkError | None) -> None:
        """Take the session away from callers; `_run` closes it."""
        if self._loss is None or self._loss.done():
            return
        self._loss.set_result(error)
        self.condition = self.condition.with_error(_words_of(error) if error is not None else "")
        if self.condition.is_open:
            self._ended, self.session = self.session, None
            self._move(ServerEvent.RESTED if error is None else ServerEvent.LOST)

    # ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _move(self, event: ServerEvent) -> None:
        before, self.condition = self.condition, self.condition.after(event, time.monotonic())
        if self.condition is before:
            self._changed.set()  # a failed try is news only to calls that wait for it
        else:
            self._announce_state()

    def _announce_state(self) -> None:
        self._changed.set()
        self._surroundings.state_changed(self)


def _words_of(error: Exception) -> str:
    from clawft.upstream.reasons import words_of  # most servers are there

    return words_of(error)
