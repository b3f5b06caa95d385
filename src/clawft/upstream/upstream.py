"""One server and its life: started, listed, watched, restarted with growing patience, given up honestly."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Generator, Hashable, Mapping, Sequence
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
)
from clawft.link.faults import Faults
from clawft.link.share.gate import Gate, sharer
from clawft.model import Era, Tool
from clawft.upstream.backoff import Backoff, Comeback
from clawft.upstream.flights import Flight, LeftCalls
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
from clawft.upstream.state import DOWN, ServerEvent, ServerState, move
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # a promise of others, that nobody asks for at run time
    from clawft.upstream.surroundings import Surroundings

OPEN_SECONDS = 60.0
"""For everything until a server is ready: start, handshake, lists."""

log = logging.getLogger("clawft.upstream")


class Upstream:
    """A server as the rest of the house sees it: a state, a list, and a session while it is connected."""

    private = False
    """Does one conversation, or one person, have it for itself?"""

    def __init__(
        self,
        spec: UpstreamSpec,
        surroundings: Surroundings,
        cache: SchemaCache,
        *,
        offers: bool = True,
        interest: Interest | None = None,
    ) -> None:
        """`offers`: whether it is its lists that are offered, and not those of another session with the same server.

        `interest`: what somebody watches there already.
        """
        self.spec = spec
        self._surroundings = surroundings
        self.lists = self._lists(cache) if offers else NoLists(spec, cache)
        self.interest = Interest() if interest is None else interest.pass_on()
        # its life
        self._life: asyncio.Task[None] | None = None
        self._loss: asyncio.Future[LinkError | None] | None = None
        self._wanted = asyncio.Event()
        """Set while it is to be open; a server that rests waits for it."""
        self.tried = asyncio.Event()
        """Set when the first try to connect has ended, well or not."""
        self.backoff = Backoff()
        self._comeback = Comeback()
        self.health = Health(spec.name)
        # its session
        self.session: Session | None = None
        self._ended: Session | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self._earlier_faults = Faults()
        # how it is
        self.state = ServerState.DISABLED
        self._changed = asyncio.Event()
        self.error = ""
        self.last_loss = ""
        """Why it was lost the last time; it may be back since."""
        self.step = ""
        """What we wait for, while it is being opened."""
        self.challenge = ""
        """What it said when it wanted a login."""
        self.login_url = ""
        """Where a person can log in to it now, if we wait for that."""
        self.since = self.used = time.monotonic()
        # who calls
        self.gate = Gate(spec.name, quiet=self._quiet, runs=self._runs)
        self.flights: dict[Flight, None] = {}
        """Calls at the server now, oldest first; those that wait for an answer of their agent are among them."""
        self.left = LeftCalls()
        self._callers = 0
        """Who wait for it to be there."""

    def _lists(self, cache: SchemaCache) -> Lists:
        around = self._surroundings
        return Lists(self.spec, cache, lambda parts: around.offer_changed(self, parts), around.room.place())

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.lists.tools

    @property
    def answers(self) -> ServerOffer | None:
        return self.lists.answers

    @property
    def faults(self) -> Faults:
        """What it did wrong, in this session and those before."""
        return self._earlier_faults.plus(self.session.faults) if self.session is not None else self._earlier_faults

    @property
    def logs_per_request(self) -> bool:
        """In the stateless era a server logs only for requests that want it, and only on their account."""
        return self.session is not None and self.session.peer.era is Era.STATELESS

    # ── from outside ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def rests(self) -> bool:
        """Nothing is wrong with it: it is opened when it is called."""
        return self.state is ServerState.PENDING and not self._wanted.is_set()

    def start(self, *, rest: bool = False, after: asyncio.Task[None] | None = None) -> None:
        """Begin, or begin again after having given up. `rest`: open only when it is called; `after`: not before."""
        if self._life is None or self._life.done():
            self.backoff.forgive()
            self._move(ServerEvent.ENABLE)
            life = self._live() if after is None else self._live_after(after)
            self._life = asyncio.get_running_loop().create_task(life, name=f"upstream {self.spec.name}")
            if rest:
                self.tried.set()
            else:
                self._wanted.set()
        else:
            self._comeback.call(at_once=True)

    async def stop(self) -> None:
        """Ends whatever runs; may be called twice. Whoever waits for its first try waits no longer."""
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
        """The live session, waiting for it if it is on its way. Raises NotConnected, saying why."""
        if self.session is not None and self.state in (ServerState.CONNECTED, ServerState.DEGRADED):
            return self.session
        self._callers += 1
        self._comeback.call()
        try:
            async with asyncio.timeout(seconds):
                while self.state is ServerState.PENDING or self._comeback.trying:
                    self._surroundings.slots.claim(self)
                    self._wanted.set()
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise self._absent(seconds) from None
        finally:
            self._callers -= 1
        if self.session is None:
            raise self._absent()
        return self.session

    @property
    def is_unknown(self) -> bool:
        """Is it on its way, and nothing remembered of what it offers?"""
        return self.state is ServerState.PENDING and self.answers is None

    def absence(self) -> NotConnected | None:
        """Why nobody knows what it offers; None if somebody does."""
        if self.answers is not None:
            return None
        return self._absent(time.monotonic() - self.since)

    def _absent(self, waited: float = 0.0) -> NotConnected:
        """`waited`: so many seconds, if it is still expected."""
        from clawft.upstream.reasons import no_place, not_connected, not_ready  # most servers are there

        slots = self._surroundings.slots
        if waited and slots.is_queued(self):
            return no_place(self.spec.name, waited, slots.limit)
        why = not_ready(waited, self.step) if waited else self.state.value
        return not_connected(self.spec.name, self.state, self.error or why)

    # ── as a holder of a place ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def idle(self) -> bool:
        ready = self.state in (ServerState.CONNECTED, ServerState.DEGRADED)
        return ready and not self.busy and not self._callers and not self.interest.resources

    @property
    def called(self) -> bool:
        return self._callers > 0

    @property
    def busy(self) -> bool:
        return self.gate.running > 0 or bool(self.flights)

    def give_way(self) -> None:
        self._wanted.clear()
        self._end_session(None)

    def _quiet(self) -> None:
        self.used = time.monotonic()
        self._surroundings.slots.look()

    def _runs(self, who: Hashable) -> bool:
        return any(sharer(flight.call.caller) == who for flight in self.flights)

    # ── the life ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _live_after(self, end: asyncio.Task[None]) -> None:
        await asyncio.wait({end})
        await self._live()

    async def _live(self) -> None:
        """Open while wanted, closed while not, opened again when lost; ends when there is no use in trying again."""
        while True:
            await self._wanted.wait()
            error = await self._one_life()
            if error is None:
                await self._close_session()
                continue
            self.error = self.last_loss = _words_of(error)
            wait = self._judge(error)
            if self.state in DOWN or not self._callers:
                self._surroundings.slots.leave(self)
            await self._close_session()
            self.tried.set()
            if wait is None:
                return
            await self._comeback.pause(self.state, wait)

    async def _one_life(self) -> ClawftError | OSError | None:
        """From opening to the end: why it ended, or None if it gave way to another."""
        try:
            await self._surroundings.slots.enter(self)
            loss = self._loss = asyncio.get_running_loop().create_future()
            session = await self._connect()
            return await self.health.watch(session, loss, self._found)
        except (ClawftError, OSError) as failed:
            return failed
        except Exception as broken:
            log.exception("%s: a bug of ours", self.spec.name)
            return ProtocolFailure(f"{type(broken).__name__}: {broken}")

    def _judge(self, error: ClawftError | OSError) -> float | None:
        """Where this leaves us, and how long to wait before the next try; None if there is none."""
        self._comeback.tried()
        if isinstance(error, NeedsAuth):
            self.challenge = error.challenge
        from clawft.upstream.verdict import judge, note  # most servers are not lost

        before = self.state
        verdict = judge(before, error, self.backoff, is_address=bool(self.spec.url))
        for event in verdict.moves:
            self._move(event)
        note(f"{self.spec.name}: {self.error}", before, self.state, verdict)
        if self.state is ServerState.PENDING:
            self._tell_state()
        return verdict.wait

    async def _connect(self) -> Session:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                with self._step("the handshake"):
                    self.session = session = await self._open()
                self.start_beside(keep_told(session, self.interest, self._list_changed))
                with self._step("tools/list"):
                    await self.lists.ask(session)
        except TimeoutError:
            raise LinkClosed(f"not ready after {OPEN_SECONDS:g} s") from None
        self.error = ""
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
        """What a server refuses with may be any words: they are told with what was asked of it."""
        self.step = name
        try:
            yield
        except JsonRpcFailure as refused:
            raise JsonRpcFailure(refused.error_code, f"{name}: {refused.message}", refused.error_data) from None
        finally:
            self.step = ""

    async def _open(self) -> Session:
        ways = await self._surroundings.link_to(self.spec)
        return await open_session(self.spec, ways, self, declared(self.spec), self.lists.era, self.did_wrong)

    def _found(self, finding: HealthFinding) -> None:
        if finding is not HealthFinding.WELL:
            self.error = self.health.error if finding is HealthFinding.MISSED else ""
            self._move(ServerEvent.MISSED if finding is HealthFinding.MISSED else ServerEvent.RECOVERED)

    async def _close_session(self) -> None:
        session, self.session = self.session or self._ended, None
        self._ended = None
        self.lists.settle()
        beside = tuple(self._beside)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        if session is not None:
            self.did_wrong(session.faults)
            await session.close()

    def did_wrong(self, faults: Faults) -> None:
        self._earlier_faults = self._earlier_faults.plus(faults)

    # ── what it offers ───────────────────────────────────────────────────────────────────────────────────────────────

    async def refresh(self, seconds: float = OPEN_SECONDS) -> None:
        """Ask for everything anew; what was known stays in place until all of it has come."""
        await self.lists.ask(await self.connected(seconds))

    async def read_tools(self) -> Sequence[Tool]:
        """What is known, while it is fresh; after that the server is asked."""
        if not self.lists.is_fresh():
            await self.refresh()
        return self.tools

    def renew(self) -> None:
        """Ask again for what is no longer fresh; who reads it meanwhile sees what is known."""
        if self.session is not None and not self.lists.is_fresh():
            self._list_changed()

    def _list_changed(self) -> None:
        self._read_again()

    def _read_again(self) -> asyncio.Task[None] | None:
        if not self.lists.invalidate() or self.session is None:
            return None
        return self.start_beside(self.lists.ask_again(self.session))

    def tell_roots_changed(self) -> None:
        if (session := self.session) is not None and session.peer.era is Era.HANDSHAKE and "roots" in self.spec.asks:
            self.start_beside(session.notify("notifications/roots/list_changed"))

    def start_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs along with the session, and ends with it."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    # ── as the listener of its session ───────────────────────────────────────────────────────────────────────────────

    def noticed(self, notification: Notification, stream: int | None) -> None:
        if notification.method in LIST_CHANGED:
            if reading := self._read_again():
                self._surroundings.lists_change(self, reading)
        elif not self.interest.heard(notification.method, notification.params):
            self._surroundings.noticed(self, notification, stream)

    async def asked(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        return await self._surroundings.asked(self, request, stream)

    def lost(self, error: LinkError) -> None:
        self._end_session(error)

    def _end_session(self, error: LinkError | None) -> None:
        """From now on no call finds the old session; closing it is up to the life."""
        if self._loss is None or self._loss.done():
            return
        self._loss.set_result(error)
        self.error = _words_of(error) if error is not None else ""
        if self.state in (ServerState.CONNECTED, ServerState.DEGRADED):
            self._ended, self.session = self.session, None
            self._move(ServerEvent.RESTED if error is None else ServerEvent.LOST)

    # ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _move(self, event: ServerEvent) -> None:
        before, self.state = self.state, move(self.state, event)
        if before is self.state and before in DOWN:
            self._changed.set()  # tried in vain: news for who waits for that try alone
            return
        self.since = time.monotonic()
        self._tell_state()

    def _tell_state(self) -> None:
        self._changed.set()
        self._surroundings.state_changed(self)


def _words_of(error: Exception) -> str:
    from clawft.upstream.reasons import words_of  # most servers are there

    return words_of(error)
