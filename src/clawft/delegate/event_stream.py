"""An answer while it comes: the events of a model's API as JSON objects, read by us and not by its library.

The libraries put together anew what has come so far, with each line and with each piece of an argument. A few megabytes
in small pieces would hold up everybody else for minutes.
"""

from __future__ import annotations

import json  # and not msgspec: half a character in a text costs no answer
from collections.abc import AsyncIterator
from typing import Any

from clawft.delegate.key import ApiKey
from clawft.model.encoded import whole
from clawft.wire.sse import EventReader

MAX_EVENT = 64 * 1024 * 1024
"""Bytes of one event; the whole answer is bounded before."""
LAST = "[DONE]"
"""How Chat Completions say that nothing more comes."""


async def events_of(response: Any, key: ApiKey) -> AsyncIterator[dict[str, Any]]:
    """One after the other, without the key that was sent. Raises ValueError for what is no object."""
    reader = EventReader(MAX_EVENT)
    async for chunk in response.iter_bytes():
        for event in reader.feed(chunk):
            if event.data.startswith(LAST):
                return
            if event.data:
                yield _object(key.hidden_in_answer(event.data))


def _object(data: str) -> dict[str, Any]:
    told = whole(json.loads(data))
    if not isinstance(told, dict):
        raise ValueError(f"an event that is no object: {data[:40]}")
    return told  # pyright: ignore[reportUnknownVariableType]  # whatever a server sends


class TextPieces:
    """A text that grows, without being copied each time."""

    def __init__(self, begun: str = "") -> None:
        self._pieces = [begun]

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def joined(self, key: ApiKey) -> str:
        """Without the key, should it have come in pieces."""
        return key.hidden_in_answer("".join(self._pieces))
