"""The guards of `approvals.after_untrusted`: text of an untrusted server or the web may talk a model into anything.

Once a conversation has read such text, the person decides about each tool that can do harm: this once, or from then on
in that conversation. One guard notes which conversations read it, the other asks; both share the list.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable

from msgspec import Struct

from clawft.guard.approval.excerpt import quoted
from clawft.guard.asking import Unanswered, answer_to, chosen
from clawft.guard.pipeline import QuickGuard, hands_on
from clawft.guard.side_duties import LateReplyGuard, OfferGuard, OfferUse
from clawft.model import Call, Caller, Next, Origin, Question, Reply, Tool
from clawft.policy.exposure import can_do_harm, returns_outside_text

RULE = "after-untrusted"
MAX_CONVERSATIONS = 10_000
"""Conversations remembered; ten times as many as there may be sessions."""
ONCE, FROM_NOW_ON = "once", "in this conversation from now on"
_SWITCH = "or set approvals.after_untrusted = false"

_Conversation = tuple[str, str, str]


class _Reading(Struct, frozen=True):
    """`first` is the source of the first such text in a conversation; the tools in `allowed` may go on all the same."""

    first: str
    allowed: set[str]


class ExposedConversations:
    """The conversations that have read untrusted text; the longest silent ones are forgotten."""

    def __init__(self, most: int = MAX_CONVERSATIONS) -> None:
        self._most = most
        self._known: OrderedDict[_Conversation, _Reading] = OrderedDict()

    def note(self, caller: Caller, source: str) -> None:
        conversation = _of(caller)
        self._known.setdefault(conversation, _Reading(source, set()))
        self._known.move_to_end(conversation)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def why_to_ask(self, call: Call) -> str:
        """The source of such text in the conversation; empty if there is none, or the person allowed this tool."""
        known = self._known.get(_of(call.caller))
        return known.first if known is not None and call.name not in known.allowed else ""

    def allow(self, call: Call) -> None:
        known = self._known.get(_of(call.caller))
        if known is not None:
            known.allowed.add(call.name)


def _of(caller: Caller) -> _Conversation:
    """The conversation of a caller; an agent without sessions has one, for as long as we run."""
    return caller.principal, caller.agent, caller.session


def _named(call: Call) -> str:
    return call.asked or call.name


class ExposureRecorder(QuickGuard, OfferGuard, LateReplyGuard):
    """Notes the conversations that call tools of strangers, when the call is sent. Errors are their text, too, so this
    guard stands behind all that may refuse.
    """

    def __init__(self, conversations: ExposedConversations) -> None:
        self._conversations = conversations

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return returns_outside_text(tool, origin) and not hands_on(tool, origin)

    def passes(self, call: Call) -> bool:
        self._conversations.note(call.caller, _named(call))
        return True

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        self._conversations.note(call.caller, _named(call))
        return after(call)

    def finish_late(self, call: Call, reply: Reply) -> Reply:
        """Note a late result too: it may be read in another conversation."""
        if returns_outside_text(call.tool, call.origin):
            self._conversations.note(call.caller, _named(call))
        return reply

    async def refuses(self, use: OfferUse) -> str:
        """Note the use of a prompt or resource; never refuses it."""
        if not use.origin.trusted:
            self._conversations.note(use.caller, f"{use.method} of {use.origin.server}")
        return ""

    def withholds(self, method: str, origin: Origin, caller: Caller) -> str:
        return ""


class ExposureGuard(QuickGuard):
    """Asks the person before a tool that could do harm."""

    def __init__(self, conversations: ExposedConversations) -> None:
        self._conversations = conversations

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return can_do_harm(tool, origin) and not hands_on(tool, origin)

    def passes(self, call: Call) -> bool:
        return not self._conversations.why_to_ask(call)

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        source = self._conversations.why_to_ask(call)
        return self._ask(call, source, after) if source else after(call)

    async def _ask(self, call: Call, source: str, after: Next) -> Reply:
        why = f"{_named(call)} may change or send something, and this conversation has read what {source} brought"
        if not call.caller.capabilities.elicit_form:
            return _refused(f"{why}; nobody can be asked about it here (ask the person to do it, {_SWITCH})")
        answered = await answer_to(call, "weft_after_untrusted", _question(call, why))
        if isinstance(answered, Unanswered):
            return _refused(f"{why}; nobody answered whether it may go on: {answered.why}")
        answer = chosen(answered, (ONCE, FROM_NOW_ON))
        if not answer:
            return _refused(f"{why}; the person declined it")
        if answer == FROM_NOW_ON:
            self._conversations.allow(call)
        return await after(call)


def _refused(why: str) -> Reply:
    return Reply.error(f"refused by the rule {RULE}: {why}", refused=RULE)


def _question(call: Call, why: str) -> Question:
    called_with = quoted("It would be called with:", call.arguments.decode("utf-8", "replace"))
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": "\n".join([f"{why}, which may have talked the model into it. Allow it?", *called_with]),
            "requestedSchema": {
                "type": "object",
                "properties": {"answer": {"type": "string", "title": "Allow it?", "enum": [ONCE, FROM_NOW_ON]}},
                "required": ["answer"],
            },
        },
    )
