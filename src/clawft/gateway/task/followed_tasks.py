"""Tasks as stateless clients follow them: those the gateway runs, and those a server behind it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
from msgspec import Raw

from clawft.catalog.holdings import UriSpelling
from clawft.catalog.surface import CALL_TOOL
from clawft.errors import ClawftError, ExecutionFailed
from clawft.gateway.core import Gateway
from clawft.gateway.events import GatewayEvent, TaskChanged
from clawft.gateway.questions import read_answers
from clawft.gateway.task.handles import MAX_HANDLE_BYTES, Handle, is_handle, unknown_task
from clawft.gateway.task.task_news import TaskNews
from clawft.link.share.large_messages import process_message
from clawft.model import Call, Caller, Kind, Reply
from clawft.provider.base import TaskProvider
from clawft.wire import resource_links, tasks
from clawft.wire.visible import make_visible

_encode = msgspec.json.encode
_ENDS = {"result", "error"}
"""Members with the outcome of a task, which are words of its server, like the result of a call."""


class FollowedTasks:
    """One caller's view of its tasks."""

    def __init__(self, gateway: Gateway, caller: Caller) -> None:
        self._gateway = gateway
        self._caller = caller

    def begun(self, reply: Reply, tool: str) -> Reply:
        """The reply about a task a server has begun, with an id that leads back to it."""
        entry = self._gateway.tools.find(tool, self._caller)
        if entry is None or entry.canonical == CALL_TOOL:  # which has it of the tool that it called
            return reply
        handle = Handle(entry.origin.namespace, entry.name, tasks.read(reply.result).task_id)
        id = self._gateway.handles.close(handle, self._caller)
        if len(id) > MAX_HANDLE_BYTES:
            raise ExecutionFailed(f"{entry.origin.server}: the id of its task is too long to come back with")
        return Reply(self._shown(reply.result, id), kind=Kind.TASK)

    async def get(self, id: str) -> bytes:
        if not is_handle(id):
            return self._gateway.tasks.get(self._caller, id).shape()
        handle, provider = await self._open(id)
        shape = await provider.get_task(handle.id, self._caller)
        return await process_message(shape, handle.namespace, self._guarding(shape, id, handle))

    async def update(self, id: str, responses: Mapping[str, Raw]) -> None:
        if not is_handle(id):
            self._gateway.tasks.get(self._caller, id).answer(read_answers(responses))
            return
        handle, provider = await self._open(id)
        await provider.update_task(handle.id, self._caller, responses)

    async def cancel(self, id: str) -> None:
        if not is_handle(id):
            self._gateway.tasks.cancel(self._caller, id)
            return
        handle, provider = await self._open(id)
        await provider.cancel_task(handle.id, self._caller)

    async def watch(self, id: str, changed: Callable[[bytes], None]) -> Callable[[], None] | None:
        """Have `changed` called with each new shape; None if there is no such task."""
        try:
            if not is_handle(id):
                self._gateway.tasks.get(self._caller, id)
                return self._gateway.events.subscribe(_only(id, changed))
            handle, provider = await self._open(id)
            retelling = TaskNews(handle.namespace, partial(self._guarding, id=id, handle=handle), changed)
            release = await provider.watch_task(handle.id, self._caller, retelling.hear)
            return partial(_end_both, release, retelling.end)
        except ClawftError:
            return None

    # ── tasks of servers ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _open(self, id: str) -> tuple[Handle, TaskProvider]:
        """The provider of the task. A tool that is hidden by now has no tasks either."""
        await self._gateway.pending.wait_for_servers(self._caller)
        handle = self._gateway.handles.open(id, self._caller)
        provider = self._gateway.provider(handle.namespace, self._caller)
        if not isinstance(provider, TaskProvider) or not self._gateway.tools.find_visible(handle.tool, self._caller):
            raise unknown_task(id)
        return handle, provider

    def _guarding(self, shape: bytes, id: str, handle: Handle) -> Callable[[], bytes]:
        """Work for any thread that makes the task presentable: late results pass the same guards as immediate ones."""
        entry = self._gateway.tools.find(handle.tool, self._caller)
        if entry is None:
            return partial(self._shown, shape, id)
        shared = self._gateway.shared
        spelled = shared.spelled(entry.origin, self._caller) if shared.any else None
        call = Call(self._caller, entry.canonical, entry.tool, entry.origin, asked=handle.tool)
        return partial(self._guarded, shape, id, call, spelled)

    def _guarded(self, shape: bytes, id: str, call: Call, spelled: UriSpelling | None) -> bytes:
        members = tasks.named(shape, id)
        if "result" in members and spelled is not None:
            members["result"] = Raw(resource_links.in_result(bytes(members["result"]), spelled))
        for name in _ENDS & members.keys():
            members[name] = Raw(self._gateway.finish(call, Reply(bytes(members[name]))).result)
        return make_visible(_encode(members))

    def _shown(self, shape: bytes, id: str) -> bytes:
        return make_visible(_encode(tasks.named(shape, id)))


def _end_both(one: Callable[[], None], other: Callable[[], None]) -> None:
    one()
    other()


def _only(id: str, changed: Callable[[bytes], None]) -> Callable[[GatewayEvent], None]:
    def heard(event: GatewayEvent) -> None:
        if isinstance(event, TaskChanged) and event.task == id:
            changed(event.payload)

    return heard
