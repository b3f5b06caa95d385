"""What is heard from one server over HTTP: how it may speak, how much it says, and what was wrong with that."""

from __future__ import annotations

import logging

from clawft.errors import WireError
from clawft.link.faults import Faults
from clawft.link.share.noise import Noise

SHOWN_BAD_EVENTS = 5
"""Events of one link that are no messages, as far as each is told."""

log = logging.getLogger("clawft.link")


class Heard:
    def __init__(self, url: str) -> None:
        """`url`: as it may be shown."""
        self._url = url
        self.noise = Noise()
        self.batches = False
        """May it send several messages as one?"""
        self.lists = 0
        """That are asked for."""
        self.bad_events = self.long_events = self.unasked = 0

    @property
    def faults(self) -> Faults:
        return Faults(self.unasked, self.bad_events, self.long_events, int(self.noise.paused))

    def note_bad_event(self, wrong: WireError) -> None:
        self.bad_events += 1
        if self.bad_events <= SHOWN_BAD_EVENTS:
            log.warning("%s sent an event that is no message: %s", self._url, wrong)
