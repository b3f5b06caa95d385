"""The way back to a caller while its call runs, in each era's form."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from msgspec import UNSET, Raw, UnsetType

from clawft.gateway.questions import OURS, Answers, AnswersSoFar, TaskDetached, given, read_answers
from clawft.model import Caller, InputRequired, LogLevel, Question
from clawft.model.encoded import encoded
from clawft.wire.answers import answers_it, require
from clawft.wire.jsonrpc import writing
from clawft.wire.meta import QUESTION_KEY, RANK, is_progress_token
from clawft.wire.revisions import REVISIONS
from clawft.wire.visible import make_visible

OURSELVES = "clawft/"
NOT_ASKED = AnswersSoFar()
NO_RESPONSES: Mapping[str, Raw] = {}
NO_ANSWERS: Answers = {}

Asker = Callable[["Outlet", Question], Awaitable[Mapping[str, Any]]]


class Outlet(Protocol):
    """Where messages about one request go: the pipe, or the event stream of its HTTP answer."""

    @property
    def over(self) -> bool:
        """The answer is on its way, and nobody reads what comes after it."""
        ...

    def send(self, message: bytes) -> None: ...

    def hang_up(self, retry_ms: int) -> None: ...


class ReportingTalk:
    """Progress and log messages; both eras send the same notifications."""

    carried = b""
    _last = float("-inf")

    def __init__(self, caller: Caller, outlet: Outlet, token: Raw | UnsetType, level: str | UnsetType) -> None:
        self._caller = caller
        self._outlet = outlet
        self._token = b"" if token is UNSET or not is_progress_token(token) else bytes(token)
        self.level = "" if level is UNSET else level

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        params: dict[str, Any] = {"progressToken": None, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self.carry_progress(progress, params)

    def carry_progress(self, progress: float, told: Mapping[str, Any]) -> None:
        if not self._token or progress <= self._last:
            return
        self._last = progress
        params = {**told, "progressToken": Raw(self._token)}
        if not REVISIONS[self._caller.revision].progress_message:
            params.pop("message", None)
        self._notify("notifications/progress", params)

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        self.carry_log(level, {"level": level, "data": data, **({"logger": logger} if logger else {})})

    def carry_log(self, level: LogLevel, told: Mapping[str, Any]) -> None:
        if self.level and RANK[level] >= RANK[self.level]:
            self._notify("notifications/message", told)

    def detach(self) -> None:
        pass

    def hang_up(self, retry_ms: int) -> None:
        self._outlet.hang_up(retry_ms)

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification. A value that JSON does not know stands as its text: a tool must not fail because
        somebody reads its log.
        """
        self._outlet.send(writing.notification(method, make_visible(encoded(params, str))))


class HandshakeTalk(ReportingTalk):
    """Questions go out as requests of ours, on the stream of the call they belong to."""

    __slots__ = ("_asker",)

    def __init__(
        self, caller: Caller, outlet: Outlet, token: Raw | UnsetType, level: str | UnsetType, asker: Asker
    ) -> None:
        ReportingTalk.__init__(self, caller, outlet, token, level)
        self._asker = asker

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Answers:
        for question in questions.values():
            require(self._caller, question)
        loop = asyncio.get_running_loop()
        asked = [loop.create_task(self._ask_one(key, question)) for key, question in questions.items()]
        try:
            return dict(zip(questions, await asyncio.gather(*asked), strict=True))
        finally:
            for task in asked:  # one that failed, or a caller that left, ends the others too
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)

    async def _ask_one(self, key: str, question: Question) -> Mapping[str, Any]:
        """Another clawft hears what the question is called here: it may have to ask it by that name."""
        if self._caller.client.startswith(OURSELVES):
            meta = {**question.params.get("_meta", {}), QUESTION_KEY: key}
            question = Question(question.method, {**question.params, "_meta": meta})
        return await self._asker(self._outlet, question)


class StatelessTalk(ReportingTalk):
    """Questions end the run unless the caller has brought the answers along."""

    def __init__(
        self,
        caller: Caller,
        outlet: Outlet,
        token: Raw | UnsetType,
        level: str | UnsetType,
        opened: AnswersSoFar = NOT_ASKED,
        responses: Mapping[str, Raw] = NO_RESPONSES,
    ) -> None:
        super().__init__(caller, outlet, token, level)
        if opened.carry:
            self.carried = opened.carry
        self._opened = opened
        self._answers = opened.answers if responses is NO_RESPONSES else given(responses, opened)
        self._brought = responses if opened.carry or (responses and opened is NOT_ASKED) else None
        self.used: Answers = NO_ANSWERS
        """The answers the tool has asked for so far: all that a retry needs."""

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Answers:
        if carry:
            return self._ask_carrying(questions, carry)
        open_questions = {key: q for key, q in questions.items() if not self._answered(key, q)}
        self.used = {**self.used, **{key: self._answers[key] for key in questions if key not in open_questions}}
        for question in open_questions.values():
            require(self._caller, question)
        if open_questions:
            raise InputRequired(open_questions)
        return {key: self._answers[key] for key in questions}

    def _ask_carrying(self, questions: Mapping[str, Question], carry: bytes) -> Answers:
        """Whatever came along, once; the caller decides what it is worth, and may ask again."""
        brought, self._brought = self._brought, None
        if brought is not None:
            return read_answers(brought)
        raise InputRequired(questions, carry)

    def detach(self) -> None:
        if self._caller.capabilities.tasks:
            raise TaskDetached

    def _answered(self, key: str, question: Question) -> bool:
        known = key in self._answers and answers_it(question, self._answers[key])
        return known and (not key.startswith(OURS) or self._is_first_run)

    @cached_property
    def _is_first_run(self) -> bool:
        """Whoever allows something allows one run. In a second one with the same state they are asked again."""
        return self._opened.spend()
