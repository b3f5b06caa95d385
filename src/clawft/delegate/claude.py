"""Claude, over the vendor's library: our history as Messages, its stream as our answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from clawft.delegate import sdk
from clawft.delegate.event_stream import AnswerStream, Create, TextPieces
from clawft.delegate.http_client import AnswerLimit
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
from clawft.policy.delegation import ALIASES

if TYPE_CHECKING:  # heavy, and an extra
    from anthropic import AsyncAnthropic

VENDOR = "anthropic"
EXTRA = "claude"
API_VERSION = "2023-06-01"
"""The version that every server of this API knows, the vendor's and others'. We send nothing that a newer one has
changed.
"""

Block = dict[str, Any]
_CACHED = {"cache_control": {"type": "ephemeral"}}


class Claude:
    """A Model. It retries nothing: the loop does, and reports it."""

    def __init__(self, model: str, key: ApiKey, url: str = "") -> None:
        library = sdk.load(VENDOR, EXTRA)
        self.name = ALIASES.get(model, model)
        self._key = key
        self._failures = sdk.Failures(self.name, key)
        self._answer_limit = AnswerLimit()
        address = {"base_url": url} if url else {}
        headers = {"x-api-key": key.reveal(), "Authorization": library.Omit(), "anthropic-version": API_VERSION}
        self._client: AsyncAnthropic = library.AsyncAnthropic(
            api_key=key.reveal(),
            default_headers=headers,
            max_retries=0,
            timeout=sdk.ANSWER_SECONDS,
            http_client=self._answer_limit.client(library),
            **address,
        )
        self._create: Create = self._client.messages.with_streaming_response.create  # loads half of the library

    async def answer(self, request: ModelRequest, say: Say) -> ModelAnswer:
        names = NameMap(tool.name for tool in request.tools)
        self._answer_limit.allow(request.max_tokens)
        stream = ClaudeStream(say, self._key, self._failures)
        return await stream.read(self._create, body_of(request, self.name, names), names)

    async def close(self) -> None:
        await self._client.close()


# ── there ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def body_of(request: ModelRequest, model: str, names: NameMap) -> dict[str, Any]:
    """The request body, with prompt cache marks after the tools, the system text and the newest message."""
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
    blocks: list[Block] = [
        {"name": names.to_api(tool.name), "description": tool.description, "input_schema": object_schema(tool.schema)}
        for tool in tools
    ]
    return [*blocks[:-1], blocks[-1] | _CACHED] if blocks else []


def _messages(history: Sequence[HistoryEntry], names: NameMap) -> list[Block]:
    """The history as messages; consecutive entries of one role are merged, as the API wants roles to alternate."""
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
            return "assistant", _assistant_blocks(entry, names)


def _assistant_blocks(answer: ModelAnswer, names: NameMap) -> list[Block]:
    """The blocks of an answer as they came, with thinking and signatures; rebuilt if another vendor's model gave it."""
    blocks = cast("object", answer.raw)
    if answer.vendor == VENDOR and isinstance(blocks, list):  # a transcript may have been tampered with
        return [*cast("list[Block]", blocks)]
    text: list[Block] = [{"type": "text", "text": answer.text}] if answer.text else []
    return text + [
        {"type": "tool_use", "id": use.id, "name": names.to_api(use.name), "input": dict(use.input)}
        for use in answer.uses
    ]


# ── and back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class ClaudeStream(AnswerStream):
    """Puts an answer together from its events; parts we do not understand are kept as they came."""

    def __init__(self, say: Say, key: ApiKey, failures: sdk.Failures) -> None:
        super().__init__(say, key, failures)
        self._stop: Any = None
        self._blocks: dict[int, Block] = {}
        self._growing: dict[int, dict[str, TextPieces]] = {}
        self._usage: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._begun = True
                self._count(event["message"])
            case "content_block_start":
                self._blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                self._grow(event["index"], event["delta"])
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._count(event)
            case "message_stop":
                self.is_whole = True
            case "error":
                raise self._failures.broken_off(sdk.words_of(event))
            case _:
                pass  # a ping, or what there will be one day

    def _count(self, told: dict[str, Any]) -> None:
        """Take the usage of an event; later counts replace earlier ones."""
        counts: dict[str, Any] = told.get("usage") or {}
        self._usage |= {name: count for name, count in counts.items() if count is not None}

    def _grow(self, at: int, delta: dict[str, Any]) -> None:
        block = self._blocks[at]
        match delta.get("type"):
            case "text_delta":
                self._say(self._key.hidden_in_answer(delta["text"]))
                self._text_of(at, "text").add(delta["text"])
            case "thinking_delta":
                self._text_of(at, "thinking").add(delta["thinking"])
            case "input_json_delta":
                self._text_of(at, "input").add(delta["partial_json"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "citations_delta":
                citations: list[Any] = block.get("citations") or []
                citations.append(delta["citation"])
                block["citations"] = citations
            case _:
                pass

    def _text_of(self, at: int, member: str) -> TextPieces:
        begun = "" if member == "input" else self._blocks[at].get(member) or ""
        return self._growing.setdefault(at, {}).setdefault(member, TextPieces(begun))

    def answer(self, names: NameMap) -> ModelAnswer:
        if not self._begun:
            raise self._failures.none_of_this_api()
        if self._stop is None:
            raise self._failures.broken_off()
        stop = _stop(self._stop)
        blocks = [
            _sendable(self._grown(at, block)) for at, block in sorted(self._blocks.items()) if _is_whole(block, stop)
        ]
        return ModelAnswer(
            "".join(block.get("text", "") for block in blocks if block["type"] == "text"),
            tuple(made_use(block, names) for block in blocks if block["type"] == "tool_use"),
            stop,
            _usage(self._usage),
            VENDOR,
            blocks,
        )

    def _grown(self, at: int, block: Block) -> Block:
        texts = {member: text.joined(self._key) for member, text in self._growing.get(at, {}).items()}
        if "input" in texts:
            return {**block, **texts, "input": read_arguments(texts["input"], str(block.get("name")))}
        return {**block, **texts}


def _is_whole(block: Block, stop: StopReason) -> bool:
    """Whether a block is complete: a call that was cut off has incomplete arguments."""
    return not (stop is StopReason.CUT and block["type"].endswith("tool_use"))


def _sendable(block: Block) -> Block:
    """The block without members that the API sends but does not accept back."""
    return {name: value for name, value in block.items() if name != "caller" and value is not None}


def _stop(told: Any) -> StopReason:
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
