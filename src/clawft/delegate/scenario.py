"""A scripted conversation in a TOML file: which answer follows on what. Pure, except for reading the file.

What was used up is worked out anew from the conversation each time, so that one script serves any number of
conversations at once, and always the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from clawft.delegate.executor import ExecutionMode, MockAnswer
from clawft.delegate.pattern import Pattern, UnusablePattern, compiled
from clawft.delegate.turns import StopReason
from clawft.errors import ConfigUnreadable, InvalidConfig, ModelFailed

MAX_FILE_BYTES = 1024 * 1024
MAX_WAIT_MS = 600_000
MAX_LOOKED_AT = 256 * 1024
"""Characters of a text that patterns see: four times what a tool may say at once."""
RESULT = "{{result}}"
"""In a text: what the newest message says."""

Role = Literal["user", "assistant"]


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool to ask for. `expect` is a pattern that its result must have, or the run fails."""

    tool: str
    input: dict[str, Any] = {}
    expect: str = ""


class ScriptedUsage(Struct, frozen=True, forbid_unknown_fields=True):
    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0


Fault = Annotated[int, Meta(ge=400, le=599)] | Literal["cut"]
"""A status instead of the answer, or the answer broken off in the middle."""


class ScriptedTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer. It fits if all its `when…` patterns are found; it is used once, unless it repeats."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    when: str = ""
    when_system: str = ""
    when_tool: str = ""
    stop: StopReason | None = None
    fails: tuple[Fault, ...] = ()
    retry_after: float = 0.0
    wait_ms: Annotated[int, Meta(ge=0, le=MAX_WAIT_MS)] = 0
    repeat: bool = False
    usage: ScriptedUsage | None = None

    @property
    def ends(self) -> StopReason:
        return self.stop or (StopReason.TOOLS if self.calls else StopReason.DONE)


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `otherwise` is said where no turn fits; without it that is a failure."""

    turns: tuple[ScriptedTurn, ...] = ()
    mocks: tuple[MockAnswer, ...] = ()
    mode: ExecutionMode = ExecutionMode.LIVE
    model: str = "scripted"
    otherwise: str = ""


class ChatMessage(Struct, frozen=True):
    role: Role
    text: str


class ConversationView(Struct, frozen=True):
    """A conversation, as far as a script looks at it."""

    messages: Sequence[ChatMessage]
    system: str = ""
    tools: Sequence[str] = ()

    @property
    def newest(self) -> str:
        return self.messages[-1].text if self.messages else ""


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read(file: Path) -> Scenario:
    """The script in this file. Raises ConfigUnreadable or InvalidConfig."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
    except OSError as failed:
        raise ConfigUnreadable(
            f"the scenario {file} cannot be read: {failed.strerror or failed}", hint="--scenario FILE.toml"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigUnreadable(f"the scenario {file} is larger than {MAX_FILE_BYTES} bytes", hint="split it")
    return parse(content, str(file))


def parse(content: bytes, file: str) -> Scenario:
    import tomllib  # only for those who have a scenario

    try:
        scenario = msgspec.convert(tomllib.loads(content.decode()), Scenario)
    except (ValueError, RecursionError) as wrong:  # no TOML, no UTF-8, or a wrong key or value, with its place
        raise InvalidConfig(f"{file}: {wrong}", hint="docs/guides/agent.md describes scenarios") from None
    for number, turn in enumerate(scenario.turns, 1):
        for pattern in (turn.when, turn.when_system, turn.when_tool, *(call.expect for call in turn.calls)):
            usable = compiled(pattern)
            if isinstance(usable, UnusablePattern):
                raise InvalidConfig(f"{file}: turn {number}: {pattern!r}: {usable.reason}")
    return scenario


# ── choosing, pure ───────────────────────────────────────────────────────────────────────────────────────────────────


def pick(scenario: Scenario, seen: ConversationView) -> tuple[int, ScriptedTurn] | None:
    """The turn that answers this conversation, and its number from 1; None if there is none."""
    used: set[int] = set()
    last: int | None = None
    for at, message in enumerate(seen.messages):
        if message.role == "assistant":
            past = ConversationView(seen.messages[:at], seen.system, seen.tools)
            last = _first_fit(scenario, past, used)
            if last is not None:
                used.add(last)
    _check(scenario, last, seen)
    now = _first_fit(scenario, seen, used)
    return None if now is None else (now + 1, scenario.turns[now])


def _first_fit(scenario: Scenario, seen: ConversationView, used: set[int]) -> int | None:
    for number, turn in enumerate(scenario.turns):
        if (number not in used or turn.repeat) and _fits(turn, seen):
            return number
    return None


def _fits(turn: ScriptedTurn, seen: ConversationView) -> bool:
    return (
        _found(turn.when, seen.newest)
        and _found(turn.when_system, seen.system)
        and (not turn.when_tool or any(_found(turn.when_tool, tool) for tool in seen.tools))
    )


def _found(pattern: str, text: str) -> bool:
    usable = compiled(pattern)
    return isinstance(usable, Pattern) and usable.found_in(text[:MAX_LOOKED_AT])


def _check(scenario: Scenario, last: int | None, seen: ConversationView) -> None:
    """Raises ModelFailed if the results are not what the last turn expected."""
    for call in scenario.turns[last].calls if last is not None else ():
        if call.expect and not _found(call.expect, seen.newest):
            raise ModelFailed(
                f"the scenario expected {call.expect!r} from {call.tool}, not {seen.newest[:200]!r}",
                http_status=400,
                hint="change the scenario or the tool",
            )


def said_by(turn: ScriptedTurn, seen: ConversationView) -> str:
    return turn.text.replace(RESULT, seen.newest)


def offered(name: str, tools: Sequence[str]) -> str:
    """The name under which this host offers the tool: as written, or with the host's own prefix before it."""
    if name in tools:
        return name
    return next((tool for tool in tools if tool.endswith(f"__{name}")), name)
