"""The approval guard: the person decides about the first call of each tool of an untrusted server.

So with the first use of its prompts, and of its resources: one approval each. A definition that has changed since is
asked about again, and until then no model is shown its new text.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clawft.errors import ExecutionFailed, NotConnected
from clawft.guard.approval.book import Approvals
from clawft.guard.pipeline import QuickGuard
from clawft.guard.side_duties import DefinitionGuard, OfferGuard, OfferUse
from clawft.model import Allow, Ask, Call, Caller, Next, Origin, Reply, Tool, Verdict
from clawft.policy.approval import RULE, ApprovalStanding
from clawft.policy.pseudo_tools import RESOURCES_TOOL

if TYPE_CHECKING:  # loaded with the first use that nobody has let through yet
    from clawft.guard.approval.first_use import FirstUses
    from clawft.guard.approval.offers import Offers, ServersInUse

Asking = Literal["untrusted", "all"]
Key = tuple[str, str, str]


class ApprovalGuard(QuickGuard, DefinitionGuard, OfferGuard):
    """An approved call costs one look into a table; the file is looked at now and then, and before every question."""

    def __init__(
        self,
        book: Approvals,
        servers: Callable[[], ServersInUse],
        workspace: Path,
        *,
        asking: Asking = "untrusted",
        days: int = 0,
        relisted: Callable[[], None] = lambda: None,
    ) -> None:
        """`servers` are there from the first use of one on. `days`: how long an approval lasts, 0 for ever. `relisted`
        is called when withheld tools may be listed again.
        """
        self._book = book
        self._servers = servers
        self._workspace = workspace
        self._days = days
        self._asking = asking
        self._relisted = relisted
        self._open: dict[Key, Tool] = {}
        self._open_of: dict[str, set[Key]] = {}
        self._withheld = False
        book.changed = self._forget

    def applies(self, tool: Tool, origin: Origin) -> bool:
        """Whether the tool needs approval. Its own claim to be read-only counts from trusted servers only."""
        if not origin.server:
            return False
        return not origin.trusted or (self._asking == "all" and not tool.annotations.read_only_hint)

    @cached_property
    def _offers(self) -> Offers:
        from clawft.guard.approval.offers import Offers  # not needed by trusted servers

        return Offers(self._book, self._workspace, self._servers)

    @cached_property
    def _first_uses(self) -> FirstUses:
        from clawft.guard.approval.first_use import FirstUses  # not needed by trusted servers

        return FirstUses(self._book, self._offers, self._let_through, self._days)

    # ── a call ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def passes(self, call: Call) -> bool:
        """Whether this very tool was approved for this agent before."""
        if time.monotonic() >= self._book.look_at:
            self._book.look()
        return self._open.get((call.caller.principal, call.caller.agent, call.name)) is call.tool

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        return after(call) if self.passes(call) else self._first_use(call, after)

    async def _first_use(self, call: Call, after: Next) -> Reply:
        refusal = self._first_uses.refusal_at_once(call)
        if not refusal:
            try:
                await self._servers().up(call.origin.server, call.caller)
            except NotConnected as down:
                raise ExecutionFailed(down.message, hint=down.hint) from None
            call = self._offers.as_it_is_now(call)
            refusal = await self._first_uses.refusal(call)
        return Reply.error(refusal, refused=RULE) if refusal else await after(call)

    def _let_through(self, call: Call) -> None:
        key = (call.caller.principal, call.caller.agent, call.name)
        self._open[key] = call.tool
        self._open_of.setdefault(call.origin.server, set()).add(key)

    def forget(self, server: str) -> None:
        """The server's definitions have changed, or it is restarted: drop what was let through."""
        for key in self._open_of.pop(server, ()):
            self._open.pop(key, None)

    def _forget(self) -> None:
        """Other approvals are in force: drop everything that was let through."""
        self._open.clear()
        self._open_of.clear()
        if self._withheld:
            self._withheld = False
            self._relisted()

    # ── a prompt or a resource ───────────────────────────────────────────────────────────────────────────────────────

    async def refuses(self, use: OfferUse) -> str:
        """Why a prompt or resource may not be used. No table is kept for these, as they are used more seldom."""
        if not self.applies(RESOURCES_TOOL, use.origin):
            return ""
        refusal = self._first_uses.refusal_at_once(self._offers.beside_call(use))
        if refusal:
            return refusal
        await self._servers().up(use.origin.server, use.caller)
        return await self._first_uses.refusal(self._offers.beside_call(use))

    # ── what is shown meanwhile ──────────────────────────────────────────────────────────────────────────────────────

    def withheld(self, tool: Tool, origin: Origin, caller: Caller) -> str:
        """The note shown in place of a definition that was changed after it was approved; empty if it is shown."""
        if not self.applies(tool, origin):
            return ""
        if time.monotonic() >= self._book.look_at:
            self._book.look()
        if not self._book.knows(origin.server, tool.name):
            return ""
        judged = self._offers.judge(tool, origin, caller)
        if judged.standing is not ApprovalStanding.CHANGED:
            return ""
        self._withheld = True
        return f"Withheld. {judged.subject.why} Calling it asks the person; so does `{judged.subject.command}`."

    def withholds(self, method: str, origin: Origin, caller: Caller) -> str:
        if not self.applies(RESOURCES_TOOL, origin):
            return ""
        return self.withheld(self._offers.beside_tool(method, origin, caller), origin, caller)

    # ── what would be asked ──────────────────────────────────────────────────────────────────────────────────────────

    def verdict(self, tool: Tool, origin: Origin, caller: Caller) -> Verdict:
        """The verdict that a call would meet now, for `weft` commands: nobody is asked and nothing is stored."""
        if not origin.server:
            return Allow(RULE, "built-in tools need no approval")
        if not self.applies(tool, origin):
            return Allow(RULE, f"{origin.server} is trusted")
        self._book.look()
        judged = self._offers.judge(tool, origin, caller)
        if judged.standing is ApprovalStanding.APPROVED:
            return Allow(RULE, f"it was approved as it is (weft approvals list {origin.server})")
        if judged.standing is ApprovalStanding.NEW and judged.found.by is not None:
            return Allow(RULE, f"the glob {judged.found.by.tool!r} covers it")
        return Ask(RULE, judged.subject.why, judged.subject.command)
