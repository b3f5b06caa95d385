"""Questions about a call, put to the person at the terminal: a choice, yes and no, or a form, line by line."""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from clawft.cli.screen import is_terminal, safe, tell, tell_paragraph
from clawft.cli.screen.reply import WaitingTalk
from clawft.model import Caller, Capabilities, Question

TICK_SECONDS = 0.1
MAX_TRIES = 3
NO = ("", "n", "no")
DECLINED: Mapping[str, Any] = {"action": "decline"}


def can_ask() -> bool:
    """Whether a person is at the terminal: stdin and stderr both belong to one."""
    return sys.stdin.isatty() and is_terminal(sys.stderr)


def way_back(what: str, caller: Caller, *, quiet: bool) -> tuple[Caller, WaitingTalk]:
    """The caller and its Talk for a call from here; only a person at a terminal can be asked questions."""
    if not can_ask():
        return caller, WaitingTalk(what, quiet=quiet)
    return msgspec.structs.replace(caller, capabilities=Capabilities(elicit_form=True)), AskingTalk(what, quiet=quiet)


class Pausing(Protocol):
    """Output to the terminal that has to pause during a question."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class AskingTalk(WaitingTalk):
    """A Talk that shows progress, and asks: one question at a time, whoever else wants to ask meanwhile."""

    def __init__(self, what: str, beside: Pausing | None = None, *, quiet: bool = False) -> None:
        super().__init__(what, quiet=quiet)
        self._beside = beside
        self._turn = asyncio.Lock()

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        async with self._turn:
            return {key: await self._ask_one(question) for key, question in questions.items()}

    async def _ask_one(self, question: Question) -> Mapping[str, Any]:
        if question.method != "elicitation/create" or "requestedSchema" not in question.params:
            return DECLINED
        self.pause()
        try:
            tell_paragraph(str(question.params.get("message", "")))
            _forget_what_was_typed()
            found = _choice(question)
            content = await (_one_of(*found) if found is not None else _filled_in(question.params["requestedSchema"]))
        finally:
            self.resume()
        return DECLINED if content is None else {"action": "accept", "content": content}

    def pause(self) -> None:
        super().pause()
        if self._beside is not None:
            self._beside.pause()

    def resume(self) -> None:
        super().resume()
        if self._beside is not None:
            self._beside.resume()


async def _one_of(name: str, values: Sequence[Any]) -> Mapping[str, Any] | None:
    chosen = await choose(values)
    return None if chosen is None else {name: chosen}


async def _filled_in(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    from clawft.cli.screen.fill_form import filled_in  # few servers ask

    return await filled_in(schema)


async def choose(values: Sequence[Any]) -> Any:
    """One of the values, or None for no. Anything else may have been meant as yes, so the question is repeated."""
    offered = "  ".join(f"[{at}] {safe(_words(value))}" for at, value in enumerate(values, 1))
    for _ in range(MAX_TRIES):
        tell(f"{offered}  [Enter] no")
        answer = (await typed_line()).strip()
        if answer.lower() in NO:
            return None
        for at, value in enumerate(values, 1):
            if answer in (str(at), _words(value)):
                return value
        tell(f"{safe(answer)!r} is not one of these: type a number, or Enter alone for no")
    return None


def _choice(question: Question) -> tuple[str, Sequence[Any]] | None:
    """The one member a form asks for, and what it may be: those of an enum, or yes."""
    properties: Mapping[str, Any] = question.params.get("requestedSchema", {}).get("properties", {})
    if len(properties) != 1:
        return None
    ((name, expected),) = properties.items()
    if expected.get("type") == "boolean":
        return name, (True,)
    return (name, expected["enum"]) if expected.get("enum") else None


def _words(value: object) -> str:
    return "yes" if value is True else str(value)


def _forget_what_was_typed() -> None:
    """Discard input typed before the question was shown, as it does not answer it."""
    import termios  # only where somebody is asked

    with suppress(termios.error):  # a terminal that is gone answers nothing either
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


async def typed_line() -> str:
    """The line that the person types; the loop turns meanwhile, so that Ctrl-C ends us."""
    while not select.select([sys.stdin], [], [], 0)[0]:  # noqa: ASYNC110 - a terminal has no event on every system
        await asyncio.sleep(TICK_SECONDS)
    return sys.stdin.readline()
