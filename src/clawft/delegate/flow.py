"""claude-flow: a task goes to its MCP server as a tool call, like any call of any server."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from msgspec import Struct, field

from clawft.delegate.budget import RunBounds, RunEnd, why
from clawft.delegate.events import CallEnded, CallStarted, Outcome, Tell
from clawft.delegate.executor import ExecutionContext, GatewayView, McpExecutor, ToolCallSpec
from clawft.delegate.turns import ToolResult, ToolUse

CREATE, STATUS = "task_create", "task_status"
KIND = "feature"
RUNNING = frozenset({"in_progress", "running", "assigned"})
POLL_SECONDS = 2.0
UNREADABLE = "claude-flow's record of the task is too long, or broken, and its state is not in what is left of it"


class _Record(Struct, frozen=True):
    """A record of a task, as claude-flow writes it."""

    status: str = ""
    id: str | int | None = field(default=None, name="taskId")


_record = msgspec.json.Decoder(_Record)


def entry_tool(server: str) -> str:
    return f"mcp:{server}__{CREATE}"


class ClaudeFlow:
    """Hands a task over and, as long as somebody over there works on it, waits for its end."""

    def __init__(
        self, server: str, gateway: GatewayView, context: ExecutionContext, bounds: RunBounds, tell: Tell
    ) -> None:
        self._server = server
        self._executor = McpExecutor(gateway)
        self._context = context
        self._bounds = bounds
        self._tell = tell
        self._calls = 0

    async def run(self, task: str) -> Outcome:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._bounds.seconds):
                state, text, reason = await self._handed_over(task)
        except TimeoutError:
            state, (reason, _), text = RunEnd.TIME, why(RunEnd.TIME, self._bounds), ""
        hint = "" if state is RunEnd.DONE else f"weft servers status {self._server}"
        outcome = Outcome(state, text, calls=self._calls, seconds=time.monotonic() - started, reason=reason, hint=hint)
        self._tell(outcome)
        return outcome

    async def _handed_over(self, task: str) -> tuple[RunEnd, str, str]:
        result = await self._call(CREATE, {"type": KIND, "description": task})
        if result.is_error:
            return RunEnd.FAILED, "", result.text
        record = _read(result.text)
        id = record.id if record is not None else None
        while record is not None and record.status in RUNNING and id is not None:
            await asyncio.sleep(POLL_SECONDS)
            result = await self._call(STATUS, {"taskId": id})
            if result.is_error:
                return RunEnd.FAILED, "", result.text
            record = _read(result.text)
        if record is None:
            return RunEnd.FAILED, result.text, UNREADABLE
        if record.status == "failed":
            return RunEnd.FAILED, result.text, "claude-flow says that it failed"
        return RunEnd.DONE, result.text, ""

    async def _call(self, tool: str, given: dict[str, Any]) -> ToolResult:
        self._calls += 1
        use = ToolUse(f"flow_{self._calls}", f"mcp:{self._server}__{tool}", given)
        self._tell(CallStarted(use))
        started = time.monotonic()
        done = await self._executor.execute(ToolCallSpec(use.name, given), use.id, self._context)
        result = done.to(use.id)
        self._tell(CallEnded(use, result, time.monotonic() - started, done.verdict))
        return result


def _read(text: str) -> _Record | None:
    """The record in a text: an empty one if there is none, None if it was cut off before its state."""
    try:
        return _record.decode(text)
    except msgspec.ValidationError:
        return _Record()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _read_beginning(text) if text.lstrip().startswith("{") else _Record()


def _read_beginning(text: str) -> _Record | None:
    """A record of more than a result may have comes without its end."""
    found = _first_members(text)
    try:
        return msgspec.convert(found, _Record) if "status" in found else None
    except msgspec.ValidationError:
        return None


def _first_members(text: str) -> dict[str, object]:
    """The members of an object that are whole, up to where it was cut off."""
    import json  # only for records that are too long; the one reader here that says how far it got

    read, found, at = json.JSONDecoder().raw_decode, dict[str, object](), text.index("{") + 1
    try:
        while True:
            key, after = read(text, _past_blanks(text, at))
            value, after = read(text, _past_blanks(text, _past_blanks(text, after) + 1))
            at = _past_blanks(text, after) + 1
            if text[at - 1] not in ",}":
                return found
            found[str(key)] = value
    except (ValueError, IndexError, RecursionError):
        return found


def _past_blanks(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
