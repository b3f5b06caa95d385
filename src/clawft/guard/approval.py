"""Approval: the first call of each tool of an untrusted server is the person's decision.

So is the first use of its prompts, and of its resources: one approval each. Asked by elicitation where the agent can
pass a question on, else refused with the command that grants it. A definition that has changed since is asked about
again, and until then no model is shown its new text.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, ExecutionFailed, NotConnected
from clawft.guard.approvals import Approvals, bounded
from clawft.guard.asking import Unanswered, answer_to
from clawft.guard.consent import ONCE, SEEN, ConsentSubject, chosen, question, question_key, why
from clawft.guard.sides import BesideUse
from clawft.model import LOCAL, Allow, Ask, Call, Caller, Era, InputRequired, Next, Origin, Reply, Tool, Verdict
from clawft.policy.approval import (
    ANYONE,
    Approval,
    ApprovalStanding,
    PinnedUse,
    UseStanding,
    approval_of,
    approved_text,
)
from clawft.policy.beside_tools import RESOURCES_TOOL, prompts_of
from clawft.policy.pin import ShownText, changed, offer_pin, shown_tool, tool_pin

LOOK_SECONDS = 0.5
"""How soon a running weft notices what was granted, revoked, or has run out."""
DAY = 24 * 60 * 60.0
RULE = "approval"

MAX_NOTED = 1_000
"""Questions of which we remember that they were declined, or what there was when they were put."""

Asking = Literal["untrusted", "all"]
Turn = tuple[str, str, str, str]
T = TypeVar("T")

log = logging.getLogger("clawft")


class OfferedTools(Struct, frozen=True):
    """What a server offers now, and what it tells every model."""

    tools: Sequence[Tool] = ()
    instructions: str = ""
    local: bool = False
    """Is it a server that a file of the workspace names?"""


Beside = Callable[[str, Caller], Sequence[Tool]]
"""What a server has beside its tools, put as tools, for this caller."""


Up = Callable[[str, Caller], Awaitable[None]]
"""Returns when a server is up: from then on we know it from its own words. Raises NotConnected."""
Key = tuple[str, str, str]


def _nothing(server: str, caller: Caller) -> Sequence[Tool]:
    return ()


async def _is_up(server: str, caller: Caller) -> None:
    return


class ApprovalGuard:
    """An approved call costs one look into a table; the file is looked at now and then, and before every question."""

    def __init__(
        self,
        book: Approvals,
        offered: Callable[[str, Caller], OfferedTools],
        workspace: Path,
        *,
        asking: Asking = "untrusted",
        days: int = 0,
        relisted: Callable[[], None] = lambda: None,
        beside: Beside = _nothing,
        up: Up = _is_up,
    ) -> None:
        """`days`: how long an answer holds, 0 for ever. `relisted`: tools that were withheld may be shown now."""
        self._book = book
        self._offered = offered
        self._workspace = str(workspace)
        self._asking = asking
        self._days = days
        self._relisted = relisted
        self._beside = beside
        self._up = up
        self._open: dict[Key, Tool] = {}
        self._open_of: dict[str, set[Key]] = {}
        self._withheld = False
        self._look_at = 0.0
        self._turns: dict[Turn, asyncio.Lock] = {}
        self._declined: dict[Turn, tuple[float, str]] = {}
        """When a question was last not answered with a yes, and how that is told."""
        self._put: dict[Turn, str] = {}
        """Questions that a later call answers: a pin of all there was when they were put."""
        book.changed = self._forget

    def applies(self, tool: Tool, origin: Origin) -> bool:
        """What a tool says of its own harmlessness counts from trusted servers only."""
        if not origin.server:
            return False
        return not origin.trusted or (self._asking == "all" and not tool.annotations.read_only_hint)

    def passes(self, call: Call) -> bool:
        """Whether this very tool was approved for this agent before."""
        if time.monotonic() >= self._look_at:
            self._look()
        return self._open.get((call.caller.principal, call.caller.agent, call.name)) is call.tool

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        return after(call) if self.passes(call) else self._first_use(call, after)

    def _look(self) -> None:
        self._look_at = time.monotonic() + LOOK_SECONDS
        self._book.look()

    def _forget(self) -> None:
        """Other approvals hold than before."""
        self._open.clear()
        self._open_of.clear()
        if self._withheld:
            self._withheld = False
            self._relisted()

    def forget(self, server: str) -> None:
        """It says something else now, or will be started anew: what it says then is judged anew."""
        for key in self._open_of.pop(server, ()):
            self._open.pop(key, None)

    # ── a first use ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _first_use(self, call: Call, after: Next) -> Reply:
        refusal = self._at_once(call)
        if not refusal:
            try:
                await self._up(call.origin.server, call.caller)
            except NotConnected as down:
                raise ExecutionFailed(down.message, hint=down.hint) from None
            call = self._as_it_is_now(call)
            refusal = await self._refusal(call)
        return Reply.error(refusal, refused=RULE) if refusal else await after(call)

    async def refuses(self, use: BesideUse) -> str:
        """Prompts and resources are not used often enough to keep a table of them."""
        if not self.applies(RESOURCES_TOOL, use.origin):
            return ""
        refusal = self._at_once(self._beside_call(use))
        if refusal:
            return refusal
        await self._up(use.origin.server, use.caller)
        return await self._refusal(self._beside_call(use))

    def _beside_call(self, use: BesideUse) -> Call:
        tool = self._stand_in(use.method, use.origin, use.caller)
        return Call(use.caller, _beside_name(use.origin, use.method), tool, use.origin, use.arguments, talk=use.talk)

    def _at_once(self, call: Call) -> str:
        """Whether it is up or not: nobody has approved anything of this name, and nobody can be asked."""
        self._look()
        found, subject = self._judged(call.tool, call.origin, call.caller)
        unknown = found.standing is ApprovalStanding.UNKNOWN and not call.caller.capabilities.elicit_form
        return _refused(subject) if unknown else ""

    def _as_it_is_now(self, call: Call) -> Call:
        """A server may say something else than it did when it was called: it was not up yet, or somebody was asked."""
        beside = call.name == _beside_name(call.origin, call.tool.name)
        server, caller = call.origin.server, call.caller
        told = self._beside(server, caller) if beside else self._offered(server, caller).tools
        tool = next((tool for tool in told if tool.name == call.tool.name), call.tool)
        return call if tool.wire == call.tool.wire else msgspec.structs.replace(call, tool=tool)

    def _stand_in(self, method: str, origin: Origin, caller: Caller) -> Tool:
        known = (each for each in self._beside(origin.server, caller) if each.name == method)
        return next(known, RESOURCES_TOOL if method == RESOURCES_TOOL.name else prompts_of(()))

    async def _refusal(self, call: Call) -> str:
        """Empty if the call may go on."""
        began = time.monotonic()
        subject = await self._to_ask(call)
        if subject is None:
            return ""
        if not call.caller.capabilities.elicit_form:
            return _refused(subject)
        turn = (call.caller.principal, call.caller.session, call.caller.agent, call.name)
        lock = self._turns.setdefault(turn, asyncio.Lock())
        try:
            async with lock:  # of ten calls at once one asks; the others go by its answer
                return await self._ask(call, turn, began)
        finally:
            if not lock.locked():
                self._turns.pop(turn, None)

    async def _to_ask(self, call: Call) -> ConsentSubject | None:
        """What has to be asked; None if nothing, and then the next call is let through at once."""
        self._look()
        offered = self._offered(call.origin.server, call.caller)
        wire, instructions = call.tool.wire, offered.instructions
        use = self._use(call.caller, call.origin.server, call.tool.name, tool_pin(wire, instructions), offered)
        found = self._book.judge(use)
        if found.standing is ApprovalStanding.NEW:
            await self._store(lambda: [self._approval(use, shown_tool(wire, instructions))])
        if found.standing in (ApprovalStanding.APPROVED, ApprovalStanding.NEW):
            self._let_through(call)
            return None
        differs, place = _differences(found, wire, instructions), self._place(offered)
        return ConsentSubject(call.origin.server, call.tool, use.pin, offered.instructions, differs, place)

    def _let_through(self, call: Call) -> None:
        key = (call.caller.principal, call.caller.agent, call.name)
        self._open[key] = call.tool
        self._open_of.setdefault(call.origin.server, set()).add(key)

    async def _ask(self, call: Call, turn: Turn, began: float) -> str:
        call = self._as_it_is_now(call)  # it may have waited while another was asked
        subject = await self._to_ask(call)
        if subject is None:
            return ""
        when, refusal = self._declined.get(turn, (0.0, ""))
        if when > began:
            return refusal
        answer, others = await self._answer(call, subject, turn)
        if isinstance(answer, Unanswered) or not answer:
            refusal = _declined(subject, answer)
            _note(self._declined, turn, (time.monotonic(), refusal))
            return refusal
        if answer != ONCE:
            await self._store(self._approvals(call, others, subject.instructions))
        changed = self._changed_since(call, subject)
        return _refused(changed) if changed is not None else ""

    async def _answer(self, call: Call, subject: ConsentSubject, turn: Turn) -> tuple[str | Unanswered, Sequence[Tool]]:
        """What they say, and which tools it covers beside the one they were shown: those there were when we asked."""
        key, everything = question_key(subject), self._all(call)
        now = offer_pin((tool.wire for tool in everything), subject.instructions)
        put = self._put.pop(turn, "" if call.caller.era is Era.STATELESS else now)
        try:
            told = await answer_to(call, key, question(subject, _readable(call.arguments)))
        except InputRequired:  # a later call brings the answer
            _note(self._put, turn, now)
            raise
        answer = told if isinstance(told, Unanswered) else _said(subject, told)
        return answer, everything if answer == subject.everything and put == now else ()

    def _changed_since(self, call: Call, subject: ConsentSubject) -> ConsentSubject | None:
        """Whoever answers has read what was asked, and a server may use the time to say something else."""
        now = self._as_it_is_now(call)
        found, changed = self._judged(now.tool, call.origin, call.caller)
        if changed.pin == subject.pin or found.standing is ApprovalStanding.APPROVED:
            return None
        return msgspec.structs.replace(changed, differs=changed.differs or ("its definition",))

    def _all(self, call: Call) -> Sequence[Tool]:
        server = call.origin.server
        return (*self._offered(server, call.caller).tools, *self._beside(server, call.caller))

    def _use(self, caller: Caller, server: str, tool: str, pinned: str, offered: OfferedTools) -> PinnedUse:
        return PinnedUse(server, tool, pinned, caller.agent, self._workspace, caller.principal, offered.local)

    def _place(self, offered: OfferedTools) -> str:
        """Where the command that grants it must know it from; empty for a server of the user's own."""
        return self._workspace if offered.local else ""

    # ── what was answered ────────────────────────────────────────────────────────────────────────────────────────────

    def _approvals(self, call: Call, others: Sequence[Tool], instructions: str) -> Callable[[], list[Approval]]:
        """Of what there was when the person was asked. Whoever calls this makes them, which takes long for many."""
        server = call.origin.server
        offered = self._offered(server, call.caller)
        tools = {tool.name: tool.wire for tool in (*others, call.tool)}
        uses = [(self._use(call.caller, server, name, "", offered), wire) for name, wire in tools.items()]
        return lambda: [bounded(self._approval(use, shown_tool(wire, instructions))) for use, wire in uses]

    def _approval(self, use: PinnedUse, shown: ShownText) -> Approval:
        """Of this very text, for all agents; of a server that the workspace names, in this workspace alone."""
        now = self._book.clock()
        return approval_of(
            use.server,
            use.tool,
            shown,
            now,
            expires=now + self._days * DAY if self._days else None,
            workspace=use.workspace if use.local else ANYONE,
            principal=ANYONE if use.principal == LOCAL else use.principal,
        )

    async def _store(self, made: Callable[[], Iterable[Approval]]) -> None:
        """Beside the loop, as there may be many. A disk that is full costs the next question, and not this call."""
        try:
            await asyncio.to_thread(lambda: self._book.add(*made()))
        except (ClawftError, OSError) as failed:
            log.error("the approval cannot be kept: %s", failed)
        self._look()

    # ── what is shown meanwhile ──────────────────────────────────────────────────────────────────────────────────────

    def withheld(self, tool: Tool, origin: Origin, caller: Caller) -> str:
        """A definition that was changed after it was approved is not shown until it is approved again."""
        if not self.applies(tool, origin):
            return ""
        if time.monotonic() >= self._look_at:
            self._look()
        if not self._book.knows(origin.server, tool.name):
            return ""
        found, subject = self._judged(tool, origin, caller)
        if found.standing is not ApprovalStanding.CHANGED:
            return ""
        self._withheld = True
        return f"Withheld. {why(subject)} Its use asks the person; so does `{subject.command}`."

    def withholds(self, method: str, origin: Origin, caller: Caller) -> str:
        if not self.applies(RESOURCES_TOOL, origin):
            return ""
        return self.withheld(self._stand_in(method, origin, caller), origin, caller)

    def _judged(self, tool: Tool, origin: Origin, caller: Caller) -> tuple[UseStanding, ConsentSubject]:
        offered = self._offered(origin.server, caller)
        pinned = tool_pin(tool.wire, offered.instructions)
        found = self._book.judge(self._use(caller, origin.server, tool.name, pinned, offered))
        differs = _differences(found, tool.wire, offered.instructions)
        return found, ConsentSubject(origin.server, tool, pinned, differs=differs, place=self._place(offered))

    # ── what would be asked ──────────────────────────────────────────────────────────────────────────────────────────

    def verdict(self, tool: Tool, origin: Origin, caller: Caller) -> Verdict:
        """What a call would meet now. Nobody is asked and nothing is kept."""
        if not origin.server:
            return Allow(RULE, "our own tools are not asked about")
        if not self.applies(tool, origin):
            return Allow(RULE, f"{origin.server} is trusted")
        self._look()
        found, subject = self._judged(tool, origin, caller)
        if found.standing is ApprovalStanding.APPROVED:
            return Allow(RULE, f"it was approved as it is (weft approvals list {origin.server})")
        if found.standing is ApprovalStanding.NEW and found.by is not None:
            return Allow(RULE, f"the glob {found.by.tool!r} covers it")
        return Ask(RULE, why(subject), subject.command)


def _beside_name(origin: Origin, method: str) -> str:
    """No tool has a name like this, whatever it is called."""
    return f"{origin.server}/{method}"


def _note(notes: dict[Turn, T], turn: Turn, what: T) -> None:
    if len(notes) >= MAX_NOTED:
        notes.clear()
    notes[turn] = what


def _differences(found: UseStanding, wire: bytes, instructions: str) -> tuple[str, ...]:
    """Names of what has changed; one word if that cannot be told any more."""
    if found.standing is not ApprovalStanding.CHANGED or found.by is None:
        return ()
    names = changed(approved_text(found.by), shown_tool(wire, instructions))
    known = [name for name in names if name in SEEN]
    return tuple(known if len(known) == len(names) else [*known, "other members"]) or ("its definition",)


def _said(subject: ConsentSubject, told: Mapping[str, Any]) -> str | Unanswered:
    """What they chose; empty for no."""
    answer = chosen(subject, told)
    is_known = answer or told.get("action") != "accept"
    return answer if is_known else Unanswered("the client's answer is none of those that were offered")


def _readable(arguments: bytes) -> str:
    return arguments.decode("utf-8", "replace")


def _refused(subject: ConsentSubject) -> str:
    told = f"{why(subject)} It needs the person's approval: ask them to run `{subject.command}`, then call again"
    return f"refused by the rule {RULE}: {told}"


def _declined(subject: ConsentSubject, answer: str | Unanswered) -> str:
    if isinstance(answer, Unanswered):
        why_not = f"nobody answered whether {subject.name} may be used: {answer.why}"
    else:
        why_not = f"the person declined the use of {subject.name}"
    return f"refused by the rule {RULE}: {why_not} ({subject.command} would allow it)"
