"""Counts of what a server did wrong, by kind. They are shown in its status, and decide nothing."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct


class Faults(Struct, frozen=True):
    unasked: int = 0
    unreadable: int = 0
    too_long: int = 0
    slowed: int = 0
    """Seconds, all pauses together."""
    refused: int = 0
    asked: int = 0
    broken: int = 0
    malformed: int = 0

    def plus(self, more: Faults) -> Faults:
        counts, others = msgspec.structs.astuple(self), msgspec.structs.astuple(more)
        return Faults(*map(sum, zip(counts, others, strict=True)))

    def in_words(self) -> Mapping[str, int]:
        """The counts that are not 0, by the words for their kind."""
        return {words: count for kind, words in WORDS.items() if (count := getattr(self, kind))}


WORDS = {
    "unasked": "answers nobody waited for",
    "unreadable": "messages that cannot be read",
    "too_long": "messages too long",
    "slowed": "seconds we listened less, as it says too much",
    "refused": "questions refused",
    "asked": "requests, which servers of its era do not send",
    "broken": "streams of news that ended at once",
    "malformed": "answers that break the protocol",
}
