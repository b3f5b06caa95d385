"""The duties of guards besides guarding calls: for lists, prompts, resources, and results that come late.

A guard names the protocols it implements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from clawft.errors import NotApproved
from clawft.guard.pipeline import Guard, ReplyGuard, WitnessGuard
from clawft.model import Call, Caller, Capabilities, Finish, Origin, Reply, Talk, Tool
from clawft.model.protocols import is_of
from clawft.policy.pseudo_tools import PROMPTS


class OfferUse(Struct, frozen=True):
    """A prompt or resource that is about to be used; `method` names what has to be approved for it."""

    method: str
    origin: Origin
    caller: Caller
    arguments: bytes
    talk: Talk


def unasked(caller: Caller) -> Caller:
    """The caller as one that cannot be asked, so that a guard refuses instead of asking."""
    return msgspec.structs.replace(caller, capabilities=Capabilities())


class ListGuard(Guard, Protocol):
    """A guard that hides tools from lists by the same rule by which it refuses their calls."""

    def shows(self, names: Sequence[str], caller: Caller) -> bool: ...


class DefinitionGuard(Guard, Protocol):
    """A guard that may withhold the definition of a tool from lists."""

    def withheld(self, tool: Tool, origin: Origin, caller: Caller) -> str:
        """The note shown in its place; empty if it is not withheld."""
        ...


class OfferGuard(Guard, Protocol):
    """A guard that also decides about prompts and resources."""

    async def refuses(self, use: OfferUse) -> str:
        """Why the prompt or resource may not be used; empty if it may."""
        ...

    def withholds(self, method: str, origin: Origin, caller: Caller) -> str:
        """The note shown in lists in place of its descriptions; empty if they are shown."""
        ...


class ContentsGuard(Guard, Protocol):
    """A guard that also sees the contents of resources and the messages of prompts."""

    async def contents(self, what: str, origin: Origin, result: bytes) -> bytes:
        """The result as it may pass; `what` names it for people. Raises TooLarge."""
        ...


class LateReplyGuard(Guard, Protocol):
    """A guard that treats results of tasks, which come after their call was answered, in its own way."""

    def finish_late(self, call: Call, reply: Reply) -> Reply: ...


class SideDuties:
    """The side duties of all guards as one object."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._lists = [guard for guard in guards if is_of(guard, ListGuard)]
        self._definitions = [guard for guard in guards if is_of(guard, DefinitionGuard)]
        self._offers = [guard for guard in guards if is_of(guard, OfferGuard)]
        self._contents = [guard for guard in reversed(guards) if is_of(guard, ContentsGuard)]
        self._late = [finish for guard in reversed(guards) if (finish := _finish_of(guard)) is not None]
        self._witnesses = [guard for guard in guards if is_of(guard, WitnessGuard)]

    def shows(self, names: Sequence[str], caller: Caller) -> bool:
        """Whether this caller may see what goes by these names."""
        return all(guard.shows(names, caller) for guard in self._lists)

    def withheld(self, tool: Tool, origin: Origin, caller: Caller) -> str:
        """The note shown in place of a tool's definition; empty if it is shown."""
        notes = (guard.withheld(tool, origin, caller) for guard in self._definitions)
        return next(filter(None, notes), "")

    def withheld_prompts(self, origin: Origin, caller: Caller) -> str:
        """The note shown in place of what a server's prompts say of themselves; empty if it is shown."""
        notes = (guard.withholds(PROMPTS, origin, caller) for guard in self._offers)
        return next(filter(None, notes), "")

    async def ensure(self, use: OfferUse) -> None:
        """Raises NotApproved for a use the person has to approve first."""
        for guard in self._offers:
            if why := await guard.refuses(use):
                raise NotApproved(why)

    async def passing(self, what: str, origin: Origin, result: bytes) -> bytes:
        """A resource or prompt as it may pass; `what` names it for people. Raises TooLarge."""
        for guard in self._contents:
            result = await guard.contents(what, origin, result)
        return result

    def noted(self, call: Call, began: float, ended: Reply | BaseException) -> None:
        """Record a use of a prompt or resource. Calls of tools are recorded on their own way."""
        for guard in self._witnesses:
            guard.noted(call, began, ended)

    def finish(self, call: Call, reply: Reply) -> Reply:
        """A late result as it may pass."""
        for finish in self._late:
            reply = finish(call, reply)
        return reply


def _finish_of(guard: Guard) -> Finish | None:
    if is_of(guard, LateReplyGuard):
        return guard.finish_late
    return guard.finish if is_of(guard, ReplyGuard) else None
