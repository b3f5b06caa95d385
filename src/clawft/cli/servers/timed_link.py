"""A link that measures how long each step takes."""

from __future__ import annotations

import time
from typing import Any

from clawft.link.base import Link, OutgoingRequest
from clawft.store.concealed_secrets import conceal


class TimedLink:
    """A link that notes how long opening it and each request took."""

    def __init__(self, link: Link, steps: list[tuple[str, float]]) -> None:
        self._link = link
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    async def open(self, *listeners: Any) -> None:
        began = time.perf_counter()
        await self._link.open(*listeners)
        self._note("start" if self._link.kind == "stdio" else "open", began)

    async def request(self, outgoing: OutgoingRequest, *deadline: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self._link.request(outgoing, *deadline)
        finally:
            self._note(outgoing.method, began)

    def last_words(self) -> str:
        return conceal(self._link.child.last_words()) if self._link.child is not None else ""

    def _note(self, step: str, began: float) -> None:
        self._steps.append((step, (time.perf_counter() - began) * 1000))
