"""One server as the rest of the program sees it. What happens to it over time happens in its `Life`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clawft.errors import ClawftError, LinkError, NotConnected, ProtocolFailure, UnreadableAnswer
from clawft.link.faults import Faults
from clawft.link.share.gate import Gate, sharer
from clawft.model import Era, Tool
from clawft.upstream.backoff import Backoff
from clawft.upstream.flights import AbandonedCalls, Flight
from clawft.upstream.health import Health
from clawft.upstream.interest.interest import Interest
from clawft.upstream.life import OPEN_SECONDS, Life
from clawft.upstream.offer.cache import SchemaCache
from clawft.upstream.offer.lists import LIST_CHANGED, Lists, NoLists
from clawft.upstream.offer.server_offer import ServerOffer
from clawft.upstream.session.session import Session
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.state import Condition, ServerEvent, ServerState
from clawft.upstream.waiting_callers import WaitingCallers
from clawft.wire.jsonrpc.messages import Notification, Request

if TYPE_CHECKING:  # a promise of others, that nobody asks for at run time
    from clawft.upstream.surroundings import Surroundings


class Upstream:
    """One server: its condition, its lists, and a session while it is connected.

    What each call needs is an attribute of its own, so that a call looks nothing up elsewhere.
    """

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
        self._life: Life | None = None
        """None again once it is stopped: each holds the other, and what is gone should be freed at once."""
        self.condition = Condition(time.monotonic())
        self.waiting = WaitingCallers()
        self.tried = asyncio.Event()
        """Set when the first try to connect has ended, well or not."""
        self.backoff = Backoff()
        self.health = Health(spec.name)
        self._earlier_faults = Faults()
        self.login_url = ""
        """Where a person can log in now, while such an offer stands."""
        # its calls
        self.session: Session | None = None
        """While it is open, for calls to take."""
        self.used = time.monotonic()
        self.gate = Gate(spec.name, quiet=self._went_idle, runs=self._has_call_of)
        self.flights: dict[Flight, None] = {}
        """Calls at the server now, oldest first, including those that wait for an answer of their agent."""
        self.abandoned = AbandonedCalls()
        self.unclear_questions = 0
        """Of which it could not be told whose they were."""

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
    def logs_per_request(self) -> bool:
        """Whether it logs only for requests that ask for it, as servers of the stateless era do."""
        return self.session is not None and self.session.peer.era is Era.STATELESS

    # ── its life ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self, *, rest: bool = False, after: asyncio.Task[None] | None = None) -> None:
        """Begin, or begin again after it was given up. `rest`: open only for a call; `after`: a task to wait for."""
        if self._life is None or self._life.is_over:
            self._life = Life(self, self._surroundings)
            self.backoff.forgive()
            self.happened(ServerEvent.ENABLE)
            self._life.begin(rest=rest, after=after)
        else:
            self._life.try_again(at_once=True)

    async def stop(self) -> None:
        """End whatever runs; may be called twice. Whoever waits for the first try waits no longer."""
        self.tried.set()
        if self._life is not None:
            await self._life.end()
        self._life = None
        self._surroundings.slots.leave(self)
        self.lists.leave()
        self.gate.let_go()
        if self.state is not ServerState.DISABLED:
            self.happened(ServerEvent.DISABLE)

    def happened(self, event: ServerEvent) -> None:
        """Change its state by this event, and tell whoever is concerned. Raises IllegalMove."""
        before, self.condition = self.condition, self.condition.after(event, time.monotonic())
        if self.condition is before:
            self.waiting.look_again()  # a failed try is news only to calls that wait for it
        else:
            self.announce()

    def announce(self) -> None:
        """Tell all who want to know how it is."""
        self.waiting.look_again()
        self._surroundings.state_changed(self)

    @property
    def is_resting(self) -> bool:
        """Whether it is closed without anything being wrong; the next call opens it."""
        return self.state is ServerState.PENDING and not (self._life is not None and self._life.is_wanted)

    # ── for callers ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def connected(self, seconds: float) -> Session:
        """The open session, after waiting for it if need be. Raises NotConnected, saying why."""
        if self.session is not None and self.condition.is_open:
            return self.session
        if (life := self._life) is not None:
            life.try_again()
            try:
                await self.waiting.wait_for(life, seconds)
            except TimeoutError:
                raise self._not_connected(seconds) from None
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
        return self.condition.is_open and not self.is_busy and not self.waiting and not self.interest.resources

    @property
    def has_callers(self) -> bool:
        return bool(self.waiting)

    @property
    def is_busy(self) -> bool:
        return self.gate.running > 0 or bool(self.flights)

    def give_way(self) -> None:
        if self._life is not None:
            self._life.rest()

    def _went_idle(self) -> None:
        self.used = time.monotonic()
        self._surroundings.slots.look()

    def _has_call_of(self, who: Hashable) -> bool:
        return any(sharer(flight.call.caller) == who for flight in self.flights)

    # ── what it did wrong ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def faults(self) -> Faults:
        """In this session and earlier ones."""
        return self._earlier_faults.plus(self.session.faults) if self.session is not None else self._earlier_faults

    def add_faults(self, faults: Faults) -> None:
        self._earlier_faults = self._earlier_faults.plus(faults)

    def failed_a_request(self, error: ClawftError) -> None:
        """Count a broken rule of the protocol. Bytes that are no message at all were counted where they came in."""
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
            self.lists_changed()

    def lists_changed(self) -> None:
        """Begin to read them again, unless that has begun."""
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
        if self._life is not None:
            self._life.lose(error)
