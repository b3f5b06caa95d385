"""What a relayed call leaves for the request that goes on with it. It travels in our signed requestState."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clawft.errors import BadParams
from clawft.upstream.session.peer import UnfinishedResult


class ParkedCall(Struct, tag="parked"):
    """The call waits at its server."""

    id: str


class Round(Struct, tag="round"):
    """The server keeps nothing: its own question and state, as they came."""

    wanted: UnfinishedResult


class RepeatedCall(Struct, tag="again"):
    """The person was sent to another place first; the call begins anew."""


class WorkingTask(Struct, tag="working"):
    """The call has become a task at its server, and the task waits for the answers."""

    id: str


CarriedCall = ParkedCall | Round | RepeatedCall | WorkingTask

encode = msgspec.json.encode


def read(raw: bytes) -> CarriedCall:
    try:
        return msgspec.json.decode(raw, type=CarriedCall)
    except msgspec.DecodeError:  # signed by us, so by another version of us
        raise BadParams("requestState is of another version of clawft", hint="call again without it") from None
