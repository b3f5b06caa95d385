"""One HTTP request that was let in: its headers, its caller, and both directions of its connection."""

from __future__ import annotations

from collections.abc import Callable

from clawft.link import asgi
from clawft.link.asgi import Receive, Scope, Send
from clawft.model import Caller
from clawft.wire.headers import Headers


class Visit:
    __slots__ = ("caller", "headers", "receive", "scope", "send")

    def __init__(self, scope: Scope, headers: Headers, caller: Caller, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.headers = headers
        self.caller = caller
        self.receive = receive
        self.send = send

    def watch(self, gone: Callable[[], object]) -> Callable[[], object]:
        """Have `gone` called when the caller leaves; call what this returns when that is no longer of interest."""
        tell = self.scope.get("extensions", _NONE).get(asgi.TELL_WHEN_GONE)
        if tell is not None:
            return tell(gone)
        return asgi.Watch(self.receive, gone).stop


_NONE: dict[str, Callable[[Callable[[], object]], Callable[[], object]]] = {}
