"""Calls that outlive their request: the tasks extension, served.

A tool marked for it runs on in the background; the caller polls, answers its questions and may cancel. Only the
principal that started a task can see it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import INTERNAL_ERROR, Busy, ClawftError
from clawft.gateway.events import Events, TaskChanged
from clawft.gateway.questions import Answers
from clawft.gateway.task.handles import unknown_task
from clawft.link.share.attic import ATTIC
from clawft.model import Caller, Kind, LogLevel, Question, Reply
from clawft.wire.asking import answers_it, require
from clawft.wire.stateless import error_code
from clawft.wire.tasks import FINAL
from clawft.wire.visible import make_visible

TTL_MS = 300_000
POLL_MS = 500
MAX_TASKS = 1_000
MAX_OF_ONE = 500
"""Of one person: there is room for others."""

log = logging.getLogger("clawft.tasks")

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
_NONE_YET: Answers = {}


class _Shape(Struct, rename="camel", omit_defaults=True):
    """A task on the wire: flat, the same in every answer about it."""

    task_id: str
    status: Status
    created_at: str
    last_updated_at: str
    ttl_ms: int
    poll_interval_ms: int
    status_message: str | UnsetType = UNSET
    input_requests: Any = UNSET
    result: Raw | UnsetType = UNSET
    error: Any = UNSET


class Task:
    """One running call. Its questions wait here until the caller answers them."""

    def __init__(self, caller: Caller, changed: Callable[[Task], None], known: Answers) -> None:
        from secrets import token_urlsafe  # only where a call becomes a task

        self.id = token_urlsafe(18)
        self.caller = caller
        self.status: Status = "working"
        self.created = time.time()
        self.updated = self.created
        self.questions: dict[str, Question] = {}
        self.result: bytes = b""
        self.error: Mapping[str, Any] | None = None
        self.failure: ClawftError | None = None
        self.work: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._changed = changed
        self._known = known
        self._stirred = asyncio.Event()

    # the task is its own Talk: progress and log do not exist for tasks

    level = ""
    carried = b""

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        pass

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        pass

    def detach(self) -> None:
        pass

    def hang_up(self, retry_ms: int) -> None:
        pass

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Answers:
        unknown = {key: q for key, q in questions.items() if key not in self._known}
        for question in unknown.values():
            require(self.caller, question)
        loop = asyncio.get_running_loop()
        waiting = {key: loop.create_future() for key in unknown}
        if unknown:
            self._answers |= waiting
            self.questions |= unknown
            self.move("input_required")
        given = {key: await future for key, future in waiting.items()}
        return {key: given[key] if key in given else self._known[key] for key in questions}

    def answer(self, answers: Answers) -> None:
        """Take the answers that fit open questions; unknown keys, non-answers and late ones are ignored."""
        if self.status in FINAL:
            return
        for key, answer in answers.items():
            question = self.questions.get(key)
            if question is None or not answers_it(question, answer):
                continue
            del self.questions[key]
            self._answers.pop(key).set_result(answer)
        if not self.questions and self.status == "input_required":
            self.move("working")

    def move(self, status: Status) -> None:
        """Final states stay."""
        if self.status in FINAL:
            return
        self.status = status
        self.updated = time.time()
        self._stirred.set()
        self._changed(self)

    async def change(self) -> None:
        """Until something about it is new."""
        self._stirred.clear()
        await self._stirred.wait()

    def shape(self) -> bytes:
        shape = _Shape(self.id, self.status, _stamp(self.created), _stamp(self.updated), TTL_MS, POLL_MS)
        if self.status == "input_required":
            shape.input_requests = {k: {"method": q.method, "params": q.params} for k, q in self.questions.items()}
        if self.status == "completed":
            shape.result = Raw(self.result)
        if self.status == "failed":
            shape.error = self.error
        return make_visible(msgspec.json.encode(shape))


class Board:
    """All tasks there are; each ends by itself, is cancelled, or is forgotten after its time."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._tasks: dict[str, Task] = {}
        ATTIC.lend(self)

    def start(self, caller: Caller, run: Callable[[Task], Awaitable[Reply]], known: Answers) -> Reply:
        """Run it in the background, with the answers known already, and reply at once with the task."""
        return Reply(self.begin(caller, run, known).shape(), kind=Kind.TASK)

    def begin(self, caller: Caller, run: Callable[[Task], Awaitable[Reply]], known: Answers = _NONE_YET) -> Task:
        self._forget_old()
        if len(self._tasks) >= MAX_TASKS or len(self.of(caller)) >= MAX_OF_ONE:
            kept = f"{len(self.of(caller))} tasks of yours and {len(self._tasks)} of all are kept already"
            raise Busy(kept, hint="cancel some, or wait until they expire")
        task = Task(caller, self._tell, known)
        self._tasks[task.id] = task
        task.work = asyncio.get_running_loop().create_task(self._work(task, run), name=f"task {task.id}")
        return task

    def of(self, caller: Caller) -> list[Task]:
        """Every task this principal can see, the oldest first."""
        return [task for task in self._tasks.values() if task.caller.principal == caller.principal]

    async def _work(self, task: Task, run: Callable[[Task], Awaitable[Reply]]) -> None:
        try:
            reply = await run(task)
        except asyncio.CancelledError:
            task.move("cancelled")
            raise
        except ClawftError as failed:
            task.failure = failed
            task.error = _told(failed)
            task.move("failed")
        except Exception:  # whatever a tool does, its task ends in a state
            log.exception("task %s broke", task.id)
            task.error = {"code": INTERNAL_ERROR, "message": "internal error"}
            task.move("failed")
        else:
            task.result = reply.result
            ATTIC.settle()
            task.move("completed")

    def get(self, caller: Caller, id: str) -> Task:
        task = self._tasks.get(id)
        if task is None or task.caller.principal != caller.principal:
            raise unknown_task(id)
        return task

    def cancel(self, caller: Caller, id: str) -> None:
        """Idempotent; a task that has ended stays as it is."""
        task = self.get(caller, id)
        if task.status not in FINAL and task.work is not None:
            task.move("cancelled")
            task.work.cancel()

    async def close(self) -> None:
        works = [task.work for task in self._tasks.values() if task.work is not None]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    def _tell(self, task: Task) -> None:
        self._events.publish(TaskChanged(task.id, task.caller.principal, task.shape()))

    @property
    def bytes(self) -> int:
        """Of all results that wait to be fetched."""
        return sum(len(task.result) for task in self._tasks.values())

    def give_way(self) -> bool:
        """The oldest result of whoever has most does. Not the last one there is."""
        done = [task for task in self._tasks.values() if task.result]
        if not done[1:]:
            return False
        sizes: Counter[str] = Counter()
        for task in done:
            sizes[task.caller.principal] += len(task.result)
        ((greedy, _),) = sizes.most_common(1)
        del self._tasks[next(task.id for task in done if task.caller.principal == greedy)]
        return True

    def _forget_old(self) -> None:
        """Work goes on as long as it needs; questions that nobody answers do not wait for ever."""
        limit = time.time() - TTL_MS / 1000
        for task in [task for task in self._tasks.values() if task.updated < limit and task.status != "working"]:
            del self._tasks[task.id]
            if task.status not in FINAL and task.work is not None:
                task.move("cancelled")
                task.work.cancel()


def _told(failed: ClawftError) -> Mapping[str, Any]:
    """The error a call would have ended with; only the stateless era shows it in the task."""
    data = {} if failed.data is None else {"data": failed.data}
    return {"code": error_code(failed), "message": str(failed), **data}


def _stamp(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
