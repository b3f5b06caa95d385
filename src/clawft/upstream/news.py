"""Listeners to news of servers. The pool tells; the application listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec

from clawft.upstream.offer.lists import Parts
from clawft.upstream.upstream import Upstream
from clawft.wire.jsonrpc.messages import Notification, Request

P = ParamSpec("P")

Answerer = Callable[[Upstream, Request, int | None], Awaitable[Mapping[str, Any]]]
"""Answers a question of a server's; raises JsonRpcFailure to refuse it."""


class Topic(Generic[P]):
    """One kind of change; those who listen hear of it in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, None]] = []

    def listen(self, listener: Callable[P, None]) -> None:
        self._listeners.append(listener)

    def tell(self, *what: P.args, **named: P.kwargs) -> None:
        for listener in self._listeners:
            listener(*what, **named)


class News:
    def __init__(self) -> None:
        self.added: Topic[[Upstream]] = Topic()
        self.removed: Topic[[Upstream]] = Topic()
        self.arranged: Topic[[Sequence[str]]] = Topic()
        """Of all that run the names, in the order they have now."""
        self.state_changed: Topic[[Upstream]] = Topic()
        self.offer_changed: Topic[[Upstream, Parts]] = Topic()
        self.notification: Topic[[Upstream, Notification, int | None]] = Topic()
        self.answer_request: Answerer | None = None
