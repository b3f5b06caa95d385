"""`ToolContext`: what a running tool may know and do, besides its arguments."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from clawft.model import Call, Caller, LogLevel, Question, Talk
from clawft.store.base import KeyValueStore
from clawft.wire.meta import RANK, read_delegates

ACCEPT = "accept"


def _form(key: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The question in a form every client can show: strict ones refuse all of it for one wrong word."""
    from clawft.wire.questions import mended_elicitation  # most tools never ask

    form: dict[str, Any] = {"type": "object", "properties": {}, **schema}
    asked = {"mode": "form", "message": message, "requestedSchema": form}
    try:
        return msgspec.json.decode(mended_elicitation(msgspec.json.encode(asked)))
    except msgspec.DecodeError as wrong:
        raise ValueError(f"the form of the question {key!r} cannot be filled in: {wrong}") from None


class ToolContext:
    """Handed to a tool that asks for it: `async def read(path: str, ctx: ToolContext)`.

    `ask` and its friends work in both protocol eras. In the stateless era an unanswered question ends the run, the
    caller is asked, and the tool is run again from its beginning with the answers: ask first, act afterwards.
    """

    __slots__ = ("_call", "store", "workspace")

    def __init__(self, call: Call, workspace: Path, store: KeyValueStore) -> None:
        self._call = call
        self.workspace = workspace
        self.store = store

    @property
    def caller(self) -> Caller:
        return self._call.caller

    @property
    def agent(self) -> str:
        return self._call.caller.agent

    @property
    def delegates(self) -> int:
        """How many delegates there are above this call, including those at other gateways."""
        return read_delegates(self._call.meta)

    @property
    def talk(self) -> Talk:
        return self._call.talk

    @property
    def call(self) -> Call:
        """The call as it came, for a tool that passes it on to another."""
        return self._call

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Report progress. Infinite numbers and NaN are left out."""
        if isfinite(progress):
            self._call.talk.progress(progress, total if total is not None and isfinite(total) else None, message)

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        if level not in RANK:  # else it would be an error only for callers that want progress
            raise ValueError(f"there is no log level {level!r}; one of {', '.join(RANK)}")
        self._call.talk.log(level, data, logger)

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, Mapping[str, Any]]:
        """Ask several questions at once. The tool chooses the keys; the answers come under the same keys."""
        return await self._call.talk.ask(questions)

    def detach(self) -> None:
        """Go on as a task, if the caller can poll one: the tool is run again from its beginning, in the background."""
        self._call.talk.detach()

    async def elicit(self, key: str, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Ask the person to fill in a form. None if they declined. Raises ValueError if nobody could."""
        question = Question("elicitation/create", _form(key, message, schema))
        answer = (await self.ask({key: question}))[key]
        return answer.get("content", {}) if answer.get("action") == ACCEPT else None

    async def sample(self, key: str, messages: list[Mapping[str, Any]], max_tokens: int) -> Mapping[str, Any]:
        """Ask the caller's model for a completion."""
        question = Question("sampling/createMessage", {"messages": messages, "maxTokens": max_tokens})
        return (await self.ask({key: question}))[key]

    async def roots(self, key: str = "roots") -> list[Mapping[str, Any]]:
        """Ask the caller for its workspace folders."""
        answer = (await self.ask({key: Question("roots/list")}))[key]
        return list(answer.get("roots", []))
