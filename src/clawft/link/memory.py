"""A server that is a table of answers, in the same process: for tests, ours and those of whoever uses this package.

```python
link = MemoryLink({
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}},
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    "tools/call": lambda asked: {"content": [{"type": "text", "text": "3"}]},
})
```
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from clawft.errors import METHOD_NOT_FOUND, ClawftError, JsonRpcFailure, LinkClosed, LinkError
from clawft.link.base import Incoming, LinkKind, Lost, OutgoingRequest
from clawft.link.deadline import Deadline, within
from clawft.link.faults import Faults
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.messages import Failure, JsonRpcError, Message, Notification, Request, Response

Answer = Mapping[str, Any] | bytes | ClawftError
"""A result, as an object or as its JSON; JsonRpcFailure is answered as an error; any other error is raised."""
Scripted = Answer | Callable[[OutgoingRequest], "Answer | Awaitable[Answer]"]


class MemoryLink:
    """Answers by method, -32601 where there is none. Everything that was sent is kept, in order."""

    kind: LinkKind = "sdk"
    child = None
    refused_notice = ""
    faults = Faults()

    def __init__(self, answers: Mapping[str, Scripted] | None = None) -> None:
        self.answers: dict[str, Scripted] = dict(answers or {})
        self.requests: list[OutgoingRequest] = []
        self.notices: list[Notification] = []
        self.replies: list[Message] = []
        """Our answers to the server's own questions."""
        self.revision = ""
        self.opened = 0
        self.closed = 0
        self._broken: LinkError | None = None

    @property
    def methods(self) -> list[str]:
        """Of every request, in order."""
        return [sent.method for sent in self.requests]

    async def open(self, incoming: Incoming, lost: Lost) -> None:
        self._incoming = incoming
        self._lost = lost
        self.opened += 1

    def settled(self, revision: str) -> None:
        self.revision = revision

    async def request(self, outgoing: OutgoingRequest, deadline: Deadline | None = None) -> Response | Failure:
        if self._broken is not None:
            raise self._broken
        self.requests.append(outgoing)
        id = b"%d" % len(self.requests)
        return _as_answer(id, await within(deadline, self._answer(outgoing)))

    async def _answer(self, outgoing: OutgoingRequest) -> Answer:
        missing = JsonRpcFailure(METHOD_NOT_FOUND, f"no answer is programmed for {outgoing.method}")
        scripted = self.answers.get(outgoing.method, missing)
        if not callable(scripted):
            return scripted
        made = scripted(outgoing)
        return await made if inspect.isawaitable(made) else made

    async def notify(self, method: str, params: bytes = b"") -> None:
        self.notices.append(Notification(method, params))

    async def answer(self, message: bytes) -> None:
        self.replies.append(reading.decode(message))

    async def close(self) -> None:
        self.closed += 1
        self._broken = self._broken or LinkClosed("the link was closed")

    # ── as the server ────────────────────────────────────────────────────────────────────────────────────────────────

    def say(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification to the client."""
        self._incoming(Notification(method, msgspec.json.encode(params or {})), None)

    def ask(self, id: int, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a request to the client; its answer lands in `replies`."""
        self._incoming(Request(b"%d" % id, method, msgspec.json.encode(params or {})), None)

    def break_off(self, error: LinkError | None = None) -> None:
        """Be gone, as a process that crashed."""
        self._broken = error or LinkClosed("the server is gone")
        self._lost(self._broken)


def _as_answer(id: bytes, answer: Answer) -> Response | Failure:
    if isinstance(answer, JsonRpcFailure):
        error = JsonRpcError(answer.error_code, answer.message, answer.error_data)
        return Failure(id, msgspec.json.encode(error))
    if isinstance(answer, ClawftError):
        raise answer
    return Response(id, answer if isinstance(answer, bytes) else msgspec.json.encode(answer))
