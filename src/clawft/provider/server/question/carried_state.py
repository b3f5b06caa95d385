"""The data a relayed call needs in the request that continues it; carried in our signed requestState."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clawft.errors import BadParams
from clawft.upstream.session.peer import UnfinishedResult


class ParkedCall(Struct, tag="parked"):
    """The call is still open at its server."""

    id: str


class Round(Struct, tag="round"):
    """The server keeps nothing: its own questions and state, as they came."""

    wanted: UnfinishedResult


class RepeatedCall(Struct, tag="again"):
    """The person was sent to an address first; then the call is made again."""


class WorkingTask(Struct, tag="working"):
    """The call has become a task at its server, which waits for the answers."""

    id: str


CarriedCall = ParkedCall | Round | RepeatedCall | WorkingTask

encode = msgspec.json.encode


def read(raw: bytes) -> CarriedCall:
    try:
        return msgspec.json.decode(raw, type=CarriedCall)
    except msgspec.DecodeError:  # signed by us, so written by another version
        raise BadParams("requestState is of another version of clawft", hint="call again without it") from None
