"""The Chat Completions API from the server's side, as far as a script needs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from clawft.delegate.messages_api import text_of
from clawft.delegate.scenario import ChatMessage, ConversationView
from clawft.delegate.scripted_model import pieces
from clawft.delegate.turns import ModelAnswer, StopReason

LAST = b"data: [DONE]\n\n"

_STOPS = {StopReason.TOOLS: "tool_calls", StopReason.CUT: "length", StopReason.REFUSED: "content_filter"}


class _Message(Struct):
    role: str
    content: Any = None


class _Function(Struct, frozen=True):
    name: str = ""


class _Tool(Struct, frozen=True):
    function: _Function = _Function()


class _Body(Struct):
    messages: list[_Message]
    tools: list[_Tool] = []


def read(body: dict[str, Any]) -> ConversationView:
    """Results are messages of their own here; those in a row are one to a script. Raises msgspec.ValidationError."""
    request = msgspec.convert(body, _Body)
    system: list[str] = []
    messages: list[ChatMessage] = []
    joins = False
    for one in request.messages:
        text = text_of(one.content)
        if one.role in ("system", "developer"):
            system.append(text)
        elif one.role == "tool" and joins:
            messages[-1] = ChatMessage("user", f"{messages[-1].text}\n{text}")
        else:
            messages.append(ChatMessage("assistant" if one.role == "assistant" else "user", text))
        joins = one.role == "tool"
    return ConversationView(messages, "\n".join(system), [tool.function.name for tool in request.tools])


def response_body(answer: ModelAnswer, thinking: str, model: str, id: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.uses:
        message["tool_calls"] = [_call(answer, at) for at in range(len(answer.uses))]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    return _object("chat.completion", model, id, choices=[choice], usage=_usage(answer))


def event_frames(answer: ModelAnswer, thinking: str, model: str, id: str) -> Iterator[bytes]:
    yield _chunk(model, id, {"role": "assistant", "content": ""})
    for piece in pieces(answer.text):
        yield _chunk(model, id, {"content": piece})
    for at in range(len(answer.uses)):
        call = _call(answer, at)
        written: str = call["function"].pop("arguments")
        yield _chunk(model, id, {"tool_calls": [{"index": at, **call}]})
        for part in (written[: len(written) // 2], written[len(written) // 2 :]):
            yield _chunk(model, id, {"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield _chunk(model, id, {}, _finish(answer))
    yield _data(_object("chat.completion.chunk", model, id, choices=[], usage=_usage(answer)))
    yield LAST


def _call(answer: ModelAnswer, at: int) -> dict[str, Any]:
    use = answer.uses[at]
    function = {"name": use.name, "arguments": msgspec.json.encode(use.input).decode()}
    return {"id": use.id, "type": "function", "function": function}


def _finish(answer: ModelAnswer) -> str:
    return _STOPS.get(answer.stop, "stop")


def _usage(answer: ModelAnswer) -> dict[str, Any]:
    usage = answer.usage
    read_in = usage.input + usage.cache_write + usage.cache_read
    return {
        "prompt_tokens": read_in,
        "completion_tokens": usage.output,
        "total_tokens": read_in + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def _chunk(model: str, id: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data(_object("chat.completion.chunk", model, id, choices=[choice]))


def _object(kind: str, model: str, id: str, **members: Any) -> dict[str, Any]:
    return {"id": f"chatcmpl-{id}", "object": kind, "created": 0, "model": model, **members}


def _data(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error" if status < 500 else "server_error"}}
