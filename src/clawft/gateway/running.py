"""Requests in flight on one connection: bounded, cancelled by id, and waited for at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from clawft.errors import INTERNAL_ERROR, BadEnvelope, Busy, ClawftError
from clawft.wire import jsonrpc

MAX_IN_FLIGHT = 1_024

log = logging.getLogger("clawft.gateway")

Answer = Callable[[bytes], None]


class Running:
    """Starts each request as a task of its own and delivers exactly one answer for it, unless it was cancelled."""

    def __init__(self, limit: int = MAX_IN_FLIGHT) -> None:
        self._limit = limit
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._closing = False

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, id: bytes, work: Coroutine[None, None, bytes], deliver: Answer) -> asyncio.Task[None] | None:
        """None if it was refused; the refusal is delivered."""
        refusal = self._refusal(id)
        if refusal is not None:
            work.close()
            deliver(jsonrpc.failure_of(id, refusal))
            return None
        task = self._tasks[id] = asyncio.get_running_loop().create_task(self._run(id, work, deliver))
        return task

    def _refusal(self, id: bytes) -> ClawftError | None:
        if self._closing:
            return Busy("shutting down", hint="connect again")
        if id in self._tasks:
            return BadEnvelope(f"the id {id.decode('utf-8', 'replace')} is in use by a request in flight")
        if len(self._tasks) >= self._limit:
            return Busy(f"busy: {self._limit} requests are in flight on this connection", hint="wait for some answers")
        return None

    async def _run(self, id: bytes, work: Coroutine[None, None, bytes], deliver: Answer) -> None:
        try:
            answer = await work
        except asyncio.CancelledError:
            if self._closing:
                deliver(jsonrpc.failure(id, INTERNAL_ERROR, "shutting down: the call did not finish in time"))
            return
        finally:
            del self._tasks[id]
        deliver(answer)

    def cancel(self, id: bytes) -> None:
        """Stop it; nothing more is sent for this id. Unknown ids are fine: the answer may just have gone out."""
        task = self._tasks.get(id)
        if task is not None:
            task.cancel()

    def cancel_all(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def drain(self, grace: float) -> None:
        """Refuse new requests, let the running ones finish, then end them with a clear error."""
        self._closing = True
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=grace)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def answered(id: bytes, work: Coroutine[None, None, bytes], code_of: Callable[[ClawftError], int]) -> bytes:
    """The result of the work as an answer, or its error as one. `code_of` is the dialect's."""
    try:
        return jsonrpc.result(id, await work)
    except ClawftError as error:
        return jsonrpc.failure_of(id, error, code_of(error))
    except Exception:  # the caller gets one answer whatever breaks, and never our internals
        log.exception("a request broke")
        return jsonrpc.failure(id, INTERNAL_ERROR, "internal error")
