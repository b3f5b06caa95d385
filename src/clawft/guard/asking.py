"""A question of a guard's own to the person, by way of their client: what they answered, or why nobody did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawft.errors import ExecutionFailed, RequestTimeout
from clawft.model import Call, Question
from clawft.wire.answers import answers_it


class Unanswered(Struct, frozen=True):
    """The client did not bring an answer: whatever the person wanted, they have allowed nothing."""

    why: str


async def answer_to(call: Call, key: str, question: Question) -> Mapping[str, Any] | Unanswered:
    """Whoever asks says what is refused and how it is allowed; the client's own words are the reason."""
    try:
        answer = (await call.talk.ask({key: question}))[key]
    except (ExecutionFailed, RequestTimeout) as failed:
        return Unanswered(failed.message)
    return answer if answers_it(question, answer) else Unanswered("the client's answer is neither a yes nor a no")


def chosen(told: Mapping[str, Any], offered: Sequence[str]) -> str:
    """What the person chose of what was offered; empty for no, and for whatever was not."""
    content = told.get("content")
    if told.get("action") != "accept" or not isinstance(content, dict):
        return ""
    answer: object = content.get("answer")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
    return answer if isinstance(answer, str) and answer in offered else ""
