"""Guards: one type, one ordered list, composed once per tool.

A guard may answer, refuse or look at the reply. It never asks which other guards exist. To add one: write a class here
in `guard/`, give it a row in the list in `app.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from clawft.model import Call, Caller, Next, Origin, Reply, Talk, Tool


class Use(Struct, frozen=True):
    """A prompt or a resource of somebody that is about to be used; `method` is the request that does it."""

    method: str
    origin: Origin
    caller: Caller
    arguments: bytes
    talk: Talk


class Guard(Protocol):
    def applies(self, tool: Tool, origin: Origin) -> bool:
        """Has this guard anything to say about this tool? Asked once, when the tool is published."""
        ...

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        """Usually an `async def`. A guard that only lets pass or refuses may return `after(call)` as it is."""
        ...


@runtime_checkable
class ListGuard(Protocol):
    """A guard with a list side: the same rule decides what is listed and what can be called."""

    def shows(self, names: Sequence[str], caller: Caller) -> bool: ...


Finish = Callable[[Call, Reply], Reply]


@runtime_checkable
class ReplyGuard(Protocol):
    """A guard that has to see every result, also one that comes after its call has been answered.

    To finish the reply is all it does for a call, too.
    """

    def finish(self, call: Call, reply: Reply) -> Reply: ...


@runtime_checkable
class FaceGuard(Protocol):
    """A guard that may withhold what a tool says of itself. Asked when a list is made, and never for a call."""

    def withheld(self, tool: Tool, origin: Origin, caller: Caller) -> str:
        """What stands in its place; empty if nothing does."""
        ...


@runtime_checkable
class BesideGuard(Protocol):
    """A guard that is asked about what a server has beside its tools, too: its prompts and resources."""

    async def refuses(self, use: Use) -> str:
        """Why it may not be used; empty if it may."""
        ...


def compose(guards: Sequence[Guard], tool: Tool, origin: Origin, end: Callable[[Finish], Next]) -> Next:
    """The way down for one tool: the first guard of the list is outermost.

    `end` gives the last step, told how replies are finished there: a guard that does only that, and is the innermost,
    needs no step of its own.
    """
    applying = [guard for guard in guards if guard.applies(tool, origin)]
    last = applying[-1] if applying else None
    finishes = isinstance(last, ReplyGuard)
    step = end(last.finish if finishes else _as_it_is)
    for guard in reversed(applying[:-1] if finishes else applying):
        step = _bound(guard, step)
    return step


def _as_it_is(call: Call, reply: Reply) -> Reply:
    return reply


def _bound(guard: Guard, after: Next) -> Next:
    step = guard.__call__  # found once, and not for each call
    return lambda call: step(call, after)
