"""A guard's own question to the person, put through their client: the answer, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawft.errors import ExecutionFailed, RequestTimeout
from clawft.model import Call, Question
from clawft.wire.answers import answers_it


class Unanswered(Struct, frozen=True):
    """The client brought no answer, for this reason; so the person has allowed nothing."""

    why: str


async def answer_to(call: Call, key: str, question: Question) -> Mapping[str, Any] | Unanswered:
    """The person's answer, or the client's words as the reason why there is none; the guard adds what is refused."""
    try:
        answer = (await call.talk.ask({key: question}))[key]
    except (ExecutionFailed, RequestTimeout) as failed:
        return Unanswered(failed.message)
    return answer if answers_it(question, answer) else Unanswered("the client's answer is neither a yes nor a no")


def chosen(told: Mapping[str, Any], offered: Sequence[str]) -> str:
    """The option the person chose; empty for no, and for a choice that was not offered."""
    content = told.get("content")
    if told.get("action") != "accept" or not isinstance(content, dict):
        return ""
    answer: object = content.get("answer")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
    return answer if isinstance(answer, str) and answer in offered else ""
