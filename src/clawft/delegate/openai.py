"""Any model behind an OpenAI-compatible API: our history as chat messages, its chunks as our answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.delegate import sdk
from clawft.delegate.event_stream import AnswerStream, Create, TextPieces
from clawft.delegate.http_client import AnswerLimit
from clawft.delegate.key import ApiKey
from clawft.delegate.toolbox import NameMap, made_use, openai_tool, read_arguments
from clawft.delegate.turns import (
    HistoryEntry,
    ModelAnswer,
    ModelRequest,
    Say,
    StopReason,
    TaskText,
    TokenUsage,
    ToolResult,
    ToolResults,
    ToolUse,
    counted,
)

if TYPE_CHECKING:  # heavy, and an extra
    from openai import AsyncOpenAI

VENDOR = "openai"
EXTRA = "openai"
NO_KEY = "none"
"""Local servers ask for no key, the library does."""

Message = dict[str, Any]
_STOPS = {
    "stop": StopReason.DONE,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.CUT,
    "content_filter": StopReason.REFUSED,
}


class OpenAI:
    """A Model. It retries nothing: the loop does, and reports it."""

    def __init__(self, model: str, key: ApiKey, url: str = "") -> None:
        library = sdk.load(VENDOR, EXTRA)
        self.name = model
        self._key = key
        self._failures = sdk.Failures(model, key)
        self._answer_limit = AnswerLimit()
        self._limit = "max_tokens" if url else "max_completion_tokens"  # the vendor has renamed it, others have not
        address = {"base_url": url} if url else {}
        self._client: AsyncOpenAI = library.AsyncOpenAI(
            api_key=key.reveal() or NO_KEY,
            max_retries=0,
            timeout=sdk.ANSWER_SECONDS,
            http_client=self._answer_limit.client(library),
            **address,
        )
        self._create: Create = self._client.chat.completions.with_streaming_response.create  # loads half of the library

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        names = NameMap(tool.name for tool in request.tools)
        body: dict[str, Any] = {**body_of(request, self.name, names), self._limit: request.max_tokens}
        self._answer_limit.allow(request.max_tokens)
        return await OpenAIStream(say, self._key, self._failures).read(self._create, body, names)

    async def close(self) -> None:
        await self._client.close()


# ── there ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def body_of(request: ModelRequest, model: str, names: NameMap) -> dict[str, Any]:
    """The request body, without a list of tools if there are none: this API refuses an empty list."""
    system: list[Message] = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {
        "model": model,
        "messages": system + [message for entry in request.history for message in _messages(entry, names)],
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [openai_tool(tool, names.to_api(tool.name)) for tool in request.tools]
    return body


def _messages(entry: HistoryEntry, names: NameMap) -> Sequence[Message]:
    match entry:
        case TaskText(text):
            return [{"role": "user", "content": text}]
        case ToolResults(results):
            return [_result(each) for each in results]
        case ModelAnswer():
            return [_assistant_message(entry, names)]


def _result(result: ToolResult) -> Message:
    """A tool result. This API has no mark for errors, so the text says it."""
    text = f"error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.id, "content": text}


def _assistant_message(answer: ModelAnswer, names: NameMap) -> Message:
    message: Message = {"role": "assistant", "content": answer.text or None}
    if answer.uses:
        message["tool_calls"] = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": names.to_api(use.name), "arguments": msgspec.json.encode(use.input).decode()},
            }
            for use in answer.uses
        ]
    return message


# ── and back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Call:
    """One tool call of an answer, put together from its pieces."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self._arguments = TextPieces()

    def add(self, part: dict[str, Any]) -> None:
        function: dict[str, Any] = part.get("function") or {}
        self.id = part.get("id") or self.id
        self.name = self.name or function.get("name", "")
        self._arguments.add(function.get("arguments") or "")

    def use(self, at: int, names: NameMap, key: ApiKey) -> ToolUse:
        given = read_arguments(self._arguments.joined(key), self.name)
        return made_use({"id": self.id or f"call_{at}", "name": self.name, "input": given}, names)


class OpenAIStream(AnswerStream):
    """Puts an answer together from events that are chunks of one message."""

    def __init__(self, say: Say, key: ApiKey, failures: sdk.Failures) -> None:
        super().__init__(say, key, failures)
        self._finish: Any = None
        self._text = TextPieces()
        self._refusal = TextPieces()
        self._calls: dict[int, _Call] = {}
        self._usage = TokenUsage()

    def add(self, event: dict[str, Any]) -> None:
        if event.get("error"):
            raise self._failures.broken_off(sdk.words_of(event))
        self._begun = self._begun or "choices" in event
        if event.get("usage"):
            self._usage = _usage(event["usage"])
        choices: list[dict[str, Any]] = event.get("choices") or []
        for choice in choices[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            self._add_delta(choice.get("delta") or {})

    def _add_delta(self, delta: dict[str, Any]) -> None:
        if delta.get("content"):
            self._say(self._key.hidden_in_answer(delta["content"]))
            self._text.add(delta["content"])
        if delta.get("refusal"):
            self._refusal.add(delta["refusal"])
        parts: list[dict[str, Any]] = delta.get("tool_calls") or []
        for part in parts:
            self._calls.setdefault(part.get("index", len(self._calls)), _Call()).add(part)

    def answer(self, names: NameMap) -> ModelAnswer:
        if not self._begun:
            raise self._failures.none_of_this_api()
        if not self._finish:
            raise self._failures.broken_off()
        stop = _STOPS.get(self._finish, StopReason.DONE)
        text, refusal = self._text.joined(self._key), self._refusal.joined(self._key)
        if refusal:
            return ModelAnswer(refusal, (), StopReason.REFUSED, self._usage, VENDOR)
        if stop is StopReason.CUT:  # a call that was cut off has no whole arguments
            return ModelAnswer(text, (), stop, self._usage, VENDOR)
        uses = tuple(call.use(at, names, self._key) for at, call in sorted(self._calls.items()))
        return ModelAnswer(text, uses, StopReason.TOOLS if uses else stop, self._usage, VENDOR)


def _usage(told: dict[str, Any]) -> TokenUsage:
    details: dict[str, Any] = told.get("prompt_tokens_details") or {}
    read = counted(details.get("cached_tokens"))
    return TokenUsage(
        max(0, counted(told.get("prompt_tokens")) - read), counted(told.get("completion_tokens")), 0, read
    )
