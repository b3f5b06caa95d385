"""Connections to servers over HTTP, with the one bound that aiohttp lacks. Loads aiohttp: import it on first use."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import ServerDisconnectedError, TCPConnector
from aiohttp.client_proto import ResponseHandler

MAX_HEADS = 64
"""Heads of answers that wait to be read on one connection; `100 Continue` is one, and may come again and again."""


class _Bounded(ResponseHandler):
    """One connection. A server that sends heads without end is cut off."""

    def feed_data(self, data: Any, size: int = 0) -> None:
        if len(self._buffer) < MAX_HEADS:
            super().feed_data(data, size)
        else:
            self._cut_off()

    def _cut_off(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        self.set_exception(ServerDisconnectedError(f"more than {MAX_HEADS} answers to one request"))


class Connector(TCPConnector):
    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # an argument we do not give has no type
        self._factory = partial(_Bounded, loop=self._loop)  # aiohttp has no other place to say it
