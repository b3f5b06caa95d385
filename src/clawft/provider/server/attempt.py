"""One attempt to have a request answered by a server."""

from __future__ import annotations

from msgspec import Struct

from clawft.model import Call
from clawft.upstream.session.session import Session
from clawft.upstream.upstream import Upstream


class Attempt(Struct, frozen=True):
    """A call, or a read that is made like one, and the session it is sent in."""

    call: Call
    upstream: Upstream
    session: Session
    seconds: float
    """How long the server may be silent."""
    is_last: bool = False
    """Whether it fails when it is lost, instead of being repeated."""
