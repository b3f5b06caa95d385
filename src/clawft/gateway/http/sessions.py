"""Sessions of handshake-era callers over HTTP: unguessable, bound to their principal, bounded and expiring."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from clawft.errors import Busy
from clawft.gateway.conversation import Conversation
from clawft.gateway.core import Gateway
from clawft.gateway.http.streams import EventStream
from clawft.model import LOCAL, Caller
from clawft.wire.revisions import REVISIONS

MAX_SESSIONS = 1_000
IDLE_SECONDS = 1_800.0
MAX_OF_ONE = 256
"""Sessions of one person with a token of an issuer: nobody pushes out the sessions of all others."""
MAX_STREAMS = 16
"""Streams of one session kept for resuming, with its own; there may be a thousand sessions."""


class Session:
    """A conversation, the stream for what belongs to no request, and the streams of its requests."""

    def __init__(self, gateway: Gateway, base: Caller) -> None:
        self.principal = base.principal
        self.id = secrets.token_urlsafe(32)
        self.own_stream = EventStream("0")
        self.conversation = Conversation(gateway, _with_session(base, self.id), self.own_stream)
        self.used = time.monotonic()
        self._streams: OrderedDict[str, EventStream] = OrderedDict({"0": self.own_stream})
        self._opened = 0

    def new_stream(self) -> EventStream:
        """For a request that has something to say before its answer."""
        self._opened += 1
        name = str(self._opened)
        primed = REVISIONS[self.conversation.caller.revision].polling
        stream = self._streams[name] = EventStream(name, primed=primed)
        if len(self._streams) > MAX_STREAMS:
            self._forget_one()
        return stream

    def stream(self, name: str) -> EventStream | None:
        return self._streams.get(name)

    def _forget_one(self) -> None:
        name = next((n for n, stream in self._streams.items() if stream.ended), None)
        if name is not None:
            del self._streams[name]

    @property
    def is_busy(self) -> bool:
        """Whether somebody listens, or waits for an answer."""
        return self.own_stream.busy or len(self.conversation.running) > 0

    def close(self) -> None:
        self.conversation.close()
        self.own_stream.end()


class Sessions:
    def __init__(self, gateway: Gateway, limit: int = MAX_SESSIONS, idle: float = IDLE_SECONDS) -> None:
        self._gateway = gateway
        self._limit = limit
        self._idle = idle
        self._open: OrderedDict[str, Session] = OrderedDict()
        """The longest unused first."""
        self._of: dict[str, OrderedDict[str, Session]] = {}
        """The sessions of each person, the longest unused first: none is looked for among all when one more comes."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._open.values()))

    def open(self, base: Caller) -> Session:
        self._expire()
        own = self._of.get(base.principal)
        if own is not None and base.principal != LOCAL and len(own) >= MAX_OF_ONE:
            self._evict(own.values())
        if len(self._open) >= self._limit:
            self._evict(chain(self._of_who_has_most(), self._open.values()))
        session = Session(self._gateway, base)
        self._open[session.id] = self._of.setdefault(base.principal, OrderedDict())[session.id] = session
        return session

    def find(self, id: str, caller: Caller) -> Session | None:
        """The session, if it is this caller's; someone else's looks like none.

        So does their own, to a token with other rights than it was opened with: they begin a new one, with those.
        """
        session = self._open.get(id)
        if session is None or not _is_same(session.conversation.caller, caller):
            return None
        self.touch(session)
        return session

    def touch(self, session: Session) -> None:
        """Somebody asks, or was answered."""
        session.used = time.monotonic()
        if session.id in self._open:
            self._open.move_to_end(session.id)
            self._of[session.principal].move_to_end(session.id)

    def end(self, session: Session) -> None:
        if self._open.pop(session.id, None) is not None:
            own = self._of[session.principal]
            del own[session.id]
            if not own:
                del self._of[session.principal]
        session.close()

    def close(self) -> None:
        for session in self:
            self.end(session)

    def _expire(self) -> None:
        limit = time.monotonic() - self._idle
        late = takewhile(lambda session: session.used < limit, self._open.values())
        for session in [each for each in late if not each.is_busy]:
            self.end(session)

    def _of_who_has_most(self) -> Iterable[Session]:
        """Of several who have as many, it is who has the longest unused."""
        most = max(map(len, self._of.values()))
        own = (self._of[session.principal] for session in self._open.values())
        return next(each for each in own if len(each) == most).values()

    def _evict(self, some: Iterable[Session]) -> None:
        """Make room: the longest unused of these without a running call goes."""
        for session in some:
            if not len(session.conversation.running):
                self.end(session)
                return
        raise Busy("busy: too many sessions are open, all with running calls", hint="end some with DELETE, or wait")


def _is_same(one: Caller, other: Caller) -> bool:
    if one.principal != other.principal or one.proof != other.proof:
        return False
    return one.grant is other.grant or one.grant == other.grant


def _with_session(base: Caller, id: str) -> Caller:
    return Caller(principal=base.principal, agent=base.agent, grant=base.grant, session=id[:8], proof=base.proof)
