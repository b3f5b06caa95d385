"""Servers that remember who they talk to: each conversation gets a session of its own (`isolation = "per-session"`).

So does each person, with a server that is called in their name (`exchange`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from clawft.errors import Busy
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.upstream import Upstream

MAX_PRIVATE = 256


class PrivateSessions:
    """Made when a conversation first calls, ended with it. Idle ones give up their place like any other server."""

    def __init__(self, make: Callable[[UpstreamSpec], Upstream], limit: int = MAX_PRIVATE) -> None:
        self._make = make
        self._limit = limit
        self._kept: OrderedDict[tuple[str, str], Upstream] = OrderedDict()
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    def of(
        self, spec: UpstreamSpec, conversation: str, make: Callable[[UpstreamSpec], Upstream] | None = None
    ) -> Upstream:
        """The server as this conversation has it. Raises Busy if too many conversations hold one in use.

        `make`: where it takes another way than all others, as for a person whom the server knows by name.
        """
        key = (spec.name, conversation)
        if key not in self._kept:
            self._make_room()
            upstream = self._kept[key] = (make or self._make)(spec)
            upstream.private = True
            upstream.start()
        self._kept.move_to_end(key)
        return self._kept[key]

    def find(self, name: str, conversation: str) -> Upstream | None:
        """The one there is, which is in use again."""
        found = self._kept.get((name, conversation))
        if found is not None:
            self._kept.move_to_end((name, conversation))
        return found

    def _make_room(self) -> None:
        if len(self._kept) < self._limit:
            return
        oldest = next((key for key, upstream in self._kept.items() if not upstream.is_busy), None)
        if oldest is None:
            raise Busy(f"busy: {self._limit} conversations have a server of their own", hint="end some of them")
        self._end(oldest)

    def end(self, conversation: str) -> None:
        """The conversation is over; its servers stop in the background, and `close` waits for them."""
        for key in [key for key in self._kept if key[1] == conversation]:
            self._end(key)

    def end_one(self, name: str, conversation: str) -> None:
        if (name, conversation) in self._kept:
            self._end((name, conversation))

    def end_server(self, name: str) -> None:
        for key in [key for key in self._kept if key[0] == name]:
            self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        task = asyncio.get_running_loop().create_task(self._kept.pop(key).stop())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        for key in list(self._kept):
            self._end(key)
        await asyncio.gather(*self._ending, return_exceptions=True)
