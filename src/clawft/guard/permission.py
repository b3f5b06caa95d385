"""The permission guard: which tools a caller may see. A hidden tool does not exist, in lists and in calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from clawft.errors import MAX_TOLD, ToolNotFound
from clawft.guard.pipeline import QuickGuard
from clawft.guard.side_duties import ListGuard
from clawft.model import Call, Caller, Grant, Next, Origin, Reply, Tool
from clawft.policy.grant import visible


def unknown(name: str) -> ToolNotFound:
    """One wording for missing and for hidden tools, so that callers cannot tell them apart."""
    return ToolNotFound(f"unknown tool: {name[:MAX_TOLD]}", hint="call tools/list to see the available tools")


class Permission(QuickGuard, ListGuard):
    def __init__(self, names_of: Callable[[Call], Sequence[str]]) -> None:
        """`names_of` gives every spelling of a tool, so that a grant may use any of them."""
        self._names_of = names_of
        self._known: dict[tuple[Grant, tuple[str, ...]], bool] = {}

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    def shows(self, names: Sequence[str], caller: Caller) -> bool:
        return visible(names, caller.grant)

    def passes(self, call: Call) -> bool:
        return call.caller.grant is _EVERYTHING or self._may(call)

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        if not self.passes(call):
            raise unknown(call.asked or call.name)
        return after(call)

    def _may(self, call: Call) -> bool:
        key = (call.caller.grant, tuple(self._names_of(call)))
        known = self._known.get(key)
        if known is None:
            if len(self._known) > _MAX_REMEMBERED:
                self._known.clear()
            known = self._known[key] = visible(key[1], call.caller.grant)
        return known


_EVERYTHING = Caller().grant
"""The grant of callers without restrictions: the same object for all of them."""
_MAX_REMEMBERED = 50_000
