"""The protocols of guards, and how the ordered list of guards is composed once for all tools that share it.

A guard may answer, refuse or look at the reply. It never asks which other guards exist. To add one: write a class here
in `guard/`, give it a row in the list in `app/application.py`. The protocols it implements, here and in `side_duties`,
tell what else it does besides guarding calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import compress
from typing import Protocol

from msgspec import Struct

from clawft.catalog.names import canonical
from clawft.catalog.surface import CALL_TOOL
from clawft.model import Call, FastPath, Finish, Next, Origin, Reply, StartCall, Tool, Witness
from clawft.model.protocols import is_of


class Guard(Protocol):
    def applies(self, tool: Tool, origin: Origin) -> bool:
        """Whether this guard is for this tool. Asked once, when the tool is published."""
        ...

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        """Guard one call. Usually `async def`; one that only passes or refuses may return `after(call)` as it is."""
        ...


class QuickGuard(Guard, Protocol):
    """A guard that can tell at once for most calls that they pass."""

    def passes(self, call: Call) -> bool:
        """Whether the call passes; if not, the guard itself is called. May be asked twice about one call."""
        ...


class ReplyGuard(Guard, Protocol):
    """A guard that only finishes replies, including those that come after their call was answered."""

    def finish(self, call: Call, reply: Reply) -> Reply: ...


class WitnessGuard(Guard, Witness, Protocol):
    """A guard that records all calls, and all uses of prompts and resources."""


def hands_on(tool: Tool, origin: Origin) -> bool:
    """Whether the tool only calls another tool: that call passes all guards itself, and they know what is done."""
    return canonical(origin, tool.name) == CALL_TOOL


class _Part(Struct, frozen=True):
    """A guard and its abilities, found out once, as that takes longer than many a call."""

    guard: Guard
    witness: Witness | None
    passes: Callable[[Call], bool] | None
    finish: Finish | None


def _part(guard: Guard) -> _Part:
    return _Part(
        guard,
        guard if is_of(guard, Witness) else None,
        guard.passes if is_of(guard, QuickGuard) else None,
        guard.finish if is_of(guard, ReplyGuard) else None,
    )


class Pipeline:
    """The guards in their order, the first outermost."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._parts = [_part(guard) for guard in guards]

    def applying(self, tool: Tool, origin: Origin) -> tuple[bool, ...]:
        """Whether each of the guards applies to this tool. Tools with the same answer share one chain."""
        return tuple([part.guard.applies(tool, origin) for part in self._parts])

    def chain(self, applying: Sequence[bool], end: Callable[[Finish], Next]) -> Next:
        """Compose these guards around the last step.

        `end` makes that step and is given what it does to replies: an innermost guard that only finishes replies needs
        no step of its own.
        """
        parts = self._chosen(applying)
        finish = parts[-1].finish if parts else None
        step = end(finish or _as_it_is)
        for part in reversed(parts if finish is None else parts[:-1]):
            step = _bound(part.guard, step)
        return step

    def fast_path(self, applying: Sequence[bool], start: StartCall) -> FastPath | None:
        """The chain without a task, for calls that every guard passes at once; None if some guard never does."""
        passes: list[Callable[[Call], bool]] = []
        finish: Finish = _as_it_is
        witness: Witness = _NOBODY
        for part in reversed(self._chosen(applying)):
            if part.witness is not None:
                witness = part.witness
            elif part.passes is not None:
                passes.insert(0, part.passes)
            elif part.finish is not None:
                finish = part.finish if finish is _as_it_is else _one_by_one(finish, part.finish)
            else:
                return None
        return FastPath(tuple(passes), start, finish, witness)

    def _chosen(self, applying: Sequence[bool]) -> list[_Part]:
        return list(compress(self._parts, applying))


def _one_by_one(first: Finish, then: Finish) -> Finish:
    return lambda call, reply: then(call, first(call, reply))


class _Nobody:
    """A witness that keeps no record."""

    def noted(self, call: Call, began: float, ended: Reply | BaseException) -> None:
        pass

    def follow(self, call: Call, after: Next, began: float) -> Awaitable[Reply]:
        return after(call)


_NOBODY = _Nobody()


def _as_it_is(call: Call, reply: Reply) -> Reply:
    return reply


def _bound(guard: Guard, after: Next) -> Next:
    step = guard.__call__  # looked up once, and not for each call
    return lambda call: step(call, after)
