"""Asks the person to allow once a call that a rule would ask about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clawft.guard.asking import Unanswered, answer_to
from clawft.model import Ask, Call, Question
from clawft.wire.quoted_lines import BAR
from clawft.wire.visible import visible_line

MAX_ASKED = 4_000
"""Characters of the commands in a question: nobody reads more, so longer ones are refused."""

_BLANKS = r"\s{8,}"


async def allowed_by_person(call: Call, asked: Ask) -> bool | Unanswered:
    """Whether the person allows the call. No, where the agent cannot ask or the commands are too long to show."""
    if not call.caller.capabilities.elicit_form or len(asked.whole) > MAX_ASKED:
        return False
    answer = await answer_to(call, "weft_allow", _question(call, asked))
    return answer if isinstance(answer, Unanswered) else _allows(answer)


def _question(call: Call, asked: Ask) -> Question:
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": f"{visible_line(f'{call.name} wants to do this: {asked.reason}')}. Allow it once?"
            f"{_shown_whole(asked.whole)}",
            "requestedSchema": {
                "type": "object",
                "properties": {"allow": {"type": "boolean", "title": "Allow once", "default": False}},
                "required": ["allow"],
            },
        },
    )


def _allows(answer: Mapping[str, Any]) -> bool:
    """Whether the answer is exactly `true`: a number that equals it was never offered."""
    content: object = answer.get("content")
    return answer.get("action") == "accept" and isinstance(content, dict) and content.get("allow") is True  # pyright: ignore[reportUnknownMemberType]  # JSON


def _shown_whole(commands: str) -> str:
    """The commands behind bars, with runs of blanks replaced, as the end of a line could hide behind them."""
    lines = re.sub(_BLANKS, lambda blanks: f" ⟨{len(blanks[0])} blanks⟩ ", commands).splitlines()
    return "".join(f"\n{BAR}{line}" for line in lines)
