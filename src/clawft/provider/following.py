"""Calls in flight that hear something before their answer: progress by our token, log messages by where they came."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from clawft.link.patience import Patience
from clawft.model import Call, LogLevel, Talk
from clawft.provider import relay
from clawft.upstream.upstream import Upstream


class Followed(Struct):
    token: int
    talk: Talk
    patience: Patience
    upstream: Upstream


class Said(Struct, frozen=True):
    """A log message of a server."""

    level: LogLevel
    data: Raw
    logger: str = ""


_said = msgspec.json.Decoder(Said)


def read_said(params: bytes) -> Said | None:
    """None for what is no log message; it is not worth an error."""
    try:
        return _said.decode(params)
    except msgspec.DecodeError:
        return None


class Following:
    """Each of them has a token of ours. A sign of life extends its deadline."""

    def __init__(self) -> None:
        self._followed: dict[int, Followed] = {}
        self._tokens = count(1)

    def begin(self, call: Call, patience: Patience, upstream: Upstream) -> Followed | None:
        """None for a call that wants to hear nothing, as most."""
        if not call.talk.level and not relay.wants_progress(call.meta):
            return None
        token = next(self._tokens)
        followed = self._followed[token] = Followed(token, call.talk, patience, upstream)
        return followed

    def end(self, followed: Followed) -> None:
        del self._followed[followed.token]

    def progressed(self, params: bytes) -> None:
        """A progress notice; one that belongs to no call in flight is nobody's."""
        said = relay.read_progress(params)
        followed = self._followed.get(said.progress_token) if said else None
        if said is None or followed is None:
            return
        followed.patience.extend()
        total = None if said.total is UNSET else said.total
        followed.talk.progress(said.progress, total, "" if said.message is UNSET else said.message)

    def said(self, said: Said, upstream: Upstream, stream: int | None) -> bool:
        """Give a log message to the call it belongs to. False if that cannot be told."""
        listening = [each for each in self._followed.values() if each.upstream is upstream and each.talk.level]
        if stream is not None:
            listening = [each for each in listening if each.patience.stream == stream]
        elif not upstream.logs_per_request and upstream.gate.running > 1:
            listening = []  # a server of the handshake era says everything to everyone: it may be about any of them
        if len(listening) != 1:
            return stream is not None  # on the stream of a call that did not ask for it
        data: Any = said.data
        listening[0].talk.log(said.level, data, said.logger)
        return True
