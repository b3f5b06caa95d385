"""Questions to the person at the terminal: one line for each field, and no answer is a no."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from clawft.cli.screen import is_terminal, paint, safe, tell
from clawft.model import Question, Silent

DECLINED: Mapping[str, Any] = {"action": "decline"}


def can_ask() -> bool:
    """Whether there is a person on both ends."""
    return sys.platform != "win32" and sys.stdin.isatty() and is_terminal(sys.stderr)


class Asker(Silent):
    """A Talk that asks here. One question at a time, whoever else wants to ask meanwhile."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        async with self._turn:
            return {key: await self._answer(question) for key, question in questions.items()}

    async def _answer(self, question: Question) -> Mapping[str, Any]:
        schema: Mapping[str, Any] = question.params.get("requestedSchema", {})
        fields: Mapping[str, Any] = schema.get("properties", {})
        if question.method != "elicitation/create" or not fields:
            return DECLINED
        tell(f"\n{paint('?', 'yellow', sys.stderr)} {safe(str(question.params.get('message', '')))}")
        given: dict[str, str] = {}
        for name, field in fields.items():
            answer = await _field(name, field)
            if answer is None:
                return DECLINED
            given[name] = answer
        return {"action": "accept", "content": given}


async def _field(name: str, field: Mapping[str, Any]) -> str | None:
    """What was chosen or typed; None for nothing, which is a no."""
    choices = [str(each) for each in cast("Sequence[Any]", field.get("enum") or ())]
    shown = "  ".join(f"{at}) {safe(choice)}" for at, choice in enumerate(choices, 1))
    sys.stderr.write(f"  {shown or safe(str(field.get('title') or name))}  (Enter: no) > ")
    sys.stderr.flush()
    typed = (await _line()).strip()
    if not choices:
        return typed or None
    if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1]
    return typed if typed in choices else None


async def _line() -> str:
    """One line of the terminal, without keeping anybody else waiting. Ctrl-C works meanwhile."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: typed.done() or typed.set_result(sys.stdin.readline()))
    try:
        return await typed
    finally:
        loop.remove_reader(sys.stdin.fileno())
