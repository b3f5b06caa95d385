"""A scenario as a model's API, Messages and Chat Completions: anybody's agent can be tested offline."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clawft.delegate import chat_api, messages_api
from clawft.delegate.scenario import ConversationView, Scenario, ScriptedTurn, offered, pick, said_by
from clawft.delegate.scripted_model import CHARACTERS_PER_TOKEN, ScriptedFaults, no_turn, usage_of
from clawft.delegate.turns import ModelAnswer, ToolUse
from clawft.errors import ClawftError, ModelFailed
from clawft.link.asgi import EVENTS, JSON, Receive, Scope, Send, answer, read_body, stream

MAX_BODY = 32 * 1024 * 1024
"""A conversation with everything an agent has read; the vendor's own API takes no more either."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine: of pages that may ask, and under which we answer."""

Log = Callable[[str, dict[str, Any]], None]
"""Hears the path and the body of each request."""

_object = msgspec.json.Decoder(dict[str, Any])


class _Reply(Struct, frozen=True):
    answer: ModelAnswer
    thinking: str = ""
    cut: bool = False


class Endpoint:
    """An ASGI application. Any key opens it; it has nothing to hide, but what it is told is nobody's to write."""

    def __init__(self, scenario: Scenario, log: Log, hosts: frozenset[str] | None = LOCAL) -> None:
        """`hosts` are the names we answer to (None: any, where other machines reach it)."""
        self._scenario = scenario
        self._log = log
        self._hosts = hosts
        self._faults = ScriptedFaults()
        self._ids = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if refusal := self._refusal(scope):
            await self._refuse(send, messages_api, 403, refusal)
            return
        path: str = scope["path"]
        if scope["method"] in ("GET", "HEAD"):
            await answer(send, 200, b"" if scope["method"] == "HEAD" else self._known(), [JSON])
            return
        try:
            body = _object.decode(await read_body(receive, MAX_BODY) or b"{}")
        except (ClawftError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
            await self._refuse(send, messages_api, 400, str(wrong))
            return
        self._log(path, body)
        if path.endswith("/count_tokens"):
            size = len(msgspec.json.encode(body)) // CHARACTERS_PER_TOKEN
            await answer(send, 200, msgspec.json.encode({"input_tokens": size}), [JSON])
        elif path.endswith("/messages"):
            await self._speak(send, messages_api, body)
        elif path.endswith("/chat/completions"):
            await self._speak(send, chat_api, body)
        else:
            await self._refuse(send, messages_api, 404, f"{path}: only messages and chat/completions are served here")

    def _refusal(self, scope: Scope) -> str:
        """Whatever is asked is kept in the log, so the page of another site shall not have a browser ask."""
        if any(_host_in(origin) not in LOCAL for origin in _headers(scope, b"origin")):
            return "pages of other sites are not allowed"
        if self._hosts and any(_host_in(f"//{host}") not in self._hosts for host in _headers(scope, b"host")):
            return "this server is available as localhost only"
        return ""

    def _known(self) -> bytes:
        models = [{"id": self._scenario.model, "object": "model", "type": "model", "display_name": "a scenario"}]
        return msgspec.json.encode({"object": "list", "data": models, "has_more": False})

    async def _speak(self, send: Send, api: ModuleType, body: dict[str, Any]) -> None:
        try:
            reply = await self._reply(api.read(body))
        except ModelFailed as failed:
            await self._refuse(send, api, failed.http_status, failed.message, failed.wait)
            return
        except (msgspec.ValidationError, RecursionError) as wrong:
            await self._refuse(send, api, 400, f"this is not a conversation: {wrong}")
            return
        model = str(body.get("model", self._scenario.model))
        piece = (reply.answer, reply.thinking, model, f"{next(self._ids):04}")
        if body.get("stream"):
            await (_break_off if reply.cut else stream)(send, _ready(api.event_frames(*piece)))
        else:
            response_body = msgspec.json.encode(api.response_body(*piece))
            await answer(send, 200, response_body[: len(response_body) // 2] if reply.cut else response_body, [JSON])

    async def _reply(self, seen: ConversationView) -> _Reply:
        picked = await asyncio.to_thread(pick, self._scenario, seen)  # patterns take their time over a long message
        if picked is None:
            if not self._scenario.otherwise:
                raise no_turn()
            return _Reply(ModelAnswer(self._scenario.otherwise))
        number, turn = picked
        fault = self._faults.next_of(turn, number, seen)
        await asyncio.sleep(turn.wait_ms / 1000)
        if isinstance(fault, int):
            raise ModelFailed("scripted", http_status=fault, wait=turn.retry_after)
        return _Reply(self._answer(number, turn, seen), turn.thinking, cut=fault == "cut")

    def _answer(self, number: int, turn: ScriptedTurn, seen: ConversationView) -> ModelAnswer:
        text = said_by(turn, seen)
        uses = tuple(
            ToolUse(f"toolu_{number}_{at}_{len(seen.messages)}", offered(call.tool, seen.tools), call.input)
            for at, call in enumerate(turn.calls, 1)
        )
        return ModelAnswer(text, uses, turn.ends, usage_of(turn, seen, text))

    async def _refuse(self, send: Send, api: ModuleType, status: int, message: str, wait: float | None = None) -> None:
        headers = [JSON] if wait is None else [JSON, (b"retry-after", f"{wait:g}".encode())]
        await answer(send, status or 500, msgspec.json.encode(api.error(status, message)), headers)


def _headers(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


def _host_in(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def _ready(event_frames: Iterator[bytes]) -> AsyncIterator[bytes]:
    for frame in event_frames:
        yield frame


async def _break_off(send: Send, event_frames: AsyncIterator[bytes]) -> None:
    """Half of the answer, and then nothing: the client sees its connection end."""
    response_body = [frame async for frame in event_frames]
    await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
    for frame in response_body[: len(response_body) // 2]:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
