"""Claude, over the vendor's library: our history as Messages, its stream as our answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from clawft.delegate import sdk
from clawft.delegate.http_client import Hearing
from clawft.delegate.key import ApiKey
from clawft.delegate.toolbox import NameMap, made_use, object_schema, read_arguments, tool_result
from clawft.delegate.turns import (
    HistoryEntry,
    ModelAnswer,
    ModelRequest,
    Say,
    StopReason,
    TaskText,
    TokenUsage,
    ToolResults,
    ToolSpec,
    counted,
)
from clawft.errors import ModelFailed
from clawft.model.encoded import whole
from clawft.policy.delegation import ALIASES

if TYPE_CHECKING:  # heavy, and an extra
    from anthropic import AsyncAnthropic
    from anthropic.types import RawContentBlockDelta

VENDOR = "anthropic"
EXTRA = "claude"
API_VERSION = "2023-06-01"
"""What every server of this API knows, the vendor's and others'. We send nothing that a newer one has changed."""
ANSWER_SECONDS = 600.0
"""How long one answer may take."""

Block = dict[str, Any]
_CACHED = {"cache_control": {"type": "ephemeral"}}


class Claude:
    """A Model. Tries nothing twice: the loop does that, and tells of it."""

    def __init__(self, model: str, key: ApiKey, url: str = "") -> None:
        library = sdk.load(VENDOR, EXTRA)
        self.name = ALIASES.get(model, model)
        self._key = key
        self._hearing = Hearing()
        address = {"base_url": url} if url else {}
        headers = {"x-api-key": key.reveal(), "Authorization": library.Omit(), "anthropic-version": API_VERSION}
        self._client: AsyncAnthropic = library.AsyncAnthropic(
            api_key=key.reveal(),
            default_headers=headers,
            max_retries=0,
            timeout=ANSWER_SECONDS,
            http_client=self._hearing.client(library),
            **address,
        )
        self._messages = self._client.messages  # loads the other half of the library

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        names = NameMap(tool.name for tool in request.tools)
        self._hearing.await_answer(request.max_tokens)
        heard = ClaudeStream(say)
        try:
            async with self._messages.stream(**body_of(request, self.name, names)) as stream:
                async for event in stream:
                    if event.type == "content_block_delta":
                        heard.add(event.index, event.delta)
                message = await stream.get_final_message()
            told: dict[str, Any] = message.model_dump(mode="json", exclude_none=True, warnings=False)
            if "stop_reason" not in told:
                raise sdk.broken_off(self.name)
            answer = answer_of(whole(told), names)
            if answer.uses:
                heard.check_arguments()
            return answer
        except ModelFailed:
            raise
        except Exception as broken:  # noqa: BLE001 - the library's errors, those of the HTTP client below it, odd answers
            raise sdk.failed(broken, self.name, self._key) from None

    async def close(self) -> None:
        await self._client.close()


# ── there ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def body_of(request: ModelRequest, model: str, names: NameMap) -> dict[str, Any]:
    """With marks for the prompt cache behind the tools, the system text and the newest message."""
    body = {
        "model": model,
        "max_tokens": request.max_tokens,
        "tools": _tools(request.tools, names),
        "messages": _messages(request.history, names),
    }
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    return body


def _tools(tools: Sequence[ToolSpec], names: NameMap) -> list[Block]:
    told: list[Block] = [
        {"name": names.there(tool.name), "description": tool.description, "input_schema": object_schema(tool.schema)}
        for tool in tools
    ]
    return [*told[:-1], told[-1] | _CACHED] if told else []


def _messages(history: Sequence[HistoryEntry], names: NameMap) -> list[Block]:
    """Users and assistants take turns: what comes from the same side in a row is one message."""
    messages: list[Block] = []
    for entry in history:
        role, content = _content(entry, names)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        elif content:
            messages.append({"role": role, "content": content})
    if messages and messages[-1]["role"] == "user":
        last: list[Block] = messages[-1]["content"]
        last[-1] = last[-1] | _CACHED
    return messages


def _content(entry: HistoryEntry, names: NameMap) -> tuple[str, list[Block]]:
    match entry:
        case TaskText(text):
            return "user", [{"type": "text", "text": text}]
        case ToolResults(results):
            return "user", [tool_result(each.id, each.text, is_error=each.is_error) for each in results]
        case ModelAnswer():
            return "assistant", _said(entry, names)


def _said(answer: ModelAnswer, names: NameMap) -> list[Block]:
    """As it came, thinking and signatures too; rebuilt where another vendor's model said it."""
    if answer.vendor == VENDOR:
        return list(cast("list[Block]", answer.raw))
    text: list[Block] = [{"type": "text", "text": answer.text}] if answer.text else []
    return text + [
        {"type": "tool_use", "id": use.id, "name": names.there(use.name), "input": dict(use.input)}
        for use in answer.uses
    ]


# ── and back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class ClaudeStream:
    """One answer while it comes. The library makes do with arguments that break off; we do not."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._arguments: dict[int, list[str]] = {}

    def add(self, block: int, delta: RawContentBlockDelta) -> None:
        if delta.type == "text_delta":
            self._say(delta.text)
        elif delta.type == "input_json_delta":
            self._arguments.setdefault(block, []).append(delta.partial_json)

    def check_arguments(self) -> None:
        """Raises ModelFailed if some are not whole."""
        for pieces in self._arguments.values():
            read_arguments("".join(pieces), "a call")


def answer_of(message: dict[str, Any], names: NameMap) -> ModelAnswer:
    stop = _stop(message["stop_reason"])
    blocks: list[Block] = [_sendable(block) for block in message.get("content", [])]
    if stop is StopReason.CUT:  # a call that was cut off has no whole arguments
        blocks = [block for block in blocks if block["type"] != "tool_use"]
    return ModelAnswer(
        "".join(block.get("text", "") for block in blocks if block["type"] == "text"),
        tuple(made_use(block, names) for block in blocks if block["type"] == "tool_use"),
        stop,
        _usage(message.get("usage", {})),
        VENDOR,
        blocks,
    )


def _sendable(block: Block) -> Block:
    """Without what the library adds for its own use."""
    return {name: value for name, value in block.items() if name not in ("parsed_output", "caller")}


def _stop(told: str) -> StopReason:
    """A reason we do not know, such as a stop sequence, is an end like any other."""
    try:
        return StopReason(told)
    except ValueError:
        return StopReason.DONE


def _usage(told: dict[str, Any]) -> TokenUsage:
    return TokenUsage(
        counted(told.get("input_tokens")),
        counted(told.get("output_tokens")),
        counted(told.get("cache_creation_input_tokens")),
        counted(told.get("cache_read_input_tokens")),
    )
