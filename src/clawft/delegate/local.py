"""Handles a task without a model: one that is a tool call is carried out, for any other fitting tools are named."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clawft.catalog.snapshot import CatalogEntry
from clawft.delegate.turns import ModelAnswer, ModelRequest, Say, StopReason, TaskText, ToolResults, ToolUse
from clawft.errors import ModelFailed

SUGGESTED = 5
DESCRIBED = 120
"""Characters of what a suggested tool does: a line of it."""

Search = Callable[[str, int], Sequence[CatalogEntry]]
Knows = Callable[[str], bool]
NearestTool = Callable[[str], str]
"""The name that somebody probably meant, or nothing."""


class LocalModel:
    """A Model without a model: `git__status repo_path=.` is a call, everything else is a question for a person."""

    name = "local"

    def __init__(self, search: Search, knows: Knows, near: NearestTool, why: str, missing: Mapping[str, str]) -> None:
        """`why` says why the task is handled locally; `missing` says why each other target cannot take one."""
        self._search = search
        self._knows = knows
        self._near = near
        self._why = why
        self._missing = missing

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        last = request.history[-1]
        if isinstance(last, ToolResults):
            return _told(last, say)
        task = last.text if isinstance(last, TaskText) else ""
        use = read_call(task, self._knows)
        if use is not None:
            return ModelAnswer(uses=(use,), stop=StopReason.TOOLS)
        once = "weft agent --target claude -p … asks Claude this once; " if "claude" in self._missing else ""
        raise ModelFailed(
            self._advice(task), hint=f"{once}weft agent --explain -p … says who would get a task, and why"
        )

    def _advice(self, task: str) -> str:
        lines = [
            f"this task stays local ({self._why}), and no model runs here",
            *map(": ".join, self._missing.items()),
        ]
        name = task.strip().partition(" ")[0]
        meant = self._near(name) if "__" in name and not self._knows(name) else ""
        if meant:
            return "\n".join([*lines, f"{name} is not a tool; did you mean {meant}?"])
        found = self._search(task, SUGGESTED)
        if found:
            lines += ["these tools may help; call one with `weft agent -p 'NAME key=value'`:"]
            lines += [f"  {entry.name}  {_first_line(entry)}" for entry in found]
        return "\n".join(lines)

    async def close(self) -> None:
        pass


def _first_line(entry: CatalogEntry) -> str:
    line = entry.tool.description.strip().partition("\n")[0]
    return line if len(line) <= DESCRIBED else f"{line[: DESCRIBED - 1].rstrip()}…"


def _told(came: ToolResults, say: Say) -> ModelAnswer:
    """The result of the call as the answer. A failure is the end of the task: nobody here tries another way."""
    text = "\n".join(result.text for result in came.results)
    if any(result.is_error for result in came.results):
        raise ModelFailed(text)
    say(text)
    return ModelAnswer(text)


def read_call(task: str, knows: Knows) -> ToolUse | None:
    """`NAME key=value …` or `NAME {"key": "value"}`, if there is a tool of that name."""
    name, _, rest = task.strip().partition(" ")
    if not knows(name):
        return None
    given = _object(rest) if rest.lstrip().startswith("{") else _pairs(rest)
    return None if given is None else ToolUse("call_1", name, given)


def _object(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _pairs(text: str) -> dict[str, Any] | None:
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    pairs = [word.partition("=") for word in words]
    if not all(key and sign for key, sign, _ in pairs):
        return None
    return {key: _value(value) for key, _, value in pairs}


def _value(text: str) -> Any:
    """A value as JSON if it is JSON, else as text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
