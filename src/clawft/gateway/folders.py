"""The folders of the agent, for servers that ask outside any call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, cast

from clawft.errors import ClawftError
from clawft.model import Caller, Question

ROOTS_SECONDS = 5.0
KEPT_SECONDS = 1.0
"""An answer is good for so long: a server that asks all the time does not get the agent to answer all the time."""

Roots = list[Mapping[str, Any]] | None


class ConversingAgent(Protocol):
    """Somebody in conversation with us."""

    caller: Caller

    async def ask_aside(self, question: Question) -> Mapping[str, Any]: ...


class Folders:
    """Only where there is one agent can its folders be meant; what several have is none of each other's business."""

    def __init__(self) -> None:
        self._agents: dict[ConversingAgent, None] = {}
        self._asking: asyncio.Task[Roots] | None = None
        """Whoever asks now, or has asked a moment ago."""

    def enter(self, agent: ConversingAgent) -> None:
        self._agents[agent] = None
        self.changed()

    def leave(self, agent: ConversingAgent) -> None:
        self._agents.pop(agent, None)
        self.changed()

    def changed(self) -> None:
        """What was told before holds no longer."""
        self._asking = None

    async def ask(self) -> Roots:
        """None if there is nobody, or more than one, or nothing to be had from them."""
        if self._asking is None:
            loop = asyncio.get_running_loop()
            self._asking = asking = loop.create_task(self._ask())
            asking.add_done_callback(lambda done: loop.call_later(KEPT_SECONDS, self._forget, done))
        return await asyncio.shield(self._asking)

    def _forget(self, asked: asyncio.Task[Roots]) -> None:
        if self._asking is asked:
            self._asking = None

    async def _ask(self) -> Roots:
        only = next(iter(self._agents)) if len(self._agents) == 1 else None
        if only is None or not only.caller.capabilities.roots:
            return None
        try:
            async with asyncio.timeout(ROOTS_SECONDS):
                told = (await only.ask_aside(Question("roots/list"))).get("roots")
        except (ClawftError, TimeoutError):
            return None
        return cast("list[Mapping[str, Any]]", told) if isinstance(told, list) else None
