"""The Messages API from the server's side, as far as a script needs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from clawft.delegate.scenario import ChatMessage, ConversationView
from clawft.delegate.scripted_model import pieces
from clawft.delegate.turns import ModelAnswer

SIGNATURE = "c2NyaXB0ZWQ="
"""Stands where the vendor signs thinking; models insist that it comes back unchanged."""

Block = dict[str, Any]


class _Message(Struct):
    role: str
    content: Any = ""


class _Tool(Struct):
    name: str = ""


class _Body(Struct):
    messages: list[_Message]
    system: Any = ""
    tools: list[_Tool] = []


def read(body: dict[str, Any]) -> ConversationView:
    """Raises msgspec.ValidationError if this is no conversation."""
    request = msgspec.convert(body, _Body)
    messages = [
        ChatMessage("assistant" if one.role == "assistant" else "user", text_of(one.content))
        for one in request.messages
    ]
    return ConversationView(messages, text_of(request.system), [tool.name for tool in request.tools])


class _Block(Struct):
    type: str = ""
    text: str = ""
    content: Any = None


def text_of(content: Any) -> str:
    """All text of a message: of text blocks, of results, of nothing else."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    blocks = msgspec.convert(content, list[_Block])
    texts = [block.text if block.type == "text" else text_of(block.content) for block in blocks]
    return "\n".join(text for text in texts if text)


def blocks_of(answer: ModelAnswer, thinking: str) -> list[Block]:
    thought: list[Block] = [{"type": "thinking", "thinking": thinking, "signature": SIGNATURE}] if thinking else []
    text: list[Block] = [{"type": "text", "text": answer.text}] if answer.text else []
    uses = [{"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.input)} for use in answer.uses]
    return thought + text + uses


def response_body(answer: ModelAnswer, thinking: str, model: str, id: str) -> dict[str, Any]:
    return {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks_of(answer, thinking),
        "stop_reason": answer.stop.value,
        "stop_sequence": None,
        "usage": _usage(answer),
    }


def _usage(answer: ModelAnswer) -> dict[str, int]:
    return {
        "input_tokens": answer.usage.input,
        "output_tokens": answer.usage.output,
        "cache_creation_input_tokens": answer.usage.cache_write,
        "cache_read_input_tokens": answer.usage.cache_read,
    }


def event_frames(answer: ModelAnswer, thinking: str, model: str, id: str) -> Iterator[bytes]:
    message = response_body(answer, thinking, model, id)
    begun: dict[str, Any] = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {**message["usage"], "output_tokens": 1},
    }
    yield _event("message_start", message=begun)
    for at, block in enumerate(message["content"]):
        empty, deltas = _in_pieces(block)
        yield _event("content_block_start", index=at, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=at, delta=delta)
        yield _event("content_block_stop", index=at)
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage=message["usage"])
    yield _event("message_stop")


def _in_pieces(block: Block) -> tuple[Block, list[Block]]:
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case _:
            written = msgspec.json.encode(block["input"]).decode()
            halves = (written[: len(written) // 2], written[len(written) // 2 :])
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": half} for half in halves]


def _event(kind: str, **members: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **members}))


def error(status: int, message: str) -> dict[str, Any]:
    kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


_ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
