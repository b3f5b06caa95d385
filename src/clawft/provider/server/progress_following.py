"""Routes progress of calls in flight back to their callers, by a token of ours for each call."""

from __future__ import annotations

from itertools import count

from msgspec import UNSET, Struct

from clawft.link.deadline import Deadline
from clawft.model import Talk
from clawft.model.protocols import is_of
from clawft.provider.base import RawTalk
from clawft.provider.server import relay
from clawft.provider.server.notices import MAX_PROGRESS_BYTES, read_progress


class _Followed(Struct):
    talk: Talk
    deadline: Deadline


class ProgressFollowing:
    """The calls in flight by token. Progress also extends the deadline of its call."""

    def __init__(self) -> None:
        self._followed: dict[int, _Followed] = {}
        self._tokens = count(1)

    def __len__(self) -> int:
        return len(self._followed)

    def begin(self, talk: Talk, deadline: Deadline) -> int:
        token = next(self._tokens)
        self._followed[token] = _Followed(talk, deadline)
        return token

    def hand_over(self, token: int, talk: Talk) -> None:
        """Send further progress to this talk, as the caller has left or has come back."""
        self._followed[token].talk = talk

    def end(self, token: int) -> None:
        del self._followed[token]

    def progressed(self, params: bytes) -> None:
        """Pass on a progress notification. One that belongs to no call in flight is dropped."""
        progress = read_progress(params)
        followed = self._followed.get(progress.progress_token) if progress else None
        if progress is None or followed is None:
            return
        followed.deadline.extend()
        if len(params) <= MAX_PROGRESS_BYTES and is_of(followed.talk, RawTalk):
            followed.talk.carry_progress(progress.progress, relay.told_of(params))
            return
        total = None if progress.total is UNSET else progress.total
        followed.talk.progress(progress.progress, total, "" if progress.message is UNSET else progress.message)
