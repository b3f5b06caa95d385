"""The tasks the gateway runs: calls that go on in the background after their request was answered.

The caller polls, answers the task's questions and may cancel it. Only the principal that started a task can see it, and
only with a token that may see its tool.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import INTERNAL_ERROR, Busy, ClawftError, LinkClosed
from clawft.gateway.events import Events, TaskChanged
from clawft.gateway.questions import Answers
from clawft.gateway.task.handles import unknown_task
from clawft.link.share.memory_budget import MEMORY_BUDGET
from clawft.model import BackgroundTalk, Caller, Kind, LogLevel, Question, Reply, TaskStanding
from clawft.provider.failure import is_failure
from clawft.wire.answers import answers_it, require
from clawft.wire.stateless import error_code
from clawft.wire.tasks import FINAL
from clawft.wire.visible import make_visible

TTL_MS = 300_000
POLL_MS = 500
MAX_TASKS = 1_000
MAX_OF_ONE = 500
"""Tasks of one person, so that there is room for others."""

log = logging.getLogger("clawft.tasks")

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
_NONE_YET: Answers = {}
_UNTOLD = TaskStanding()


class _Shape(Struct, rename="camel", omit_defaults=True):
    """A task on the wire: the same flat object in every answer about it."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl_ms: int
    poll_interval_ms: int
    status_message: str | UnsetType = UNSET
    input_requests: Any = UNSET
    result: Raw | UnsetType = UNSET
    error: Any = UNSET


class Task(BackgroundTalk):
    """One running call. Its questions wait here until the caller answers them."""

    def __init__(
        self, caller: Caller, tool: str, changed: Callable[[Task], None], known: Answers, wished_ms: int | None = None
    ) -> None:
        from secrets import token_urlsafe  # only where a call becomes a task

        self.id = token_urlsafe(18)
        self.caller = caller
        self.tool = tool
        self.wished_ms = wished_ms
        self.status: TaskStatus = "working"
        self._standing = _UNTOLD
        self.created = time.time()
        self.updated = self.created
        self.moved = time.monotonic()
        """When the task last changed, by the monotonic clock, to expire it; `updated` is for people."""
        self.questions: dict[str, Question] = {}
        self.result: bytes = b""
        self.error: Mapping[str, Any] | None = None
        self.failure: ClawftError | None = None
        self.work: asyncio.Task[None] | None = None
        self._answers: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._keys: set[str] = set()
        """Every key a question was ever asked under."""
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
        if self.status in FINAL:
            raise LinkClosed("the task is over")
        asked = {key: self._open(key, question) for key, question in unknown.items()}
        if asked:
            self.move("input_required")
        try:
            answers = await asyncio.gather(*(self._answers[own] for own in asked.values()))
        finally:
            self._close(asked.values())
        given = dict(zip(asked, answers, strict=True))
        return {key: given[key] if key in given else self._known[key] for key in questions}

    def _open(self, key: str, question: Question) -> str:
        """Register a question; gives the unique key it is asked under, as a server may ask two things at once."""
        own = key if key not in self._keys else f"{key}_{len(self._keys)}"
        self._keys.add(own)
        self.questions[own] = question
        self._answers[own] = asyncio.get_running_loop().create_future()
        return own

    def _close(self, keys: Iterable[str]) -> None:
        """Remove questions that are answered, or that nobody wants answered any more."""
        for key in keys:
            self.questions.pop(key, None)
            self._answers.pop(key, None)
        if not self.questions and self.status == "input_required":
            self.move("working")

    def end(self) -> None:
        """The call is over: fail whatever still waits for an answer here."""
        for waiter in self._answers.values():
            if not waiter.done():
                waiter.set_exception(LinkClosed("the task is over"))

    def answer(self, answers: Answers) -> None:
        """Take the answers that fit open questions; unknown keys, non-answers and late ones are ignored."""
        if self.status in FINAL:
            return
        fitting = [key for key in answers if key in self.questions and answers_it(self.questions[key], answers[key])]
        for key in fitting:
            self._answers[key].set_result(answers[key])
        self._close(fitting)

    def stands(self, standing: TaskStanding) -> None:
        """Take over the state the server behind it reports, but not that it is done: the result, which follows, tells
        that.
        """
        if self.status in FINAL or standing == self._standing:
            return
        self._standing = standing
        if standing.status == "cancelled":
            self.move("cancelled")
        elif standing.status not in FINAL:
            self.move(self.status)

    def move(self, status: TaskStatus) -> None:
        """Change the status; a final status stays."""
        if self.status in FINAL:
            return
        self.status = status
        self.updated = time.time()
        self.moved = time.monotonic()
        self._stirred.set()
        self._changed(self)

    async def change(self) -> None:
        """Wait until something about the task changes."""
        self._stirred.clear()
        await self._stirred.wait()

    @property
    def _ttl_ms(self) -> int:
        """How long it is kept: what its server says, else what its caller wants, within our own limit."""
        ttl = self._standing.ttl_ms
        wanted = self.wished_ms if ttl is None else ttl
        return TTL_MS if wanted is None else min(wanted, TTL_MS)

    def shape(self) -> bytes:
        standing = self._standing
        poll = POLL_MS if standing.poll_ms is None else standing.poll_ms
        shape = _Shape(self.id, self.status, _stamp(self.created), _stamp(self.updated), self._ttl_ms, poll)
        if standing.message:
            shape.status_message = standing.message
        if self.status == "input_required":
            shape.input_requests = {k: {"method": q.method, "params": q.params} for k, q in self.questions.items()}
        if self.status == "completed":
            shape.result = Raw(self.result)
        if self.status == "failed":
            shape.error = self.error
        return make_visible(msgspec.json.encode(shape))


Run = Callable[[Task], Awaitable[Reply]]
MayFollow = Callable[[str, Caller, Caller], bool]
"""Whether a task one caller began with this tool may be seen by another caller of the same person."""


class TaskBoard:
    """All tasks; each ends by itself, is cancelled, or expires."""

    def __init__(self, events: Events, may_follow: MayFollow) -> None:
        self._events = events
        self._may_follow = may_follow
        self._tasks: dict[str, Task] = {}
        MEMORY_BUDGET.add_cache(self)

    def start(self, caller: Caller, tool: str, run: Run, known: Answers) -> Reply:
        """Run a call in the background, with the answers known so far, and reply at once with the task."""
        return Reply(self.begin(caller, tool, run, known).shape(), kind=Kind.TASK)

    def begin(
        self, caller: Caller, tool: str, run: Run, known: Answers = _NONE_YET, wished_ms: int | None = None
    ) -> Task:
        """Begin a task; `wished_ms` is how long the caller wants it kept, within our own limit."""
        self._forget_old()
        own = sum(task.caller.principal == caller.principal for task in self._tasks.values())
        if own >= MAX_OF_ONE:
            raise Busy(f"{own} of your tasks are kept already", hint="wait until some expire")
        if len(self._tasks) >= MAX_TASKS:
            raise Busy("no more tasks can be kept", hint="wait until some expire")
        task = Task(caller, tool, self._tell, known, wished_ms)
        self._tasks[task.id] = task
        task.work = asyncio.get_running_loop().create_task(self._work(task, run), name=f"task {task.id}")
        return task

    def of(self, caller: Caller) -> list[Task]:
        """Every task this caller can see, the oldest first."""
        return [task for task in self._tasks.values() if self._is_for(caller, task)]

    def _is_for(self, caller: Caller, task: Task) -> bool:
        return task.caller.principal == caller.principal and self._may_follow(task.tool, task.caller, caller)

    async def _work(self, task: Task, run: Run) -> None:
        try:
            reply = await run(task)
        except ClawftError as failed:
            task.failure = failed
            task.error = _error_of(failed)
            task.move("failed")
        except BaseException as ended:  # whatever a tool does, its task ends in a state
            if not is_failure(ended):
                task.move("cancelled")
                raise
            log.exception("task %s failed", task.id)
            task.error = {"code": INTERNAL_ERROR, "message": "internal error"}
            task.move("failed")
        else:
            task.result = reply.result
            MEMORY_BUDGET.enforce()
            task.move("completed")
        finally:
            task.end()

    def get(self, caller: Caller, id: str) -> Task:
        task = self._tasks.get(id)
        if task is None or not self._is_for(caller, task):
            raise unknown_task(id)
        return task

    def cancel(self, caller: Caller, id: str) -> None:
        """Cancel a task; one that has ended stays as it is."""
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
        """Size of all results that wait to be fetched."""
        return sum(len(task.result) for task in self._tasks.values())

    def evict_one(self) -> bool:
        """Drop the oldest result of the person who has most, but never the only result there is."""
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
        """Remove expired tasks. A working one goes on as long as it needs; one with open questions expires too."""
        limit = time.monotonic() - TTL_MS / 1000
        for task in [task for task in self._tasks.values() if task.moved < limit and task.status != "working"]:
            del self._tasks[task.id]
            if task.status not in FINAL and task.work is not None:
                task.move("cancelled")
                task.work.cancel()


def _error_of(failed: ClawftError) -> Mapping[str, Any]:
    """The JSON-RPC error the call would have ended with; only the stateless protocol shows it in the task."""
    data = {} if failed.data is None else {"data": failed.data}
    return {"code": error_code(failed), "message": str(failed), **data}


def _stamp(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
