"""The folders of the agent, for servers that ask outside any call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, cast

from clawft.errors import ClawftError
from clawft.model import Caller, Question

ROOTS_SECONDS = 5.0


class Agent(Protocol):
    """Somebody in conversation with us."""

    caller: Caller

    async def ask_aside(self, question: Question) -> Mapping[str, Any]: ...


class Folders:
    """Only where there is one agent can its folders be meant; what several have is none of each other's business."""

    def __init__(self) -> None:
        self._agents: dict[Agent, None] = {}

    def enter(self, agent: Agent) -> None:
        self._agents[agent] = None

    def leave(self, agent: Agent) -> None:
        self._agents.pop(agent, None)

    async def ask(self) -> list[Mapping[str, Any]] | None:
        """None if there is nobody, or more than one, or nothing to be had from them."""
        only = next(iter(self._agents)) if len(self._agents) == 1 else None
        if only is None or not only.caller.capabilities.roots:
            return None
        try:
            async with asyncio.timeout(ROOTS_SECONDS):
                told = (await only.ask_aside(Question("roots/list"))).get("roots")
        except (ClawftError, TimeoutError):
            return None
        return cast("list[Mapping[str, Any]]", told) if isinstance(told, list) else None
