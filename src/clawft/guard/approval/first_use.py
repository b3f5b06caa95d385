"""Decides about a use that is not approved yet: it goes on, is refused, or the person is asked.

The person is asked by elicitation where the agent supports it; else the call is refused with the command that grants
it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from clawft.errors import ClawftError
from clawft.guard.approval.book import Approvals, bounded
from clawft.guard.approval.consent import ONCE, ConsentSubject, declined, question, question_key, refused, said
from clawft.guard.approval.offers import Offers
from clawft.guard.approval.turns import Turn, Turns, turn_of
from clawft.guard.asking import Unanswered, answer_to
from clawft.model import LOCAL, Call, Era, InputRequired, Tool
from clawft.policy.approval import ANYONE, Approval, ApprovalStanding, PinnedUse, approval_of
from clawft.policy.pin import ShownText, offer_pin, shown_tool

DAY = 24 * 60 * 60.0

log = logging.getLogger("clawft")


class FirstUses:
    def __init__(self, book: Approvals, offers: Offers, let_through: Callable[[Call], None], days: int) -> None:
        """`days`: how long an approval lasts, 0 for ever."""
        self._book = book
        self._offers = offers
        self._let_through = let_through
        self._days = days
        self._turns = Turns()

    def refusal_at_once(self, call: Call) -> str:
        """Why the use is refused without waiting for its server: it is unknown, and nobody can be asked."""
        self._book.look()
        judged = self._offers.judge(call.tool, call.origin, call.caller)
        unknown = judged.standing is ApprovalStanding.UNKNOWN and not call.caller.capabilities.elicit_form
        return refused(judged.subject) if unknown else ""

    async def refusal(self, call: Call) -> str:
        """Why the call is refused; empty if it may go on."""
        began = time.monotonic()
        subject = await self._to_ask(call)
        if subject is None:
            return ""
        if not call.caller.capabilities.elicit_form:
            return refused(subject)
        turn = turn_of(call)
        async with self._turns.taken(turn):
            return await self._ask(call, turn, began)

    async def _to_ask(self, call: Call) -> ConsentSubject | None:
        """The question for the person; None if the call may go on, and then later calls pass at once."""
        self._book.look()
        judged = self._offers.judge(call.tool, call.origin, call.caller)
        if judged.standing is ApprovalStanding.NEW:
            wire, instructions = call.tool.wire, judged.subject.instructions
            await self._store(lambda: [self._approval(judged.use, shown_tool(wire, instructions))])
        if judged.standing in (ApprovalStanding.APPROVED, ApprovalStanding.NEW):
            self._let_through(call)
            return None
        return judged.subject

    async def _ask(self, call: Call, turn: Turn, began: float) -> str:
        call = self._offers.as_it_is_now(call)  # it may have waited while another call asked
        subject = await self._to_ask(call)
        if subject is None:
            return ""
        if refusal := self._turns.declined_since(turn, began):
            return refusal
        answer, others = await self._answer(call, subject, turn)
        if isinstance(answer, Unanswered) or not answer:
            refusal = declined(subject, answer)
            self._turns.decline(turn, refusal)
            return refusal
        if answer != ONCE:
            await self._store(self._approvals(call, others, subject.instructions))
        changed = self._changed_since(call, subject)
        return refused(changed) if changed is not None else ""

    async def _answer(self, call: Call, subject: ConsentSubject, turn: Turn) -> tuple[str | Unanswered, Sequence[Tool]]:
        """The person's answer, and the other tools it covers: those the server offered when the question was put."""
        key, everything = question_key(subject), self._offers.all_of(call.origin.server, call.caller)
        now = offer_pin((tool.wire for tool in everything), subject.instructions)
        put = self._turns.take_put(turn)
        if put is None:
            put = "" if call.caller.era is Era.STATELESS else now
        try:
            told = await answer_to(call, key, question(subject, _readable(call.arguments)))
        except InputRequired:  # a later call brings the answer
            self._turns.put(turn, now)
            raise
        answer = told if isinstance(told, Unanswered) else said(subject, told)
        return answer, everything if answer == subject.everything and put == now else ()

    def _changed_since(self, call: Call, subject: ConsentSubject) -> ConsentSubject | None:
        """The server's present definition, if it is no longer the one the person was shown and is not approved."""
        judged = self._offers.judge(self._offers.as_it_is_now(call).tool, call.origin, call.caller)
        changed = judged.subject
        if changed.pin == subject.pin or judged.standing is ApprovalStanding.APPROVED:
            return None
        return msgspec.structs.replace(changed, differs=changed.differs or ("its definition",))

    # ── what was answered ────────────────────────────────────────────────────────────────────────────────────────────

    def _approvals(self, call: Call, others: Sequence[Tool], instructions: str) -> Callable[[], list[Approval]]:
        """Makes the approvals of what was shown to the person, when called; for many tools that takes long."""
        uses = self._offers.uses_of(call, (*others, call.tool))
        return lambda: [bounded(self._approval(use, shown_tool(wire, instructions))) for use, wire in uses]

    def _approval(self, use: PinnedUse, shown: ShownText) -> Approval:
        """An approval of this very text for all agents; for a server of a workspace, in that workspace alone."""
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
        """Write the approvals in a thread. If the disk is full this call still passes, and the next one asks again."""
        try:
            await asyncio.to_thread(lambda: self._book.add(*made()))
        except (ClawftError, OSError) as failed:
            log.error("the approval cannot be saved: %s", failed)
        self._book.look()


def _readable(arguments: bytes) -> str:
    return arguments.decode("utf-8", "replace")
