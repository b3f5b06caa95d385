"""Checks what a question needs of whoever is asked, and whether an answer answers it. The same in both eras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawft.errors import MissingCapability
from clawft.model import Caller, Capabilities, Question


def can_answer(can: Capabilities, question: Question) -> bool:
    return getattr(can, _NEEDS[_kind(question)][0])


def require(caller: Caller, question: Question) -> None:
    """Raises MissingCapability if the caller did not declare what this question needs."""
    if not can_answer(caller.capabilities, question):
        needed = _NEEDS[_kind(question)][1]
        raise MissingCapability(f"this needs a client that can answer {question.method}", required=needed)


def answers_it(question: Question, answer: Mapping[str, Any]) -> bool:
    """Whether this is an answer to this question. If not, the question is asked again."""
    if question.method == "roots/list":
        return isinstance(answer.get("roots"), list)
    if question.method == "sampling/createMessage":
        return "content" in answer
    action = answer.get("action")
    if action == "accept" and question.params.get("mode", "form") == "form":
        return _fills(question.params.get("requestedSchema", {}), answer.get("content"))
    return action in ("accept", "decline", "cancel")


def _fills(schema: Mapping[str, Any], content: object) -> bool:
    return isinstance(content, dict) and all(name in content for name in schema.get("required", ()))


def _kind(question: Question) -> str:
    return question.method + (":url" if question.params.get("mode") == "url" else "")


_NEEDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "elicitation/create": ("elicit_form", {"elicitation": {"form": {}}}),
    "elicitation/create:url": ("elicit_url", {"elicitation": {"url": {}}}),
    "sampling/createMessage": ("sampling", {"sampling": {}}),
    "roots/list": ("roots", {"roots": {}}),
}
