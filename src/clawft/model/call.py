"""A call and its reply, the way back to the caller meanwhile, and calls that no task waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import UNSET, Struct

from clawft.model.caller import Caller
from clawft.model.encoded import encoded
from clawft.model.offer import Origin, Tool

EMPTY_OBJECT = b"{}"

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class Question(Struct, frozen=True):
    """A question of a tool to the caller's side, in either era."""

    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: Mapping[str, Any] = {}


class Talk(Protocol):
    """The way back to the caller while its call runs."""

    @property
    def level(self) -> str:
        """The lowest level of log messages that the caller wants to hear of; empty for none."""
        ...

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Report progress; silently nothing if the caller did not ask for it."""
        ...

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        """Send a log message if the caller's level lets it through."""
        ...

    @property
    def carried(self) -> bytes:
        """The state that an earlier run of this very call left for this one; empty if there was none."""
        ...

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        """Put questions to the caller's side and wait for all answers (`{"action": …}`, `{"roots": […]}` …).

        Where the answers come with a later request this raises InputRequired, and the call is run again then. With
        `carry` the next run finds that in `carried`, and its first `ask` gives whatever was answered.
        """
        ...

    def detach(self) -> None:
        """Go on as a task where the caller knows tasks; elsewhere nothing."""
        ...

    def hang_up(self, retry_ms: int) -> None:
        """Let the caller poll instead of holding its stream open (handshake-era HTTP); elsewhere nothing."""
        ...


class TaskStanding(Struct, frozen=True):
    """A server's report on the task that it has made of a call. A value it leaves out is None."""

    status: str = ""
    message: str = ""
    ttl_ms: int | None = None
    poll_ms: int | None = None


class BackgroundTalk:
    """The Talk of a call that its caller follows as a task. A class and no protocol: many calls are asked for it."""

    wished_ms: int | None = None
    """How long the caller wants it kept, if it said so."""

    def stands(self, standing: TaskStanding) -> None:
        """The server that runs the task reports its standing."""
        raise NotImplementedError


class RunEnded(BaseException):
    """Ends the run of a tool on purpose. Not an error: no tool may catch it by accident."""


class InputRequired(RunEnded):
    """Raised while the questions of a call are not answered yet."""

    def __init__(self, questions: Mapping[str, Question], carry: bytes = b"") -> None:
        super().__init__("input required")
        self.questions = questions
        self.carry = carry


class SilentTalk:
    """A Talk to nobody: for calls from the library and the command line."""

    level = ""
    carried = b""

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        pass

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        pass

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        return {key: {"action": "cancel"} for key in questions}

    def detach(self) -> None:
        pass

    def hang_up(self, retry_ms: int) -> None:
        pass


class Call(Struct, frozen=True, gc=False):
    """One tools/call on its way down.

    `name` is the canonical name, `asked` the spelling the caller used, `tool.name` the one the provider knows.
    """

    caller: Caller
    name: str
    tool: Tool
    origin: Origin
    arguments: bytes = EMPTY_OBJECT
    meta: bytes = b""
    talk: Talk = SilentTalk()
    asked: str = ""
    more: bytes = b""
    """An object of the members of the request that we do not know; a server gets them as they came."""


class Kind(Enum):
    """The kinds of results (`resultType` of the stateless era)."""

    COMPLETE = "complete"
    INPUT_REQUIRED = "input_required"
    TASK = "task"

    __hash__ = object.__hash__  # as for Era


class CallToolResult(Struct, frozen=True, rename="camel", omit_defaults=True):
    content: list[Any] = []
    structured_content: Any = UNSET
    is_error: bool = False
    meta: Any = msgspec.field(default=UNSET, name="_meta")

    @classmethod
    def text(cls, text: str) -> CallToolResult:
        return cls(content=[{"type": "text", "text": text}])

    @classmethod
    def error(cls, text: str) -> CallToolResult:
        return cls(content=[{"type": "text", "text": text}], is_error=True)


class Reply(Struct, frozen=True, gc=False):
    """The answer to a call: `result` is the JSON object that goes back, `refused` names the rule that said no."""

    result: bytes
    is_error: bool = False
    kind: Kind = Kind.COMPLETE
    refused: str = ""

    @classmethod
    def of(cls, result: CallToolResult) -> Reply:
        wire = encoded(result) if result.content else encoded({"content": [], **msgspec.to_builtins(result)})
        return cls(wire, is_error=result.is_error)

    @classmethod
    def text(cls, text: str) -> Reply:
        return cls(b'{"content":[{"type":"text","text":' + encoded(text) + b"}]}")

    @classmethod
    def error(cls, text: str, *, refused: str = "") -> Reply:
        wire = b'{"content":[{"type":"text","text":' + encoded(text) + b'}],"isError":true}'
        return cls(wire, is_error=True, refused=refused)


Next = Callable[[Call], Awaitable[Reply]]
"""One step of a call: the next guard, or the provider at the end."""
Finish = Callable[[Call, Reply], Reply]
"""Changes a reply on its way back."""


class ReplyReceiver(Protocol):
    """Whoever wants the reply to a call that was started without a task. One of these methods is called, once."""

    def finish_with(self, reply: Reply) -> None: ...

    def continue_with(self, rest: Next) -> None:
        """The call needs more than one answer: awaiting `rest` gives its reply."""
        ...


class SentCall(Protocol):
    def cancel(self, details: bytes = b"") -> None:
        """Cancel the call; its receiver is not called any more. `details`: a JSON object with the caller's reason."""
        ...


StartCall = Callable[[Call, ReplyReceiver], SentCall | None]
"""Sends a call and returns at once; None if the call needs more than one message and its answer."""


@runtime_checkable
class Witness(Protocol):
    """Records every call and how it ended. `began` is a reading of `time.perf_counter`."""

    def noted(self, call: Call, began: float, ended: Reply | BaseException) -> None: ...

    def follow(self, call: Call, after: Next, began: float) -> Awaitable[Reply]:
        """Run the rest of the call and record how it ends."""
        ...


class FastPath(Struct, frozen=True):
    """How calls of one tool run without a task, where no guard has to wait."""

    passes: tuple[Callable[[Call], bool], ...]
    """One check per guard: whether it lets the call pass at once. If one does not, the call takes the slow path."""
    start: StartCall
    finish: Finish
    witness: Witness
