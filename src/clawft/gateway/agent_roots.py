"""The roots (workspace folders) of the connected agent, for servers that ask for them outside any call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, cast

from clawft.errors import ClawftError
from clawft.model import Caller, Question

ROOTS_SECONDS = 5.0
KEPT_SECONDS = 1.0
"""How long an answer is used again, so that a server that asks all the time does not bother the agent as often."""

Roots = list[Mapping[str, Any]] | None


class ConversingAgent(Protocol):
    """An agent that can be asked."""

    caller: Caller

    async def ask(self, question: Question) -> Mapping[str, Any]: ...


class AgentRoots:
    """Known only while exactly one agent is connected: of several, it is not clear whose roots are meant."""

    def __init__(self) -> None:
        self._agents: dict[ConversingAgent, None] = {}
        self._asking: asyncio.Task[Roots] | None = None
        """The question under way, or answered a moment ago."""

    def enter(self, agent: ConversingAgent) -> None:
        self._agents[agent] = None
        self.changed()

    def leave(self, agent: ConversingAgent) -> None:
        self._agents.pop(agent, None)
        self.changed()

    def changed(self) -> None:
        """Forget the last answer."""
        self._asking = None

    async def ask(self) -> Roots:
        """None if there is no agent, more than one, or one without roots."""
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
                roots = (await only.ask(Question("roots/list"))).get("roots")
        except (ClawftError, TimeoutError):
            return None
        return cast("list[Mapping[str, Any]]", roots) if isinstance(roots, list) else None
