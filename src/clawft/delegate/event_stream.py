"""Reads a streamed answer: the events of a model's API as JSON objects, read by us and not by its library.

The libraries rebuild everything received so far with each line and each piece of an argument. A few megabytes in small
pieces would hold up the event loop for minutes.
"""

from __future__ import annotations

import json  # and not msgspec: half a character in a text costs no answer
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from clawft.delegate.key import ApiKey
from clawft.delegate.sdk import Failures
from clawft.delegate.toolbox import NameMap
from clawft.delegate.turns import ModelAnswer, Say
from clawft.errors import ModelFailed
from clawft.model.encoded import without_surrogates
from clawft.wire.sse import EventReader

MAX_EVENT = 64 * 1024 * 1024
"""Bytes of one event; the size of the whole answer is bounded by the HTTP client."""
LAST = "[DONE]"
"""The data that ends a stream of Chat Completions."""


Create = Callable[..., AbstractAsyncContextManager[Any]]
"""The function of a library that asks for an answer; it takes the request body as keyword arguments."""


class AnswerStream(ABC):
    """One answer, put together from its events."""

    def __init__(self, say: Say, key: ApiKey, failures: Failures) -> None:
        self.is_whole = False
        """Nothing more is waited for."""
        self._say = say
        self._key = key
        self._failures = failures
        self._begun = False

    @abstractmethod
    def add(self, event: dict[str, Any]) -> None:
        """Raises whatever an event that is none of this API leads to; ModelFailed for an error."""

    @abstractmethod
    def answer(self, names: NameMap) -> ModelAnswer:
        """Raises ModelFailed if it is none, or not whole."""

    async def read(self, create: Create, body: Mapping[str, Any], names: NameMap) -> ModelAnswer:
        """From the request to the answer. Raises ModelFailed, whatever goes wrong."""
        try:
            async with create(stream=True, **body) as response:
                async for event in events_of(response, self._key):
                    self.add(event)
                    if self.is_whole:
                        break
            return self.answer(names)
        except ModelFailed:
            raise
        except Exception as broken:  # noqa: BLE001 - the library's errors, those of the HTTP client below it, odd answers
            raise self._failures.of(broken) from None


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
    decoded = without_surrogates(json.loads(data))
    if not isinstance(decoded, dict):
        raise ValueError(f"an event that is not an object: {data[:40]}")
    return decoded  # pyright: ignore[reportUnknownVariableType]  # whatever a server sends


class TextPieces:
    """A text that grows by pieces, joined only once."""

    def __init__(self, begun: str = "") -> None:
        self._pieces = [begun]

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def joined(self, key: ApiKey) -> str:
        """The whole text, with the key blotted out even if it came split over pieces."""
        return key.hidden_in_answer("".join(self._pieces))
