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

    def start(
        self, key: bytes, work: Coroutine[None, None, bytes], deliver: Answer, id: bytes = b""
    ) -> asyncio.Task[None] | None:
        """None if it was refused; the refusal is delivered. `id` is the request's own, where `key` is not."""
        refusal = self._refusal(key)
        if refusal is not None:
            work.close()
            deliver(jsonrpc.failure_of(id or key, refusal))
            return None
        task = asyncio.get_running_loop().create_task(self._run(key, work, deliver, id or key))
        task.add_done_callback(lambda done: self._forget(key, done, work))
        self._tasks[key] = task
        return task

    def _forget(self, key: bytes, done: asyncio.Task[None], work: Coroutine[None, None, bytes]) -> None:
        """A task that was cancelled before its first step has not tidied up after itself."""
        if self._tasks.get(key) is done:
            del self._tasks[key]
            work.close()

    def _refusal(self, key: bytes) -> ClawftError | None:
        if self._closing:
            return Busy("shutting down", hint="connect again")
        if key in self._tasks:
            return BadEnvelope(f"the id {key[:100].decode('utf-8', 'replace')} is in use by a request in flight")
        if len(self._tasks) >= self._limit:
            return Busy(f"busy: {self._limit} requests are in flight on this connection", hint="wait for some answers")
        return None

    async def _run(self, key: bytes, work: Coroutine[None, None, bytes], deliver: Answer, id: bytes) -> None:
        try:
            answer = await work
        except asyncio.CancelledError:
            if self._closing:
                deliver(jsonrpc.failure(id, INTERNAL_ERROR, "shutting down: the call did not finish in time"))
            return
        finally:
            del self._tasks[key]
        deliver(answer)

    def cancel(self, key: bytes) -> None:
        """Stop it; nothing more is sent for this id. Unknown ids are fine: the answer may just have gone out."""
        task = self._tasks.get(key)
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
    except Exception as error:  # noqa: BLE001 - the caller gets one answer whatever breaks
        return _failed(id, error, code_of)


def answered_now(id: bytes, work: Callable[[], bytes], code_of: Callable[[ClawftError], int]) -> bytes:
    """The same for work that needs no waiting."""
    try:
        return jsonrpc.result(id, work())
    except Exception as error:  # noqa: BLE001 - same
        return _failed(id, error, code_of)


def _failed(id: bytes, error: Exception, code_of: Callable[[ClawftError], int]) -> bytes:
    """Our own errors in full; of anything else the log gets all and the caller nothing of our insides."""
    if isinstance(error, ClawftError):
        return jsonrpc.failure_of(id, error, code_of(error))
    if isinstance(error, RecursionError):  # the door reads a little deeper than the rooms behind it
        return jsonrpc.failure(id, INTERNAL_ERROR, "nested too deeply: the arguments, or the work on them")
    log.error("a request broke", exc_info=error)
    return jsonrpc.failure(id, INTERNAL_ERROR, "internal error")
