"""Any model behind an OpenAI-compatible API: our history as chat messages, its chunks as our answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.delegate import sdk
from clawft.delegate.http_client import Hearing
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
from clawft.errors import ModelFailed
from clawft.model.encoded import whole

if TYPE_CHECKING:  # heavy, and an extra
    from openai import AsyncOpenAI

VENDOR = "openai"
EXTRA = "openai"
ANSWER_SECONDS = 600.0
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
    """A Model. Tries nothing twice: the loop does that, and tells of it."""

    def __init__(self, model: str, key: ApiKey, url: str = "") -> None:
        library = sdk.load(VENDOR, EXTRA)
        self.name = model
        self._key = key
        self._hearing = Hearing()
        self._limit = "max_tokens" if url else "max_completion_tokens"  # the vendor has renamed it, others have not
        address = {"base_url": url} if url else {}
        self._client: AsyncOpenAI = library.AsyncOpenAI(
            api_key=key.reveal() or NO_KEY,
            max_retries=0,
            timeout=ANSWER_SECONDS,
            http_client=self._hearing.client(library),
            **address,
        )
        self._completions = self._client.chat.completions  # loads the other half of the library

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        names = NameMap(tool.name for tool in request.tools)
        body: dict[str, Any] = {**body_of(request, self.name, names), self._limit: request.max_tokens}
        self._hearing.await_answer(request.max_tokens)
        heard = OpenAIStream(say)
        try:
            async with await self._completions.create(stream=True, **body) as chunks:
                async for chunk in chunks:
                    heard.add(whole(chunk.model_dump(mode="json", exclude_none=True, warnings=False)))
            if not heard.finish:
                raise sdk.broken_off(self.name)
            return heard.answer(names)
        except ModelFailed:
            raise
        except Exception as broken:  # noqa: BLE001 - the library's errors, those of the HTTP client below it, odd answers
            raise sdk.failed(broken, self.name, self._key) from None

    async def close(self) -> None:
        await self._client.close()


# ── there ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def body_of(request: ModelRequest, model: str, names: NameMap) -> dict[str, Any]:
    """No list at all where there are no tools: an empty one is an error over there."""
    system: list[Message] = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {
        "model": model,
        "messages": system + [message for entry in request.history for message in _messages(entry, names)],
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [openai_tool(tool, names.there(tool.name)) for tool in request.tools]
    return body


def _messages(entry: HistoryEntry, names: NameMap) -> Sequence[Message]:
    match entry:
        case TaskText(text):
            return [{"role": "user", "content": text}]
        case ToolResults(results):
            return [_result(each) for each in results]
        case ModelAnswer():
            return [_said(entry, names)]


def _result(result: ToolResult) -> Message:
    """There is no mark for an error over there, so the text says it."""
    text = f"error: {result.text}" if result.is_error else result.text
    return {"role": "tool", "tool_call_id": result.id, "content": text}


def _said(answer: ModelAnswer, names: NameMap) -> Message:
    message: Message = {"role": "assistant", "content": answer.text or None}
    if answer.uses:
        message["tool_calls"] = [
            {
                "id": use.id,
                "type": "function",
                "function": {"name": names.there(use.name), "arguments": msgspec.json.encode(use.input).decode()},
            }
            for use in answer.uses
        ]
    return message


# ── and back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class OpenAIStream:
    """One answer, put together from its chunks."""

    def __init__(self, say: Say) -> None:
        self.finish = ""
        self._say = say
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._usage = TokenUsage()

    def add(self, chunk: dict[str, Any]) -> None:
        if chunk.get("usage"):
            self._usage = _usage(chunk["usage"])
        for choice in chunk.get("choices", [])[:1]:
            self.finish = choice.get("finish_reason") or self.finish
            self._add_delta(choice.get("delta", {}))

    def _add_delta(self, delta: dict[str, Any]) -> None:
        if delta.get("content"):
            self._text.append(delta["content"])
            self._say(delta["content"])
        if delta.get("refusal"):
            self._refusal.append(delta["refusal"])
        for part in delta.get("tool_calls", []):
            call = self._calls.setdefault(part.get("index", len(self._calls)), {"id": "", "name": "", "arguments": ""})
            function: dict[str, str] = part.get("function") or {}
            call["id"] = part.get("id") or call["id"]
            call["name"] = call["name"] or function.get("name", "")
            call["arguments"] += function.get("arguments") or ""

    def answer(self, names: NameMap) -> ModelAnswer:
        stop = _STOPS.get(self.finish, StopReason.DONE)
        if self._refusal:
            return ModelAnswer("".join(self._refusal), (), StopReason.REFUSED, self._usage, VENDOR)
        if stop is StopReason.CUT:  # a call that was cut off has no whole arguments
            return ModelAnswer("".join(self._text), (), stop, self._usage, VENDOR)
        uses = tuple(_use(call, at, names) for at, call in sorted(self._calls.items()))
        return ModelAnswer("".join(self._text), uses, StopReason.TOOLS if uses else stop, self._usage, VENDOR)


def _use(call: dict[str, str], at: int, names: NameMap) -> ToolUse:
    given = read_arguments(call["arguments"], call["name"])
    return made_use({"id": call["id"] or f"call_{at}", "name": call["name"], "input": given}, names)


def _usage(told: dict[str, Any]) -> TokenUsage:
    details: dict[str, Any] = told.get("prompt_tokens_details") or {}
    read = counted(details.get("cached_tokens"))
    return TokenUsage(
        max(0, counted(told.get("prompt_tokens")) - read), counted(told.get("completion_tokens")), 0, read
    )
