"""Tasks as in MCP 2025-11-25: the agent asks for one, and for its result, which is answered once there is one.

The gateway runs the call itself; whether the server behind it makes a task of it is hidden from the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field

from clawft.catalog.snapshot import CatalogEntry
from clawft.errors import BadParams, UnknownMethod
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CallTarget
from clawft.gateway.offer.listing import read_cursor, strange_cursor
from clawft.gateway.task.tasks import Run, Task
from clawft.model import Caller, Question, Reply, Talk
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.tasks import FINAL, RELATED, milliseconds, older, related

MAX_BEGUN = 1_000
"""How many tasks of one conversation have their changes reported."""

AskQuestion = Callable[[Question], Awaitable[Mapping[str, Any]]]
"""Puts a question to the agent, on the stream of the request that is being answered."""

_encode = msgspec.json.encode


class _Params(Struct):
    id: str = field(name="taskId")


class _Wish(Struct):
    ttl: float | None = None


class OlderTasks:
    """The tasks of one conversation."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.begun: set[str] = set()

    async def begin(self, target: CallTarget, caller: Caller) -> bytes:
        """Begin the task. Raises ToolNotFound just as a call without a task does."""
        wished_ms = _read_wish(target)
        entry = await self._find(target.name, caller)
        if entry is None:
            return self._begin(target, caller, await self._answered(target, caller), wished_ms)
        if entry.tool.task == "forbidden":
            raise UnknownMethod(f"{target.name} cannot run as a task", hint="call it without `task`")
        return self._begin(target, caller, partial(self._call, target, caller), wished_ms)

    async def _find(self, name: str, caller: Caller) -> CatalogEntry | None:
        """The tool, once its server has had its time to start."""
        gateway = self._gateway
        if gateway.tools.find(name, caller) is None:
            await gateway.pending.wait_for_tool(name, caller)
        return gateway.tools.find_visible(name, caller)

    async def _answered(self, target: CallTarget, caller: Caller) -> Run:
        """The answer to a call of an absent tool, where its server can say why; usually raises ToolNotFound."""
        reply = await self._call(target, caller)

        async def repeat(_: Task) -> Reply:
            return reply

        return repeat

    def _call(self, target: CallTarget, caller: Caller, talk: Talk | None = None) -> Awaitable[Reply]:
        return self._gateway.call(caller, target.name, target.arguments, talk, target.meta, target.more)

    def _begin(self, target: CallTarget, caller: Caller, run: Run, wished_ms: int | None) -> bytes:
        task = self._gateway.tasks.begin(caller, target.name, run, wished_ms=wished_ms)
        if len(self.begun) < MAX_BEGUN:
            self.begun.add(task.id)
        return _encode({"task": older(task.shape())})

    def status(self, shape: bytes) -> bytes:
        """The notification about a changed task."""
        return _encode(older(shape))

    async def answer(self, request: Request, caller: Caller, ask: AskQuestion) -> bytes:
        board = self._gateway.tasks
        if request.method == "tasks/list":
            if read_cursor(request.params) is not None:
                raise strange_cursor()  # all are on one page
            return _encode({"tasks": [older(task.shape()) for task in board.of(caller)]})
        task = board.get(caller, _read_id(request))
        if request.method == "tasks/result":
            return await self._result(task, ask)
        if request.method == "tasks/cancel":
            if task.status in FINAL:
                raise BadParams(f"the task is {task.status} already")
            board.cancel(caller, task.id)
        return _encode(older(task.shape()))

    async def _result(self, task: Task, ask: AskQuestion) -> bytes:
        """Wait for the result; questions of the task are asked here meanwhile."""
        while task.status not in FINAL:
            if task.questions:
                await self._ask(task, ask)
            else:
                await task.change()
        if task.status == "completed":
            return related(task.result, task.id)
        raise task.failure or BadParams(f"the task was {task.status}")

    async def _ask(self, task: Task, ask: AskQuestion) -> None:
        for key, question in list(task.questions.items()):
            params = {**question.params, "_meta": {**question.params.get("_meta", {}), RELATED: {"taskId": task.id}}}
            answer = await _while_asked(task, key, ask(Question(question.method, params)))
            if answer is not None:
                task.answer({key: answer})


async def _while_asked(task: Task, key: str, answered: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The answer, or None if the task no longer wants it, perhaps because it is over."""
    asking = asyncio.ensure_future(answered)
    changing: asyncio.Future[None] | None = None
    try:
        while not asking.done() and key in task.questions:
            changing = asyncio.ensure_future(task.change())
            await asyncio.wait((asking, changing), return_when=asyncio.FIRST_COMPLETED)
            changing.cancel()
        return asking.result() if asking.done() else None
    finally:
        if changing is not None:
            changing.cancel()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def _read_wish(target: CallTarget) -> int | None:
    """How long the agent asks to have the task kept; None if it does not say."""
    try:
        ttl = None if target.task is UNSET else msgspec.json.decode(target.task, type=_Wish).ttl
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{target.method}: task: {wrong}") from None
    wished = milliseconds(ttl)
    if wished is None and ttl is not None:
        raise BadParams(f"{target.method}: task: the ttl {ttl} is not a valid lifetime")
    return wished


def _read_id(request: Request) -> str:
    try:
        return msgspec.json.decode(request.params, type=_Params).id
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{request.method}: {wrong}") from None
