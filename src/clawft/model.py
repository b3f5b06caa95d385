"""The nouns every layer shares: frozen data, no behaviour beyond making and reading it.

A call travels down as a `Call` and comes back as a `Reply`. Payloads (`arguments`, `result`, a tool's definition) stay
the JSON bytes they arrived as, so that what we do not understand survives.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
from msgspec import UNSET, Struct, UnsetType

__all__ = [
    "EMPTY_OBJECT",
    "LOCAL",
    "Allow",
    "Annotations",
    "Ask",
    "Call",
    "CallToolResult",
    "Caller",
    "Capabilities",
    "Deny",
    "Era",
    "Errand",
    "Finish",
    "ForeignPrompt",
    "ForeignResource",
    "ForeignTemplate",
    "Grant",
    "InputRequired",
    "Kind",
    "LogLevel",
    "Next",
    "Origin",
    "Prompt",
    "PromptArgument",
    "Question",
    "Reply",
    "Resource",
    "ResourceContent",
    "ResourceTemplate",
    "Said",
    "Sent",
    "Shortcut",
    "Silent",
    "Start",
    "Talk",
    "TaskSupport",
    "Tool",
    "Verdict",
    "Witness",
]

EMPTY_OBJECT = b"{}"

_encode = msgspec.json.encode


class Era(Enum):
    HANDSHAKE = "handshake"
    """2024-11-05 to 2025-11-25: initialize, sessions, requests in both directions."""
    STATELESS = "stateless"
    """2026-07-28: every request stands alone."""

    __hash__ = object.__hash__  # there is one of each, and this one needs no Python to run


LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


# ── who calls ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Grant(Struct, frozen=True):
    """Which tools a caller may see: globs over exported names; deny wins."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    within: tuple[str, ...] = ("*",)
    """What the gateway offers at all: nothing is granted beyond it."""


class Capabilities(Struct, frozen=True):
    """What the caller's client can do when asked."""

    elicit_form: bool = False
    elicit_url: bool = False
    sampling: bool = False
    roots: bool = False
    tasks: bool = False


LOCAL = "local"
"""The person at this machine, or whoever has their token: what they approve holds for all their agents."""


class Caller(Struct, frozen=True):
    """The agent on the other side, as far as we know it. `client` is unverified: for logs, never for policy."""

    principal: str = LOCAL
    agent: str = "default"
    client: str = ""
    era: Era = Era.HANDSHAKE
    revision: str = "2025-11-25"
    capabilities: Capabilities = Capabilities()
    grant: Grant = Grant()
    session: str = ""
    proof: str = ""
    """Names the token a person came with, for servers that are called in their name. Never the token."""
    until: float = math.inf
    """When that token expires."""


# ── what is offered ──────────────────────────────────────────────────────────────────────────────────────────────────


class Annotations(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Hints about a tool. From an untrusted server they are only that: hints."""

    title: str | UnsetType = UNSET
    read_only_hint: bool = False
    destructive_hint: bool = True
    idempotent_hint: bool = False
    open_world_hint: bool = True


TaskSupport = Literal["forbidden", "optional", "required", "server"]


class Said(Struct, frozen=True, rename="camel"):
    """What a tool says of itself: a view of its definition."""

    title: str = ""
    description: str = ""
    input_schema: msgspec.Raw = msgspec.Raw(b'{"type":"object"}')
    output_schema: msgspec.Raw = msgspec.Raw(b"")


_said = msgspec.json.Decoder(Said)
_NOTHING_SAID = Said()


class Tool(Struct, frozen=True, gc=False):
    """One tool. `wire` is the whole definition as JSON, unknown keys included.

    There may be tens of thousands of them. What one says is read from its definition when somebody asks, and not kept
    a second time; `told` is for one that has more to say than is listed.
    """

    name: str
    wire: bytes
    annotations: Annotations = Annotations()
    alias: str = ""
    """A second name accepted on calls and used as the bare name (built-ins only)."""
    task: TaskSupport = "forbidden"
    """May, or must, it run as a task? `server`: the server behind it decides with each call."""
    needs: Capabilities = Capabilities()
    """What the caller must be able to do for this tool to work at all."""
    told: Said | None = None

    @property
    def said(self) -> Said:
        return self.told or (_said.decode(self.wire) if self.wire else _NOTHING_SAID)

    @property
    def title(self) -> str:
        return self.said.title

    @property
    def description(self) -> str:
        return self.said.description

    @property
    def input_schema(self) -> bytes:
        return bytes(self.said.input_schema)

    @property
    def output_schema(self) -> bytes:
        return bytes(self.said.output_schema)


class Origin(Struct, frozen=True):
    """Where a tool comes from: the namespace, the server behind it (if any) and whether it is trusted."""

    namespace: str
    server: str = ""
    trusted: bool = True


class Resource(Struct, frozen=True, rename="camel", omit_defaults=True):
    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET


class ResourceTemplate(Struct, frozen=True, rename="camel", omit_defaults=True):
    uri_template: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET


class ResourceContent(Struct, frozen=True, rename="camel", omit_defaults=True):
    """`text`, or `blob` in base64."""

    uri: str
    mime_type: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET


class PromptArgument(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str | UnsetType = UNSET
    required: bool = False


class Prompt(Struct, frozen=True, omit_defaults=True):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: tuple[PromptArgument, ...] = ()


class Completion(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Values that may stand for an argument. How many there are in all, only their owner knows, if anybody."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


class ForeignResource(Struct, frozen=True):
    """A resource of an external server: `raw` is the whole of what the server said, and `said` our view of it."""

    uri: str
    raw: bytes

    @property
    def said(self) -> Resource:
        return msgspec.json.decode(self.raw, type=Resource)


class ForeignTemplate(Struct, frozen=True):
    uri_template: str
    raw: bytes

    @property
    def said(self) -> ResourceTemplate:
        return msgspec.json.decode(self.raw, type=ResourceTemplate)


class ForeignPrompt(Struct, frozen=True):
    name: str
    raw: bytes

    @property
    def said(self) -> Prompt:
        return msgspec.json.decode(self.raw, type=Prompt)


# ── a call and its reply ─────────────────────────────────────────────────────────────────────────────────────────────


class Question(Struct, frozen=True):
    """What a tool wants to know from the caller's side, in either era."""

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
        """What an earlier run of this very call left for this one; empty if there was none."""
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


class InputRequired(BaseException):
    """Ends the run of a tool whose questions are not answered yet. Not an error: no tool may catch it by accident."""

    def __init__(self, questions: Mapping[str, Question], carry: bytes = b"") -> None:
        super().__init__("input required")
        self.questions = questions
        self.carry = carry


class Silent:
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
    talk: Talk = Silent()
    asked: str = ""


class Kind(Enum):
    """What a result is (`resultType` of the stateless era)."""

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
        wire = _encode(result) if result.content else _encode({"content": [], **msgspec.to_builtins(result)})
        return cls(wire, is_error=result.is_error)

    @classmethod
    def text(cls, text: str) -> Reply:
        return cls(b'{"content":[{"type":"text","text":' + _encode(text) + b"}]}")

    @classmethod
    def error(cls, text: str, *, refused: str = "") -> Reply:
        wire = b'{"content":[{"type":"text","text":' + _encode(text) + b'}],"isError":true}'
        return cls(wire, is_error=True, refused=refused)


Next = Callable[[Call], Awaitable[Reply]]
"""One step of the way down: a guard's successor, or the provider at the end."""
Finish = Callable[[Call, Reply], Reply]
"""What is still done to a reply on its way back."""


class Errand(Protocol):
    """A call on its way that no task waits for, as its provider knows it. It is told one of these, once."""

    def replied(self, reply: Reply) -> None: ...

    def goes_on(self, rest: Next) -> None:
        """There is more to it than an answer: the reply comes of this, and may have to be waited for."""
        ...


class Sent(Protocol):
    def cancel(self) -> None:
        """Its errand is told nothing more."""
        ...


Start = Callable[[Call, Errand], Sent | None]
"""Send it on its way and return at once; None if this call needs more than one message and its answer."""


@runtime_checkable
class Witness(Protocol):
    """Whoever keeps a record of all calls, however they went. `began` is a moment of `time.perf_counter`."""

    def noted(self, call: Call, began: float, ended: Reply | BaseException) -> None: ...

    def follow(self, call: Call, after: Next, began: float) -> Awaitable[Reply]:
        """The same for a call that is still under way."""
        ...


class Shortcut(Struct, frozen=True):
    """The way down for calls of one tool that no guard has to wait for."""

    passes: tuple[Callable[[Call], bool], ...]
    """Each guard's word that it has nothing to say about a call. Without all of them it goes the long way."""
    start: Start
    finish: Finish
    witness: Witness


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Allow(Struct, frozen=True, tag="allow"):
    rule: str = ""
    reason: str = ""


class Ask(Struct, frozen=True, tag="ask"):
    """The person decides. `hint` says how to allow it for good."""

    rule: str
    reason: str
    hint: str = ""


class Deny(Struct, frozen=True, tag="deny"):
    """`hint` says how to allow it."""

    rule: str
    reason: str
    hint: str = ""


Verdict = Allow | Ask | Deny
