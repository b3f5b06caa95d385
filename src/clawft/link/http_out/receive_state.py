"""The state that both HTTP links keep about the messages of one server: how fast it may send them, and their faults."""

from __future__ import annotations

import logging

from clawft.errors import LinkClosed, WireError
from clawft.link.faults import Faults
from clawft.link.share.read_throttle import ReadThrottle

SHOWN_BAD_EVENTS = 5
"""Events of one link that are no messages: so many are logged."""

log = logging.getLogger("clawft.link")


class ReceiveState:
    def __init__(self, server: str) -> None:
        """`server`: its name, or its address as it may be shown."""
        self._server = server
        self.throttle = ReadThrottle()
        self.batches = False
        """Whether the server may send JSON-RPC batches."""
        self.pending_lists = 0
        """List requests that have no answer yet."""
        self.bad_events = self.long_events = self.unasked = 0

    @property
    def faults(self) -> Faults:
        return Faults(self.unasked, self.bad_events, self.long_events, int(self.throttle.paused))

    def note_end(self, closed: LinkClosed) -> None:
        """A request has ended like this. What could be read as far as that is no message was counted before."""
        self.bad_events += closed.is_garbled

    def note_bad_event(self, wrong: WireError) -> None:
        self.bad_events += 1
        if self.bad_events <= SHOWN_BAD_EVENTS:
            log.warning("%s sent an event that is not a message: %s", self._server, wrong)
