"""Decodes log messages of a server, and decides which call they belong to. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from clawft.model import LogLevel
from clawft.model.protocols import is_of
from clawft.provider.base import RawTalk
from clawft.provider.server import relay
from clawft.upstream.flights import Flight
from clawft.wire.strings import clipped_json

MAX_SAID_BYTES = 64 * 1024
"""Size of one message; of a longer one the beginning of its text is passed on."""
MAX_TOLD_BYTES = 16 * 1024
MAX_LOGGER_BYTES = 200


class LogParams(Struct, frozen=True, omit_defaults=True):
    level: LogLevel
    data: Raw
    logger: str = ""


class _LongSaid(Struct):
    level: LogLevel
    data: Raw
    logger: Raw = Raw(b'""')


def read_said(params: bytes) -> LogParams | None:
    """The message; None if it is malformed, which is not worth an error."""
    try:
        if len(params) > MAX_SAID_BYTES:
            return _shortened(msgspec.json.decode(params, type=_LongSaid))
        return msgspec.json.decode(params, type=LogParams)
    except msgspec.DecodeError:
        return None


def _shortened(said: _LongSaid) -> LogParams:
    shortened = clipped_json(said.data, MAX_TOLD_BYTES)
    return LogParams(said.level, Raw(msgspec.json.encode(shortened)), clipped_json(said.logger, MAX_LOGGER_BYTES))


def belongs_to(flights: Collection[Flight], stream: int | None, *, per_request: bool) -> Flight | None:
    """The call a message is about; None if that is uncertain, or the call asked for no messages.

    The stream it came on tells. Without one (a pipe has none) there must be only one candidate: of the calls that want
    messages, where the server sends them for a request, else of all.
    """
    if stream is not None:
        found = [flight for flight in flights if flight.stream == stream]
    else:
        found = [flight for flight in flights if flight.call.talk.level or not per_request]
    return found[0] if len(found) == 1 and found[0].call.talk.level else None


def is_wanted(flights: Collection[Flight], *, per_request: bool) -> bool:
    """Whether any call can have asked for the message: some servers send them only during a request."""
    return not per_request or any(flight.call.talk.level for flight in flights)


def pass_on(flight: Flight, said: LogParams, params: bytes) -> None:
    talk, data = flight.call.talk, cast("Any", said.data)
    if len(params) <= MAX_SAID_BYTES and is_of(talk, RawTalk):
        talk.carry_log(said.level, relay.told_of(params))
    else:
        talk.log(said.level, data, said.logger)
