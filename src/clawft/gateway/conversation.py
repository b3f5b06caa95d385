"""One caller of the handshake era: what initialize has settled, what it subscribes to, what we have asked it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawft.errors import BadParams, UrlElicitationRequired, WireError
from clawft.gateway import dispatch
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CALLS, LISTS, CallTarget
from clawft.gateway.events import (
    ConversationEnded,
    ElicitationCompleted,
    GatewayEvent,
    ListChanged,
    LogMessage,
    RootsChanged,
    TaskChanged,
)
from clawft.gateway.offer.resources import Reader
from clawft.gateway.running_requests import Deliver, RunningRequests, answered_now
from clawft.gateway.seen_lists import SeenLists
from clawft.gateway.talk import HandshakeTalk, Outlet
from clawft.model import EMPTY_OBJECT, Caller, Era, Question, Reply
from clawft.wire import handshake, narrow
from clawft.wire.calls import TOOLS_CALL
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from clawft.wire.meta import RANK, check_level, read_meta
from clawft.wire.revisions import REVISIONS
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # loaded with the first question, the first call, the first task, and the first subscription
    from clawft.gateway.fast_calls import FastCalls
    from clawft.gateway.open_questions import OpenQuestions
    from clawft.gateway.task.older_tasks import OlderTasks
    from clawft.gateway.watched_resources import WatchedResources

_encode = msgspec.json.encode

ENDED = "the session was ended before this call finished; the call may have taken effect"

_EVENTS = (ListChanged, ElicitationCompleted, TaskChanged, LogMessage)
"""The events a conversation needs; the end of another, of which there may be a thousand, is not among them."""


class Conversation:
    """From initialize to the end of the session. `session_outlet` takes messages that belong to no request."""

    def __init__(self, gateway: Gateway, base: Caller, session_outlet: Outlet) -> None:
        self._gateway = gateway
        self._session_outlet = session_outlet
        self._level: str | UnsetType = UNSET
        self._watched: WatchedResources | None = None
        self._leave = gateway.events.subscribe(self._on_event, *_EVENTS)
        self.running = RunningRequests()
        self.caller = base
        self.is_initialized = False
        self._seen_lists: SeenLists | None = None
        self._is_older = False
        self._shared_talk: HandshakeTalk | None = None
        self._open_questions: OpenQuestions | None = None

    @cached_property
    def _fast_calls(self) -> FastCalls:
        """Used on a pipe only. It refers back to the conversation, and such a cycle would keep an ended HTTP session
        in memory until the garbage collector runs.
        """
        from clawft.gateway.fast_calls import FastCalls  # loaded with the first call

        return FastCalls(self._gateway, self.running, self._in_dialect, self._follow)

    @property
    def _questions(self) -> OpenQuestions:
        if self._open_questions is None:
            from clawft.gateway.open_questions import OpenQuestions  # most callers are asked nothing

            self._open_questions = OpenQuestions(self._session_outlet, self._gateway.question_seconds)
        return self._open_questions

    @cached_property
    def _tasks(self) -> OlderTasks:
        from clawft.gateway.task.older_tasks import OlderTasks  # most callers never begin one

        return OlderTasks(self._gateway)

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def answer_now(self, request: Request) -> bytes | None:
        """The answer to a request that needs no waiting, so that it is done before the next message; else None.

        One whose id is in use is left to the running requests, which refuse it.
        """
        immediate = self._immediate.get(request.method)
        if immediate is None and (request.method not in LISTS or self._gateway.pending.has_any(self.caller)):
            return None
        if request.id in self.running:
            return None
        work = immediate or Conversation._list
        return answered_now(request.id, lambda: work(self, request), handshake.error_code)

    def answer(self, request: Request, outlet: Outlet) -> Coroutine[Any, Any, bytes]:
        """The work that gives the bare result."""
        return self._read_and_call(request, outlet) if request.method in CALLS else self._result(request, outlet)

    def start_fast(self, id: bytes, target: CallTarget, deliver: Deliver) -> bool:
        """Start a call on the fast path, without a task. False if it has to take the slow path."""
        if target.more or target.task is not UNSET:
            return False
        talk = self._shared_talk or self._new_shared_talk()
        if target.meta:
            try:
                talk = self._talk_of(target, self._session_outlet)
            except BadParams:
                return False
        return self._fast_calls.start(id, self.caller, target, talk, deliver)

    async def _result(self, request: Request, outlet: Outlet) -> bytes:
        method = request.method
        dispatch.check_method(method, self.caller)
        if method in LISTS:
            return await dispatch.page_soon(self._gateway, self.caller, method, request.params)
        if method == "completion/complete":
            return await dispatch.complete(self._gateway, self.caller, request.params)
        immediate = self._immediate.get(method)
        if immediate is not None:
            return immediate(self, request)
        if method in _OLDER_TASKS and REVISIONS[self.caller.revision].core_tasks:
            return await self._tasks.answer(request, self.caller, partial(self._ask, outlet))
        awaited = self._awaited.get(method)
        if awaited is None:
            raise dispatch.UnknownMethod(f"{method} is not served here")
        return await awaited(self, request, outlet)

    async def _read_and_call(self, request: Request, outlet: Outlet) -> bytes:
        target = dispatch.read_target(request.method, request.params)
        del request  # which may be large, and was read
        return await self.call(target, outlet)

    async def call(self, target: CallTarget, outlet: Outlet) -> bytes:
        """The bare result of tools/call, prompts/get or resources/read."""
        if target.task is not UNSET and target.method == TOOLS_CALL and REVISIONS[self.caller.revision].core_tasks:
            return await self._tasks.begin(target, self.caller)
        try:
            talk = self._talk_of(target, outlet)
            reply = await CALLS[target.method](self._gateway, self.caller, target, talk)
        except UrlElicitationRequired as first:
            self._questions.remember(first)
            raise
        return self._in_dialect(reply, target.method)

    async def _follow(self, go_on: Callable[[], Awaitable[Reply]]) -> bytes:
        """The bare result of a fast call that continues in a worker."""
        try:
            return self._in_dialect(await go_on())
        except UrlElicitationRequired as first:
            self._questions.remember(first)
            raise

    def _in_dialect(self, reply: Reply, method: str = "tools/call") -> bytes:
        narrowed = _NARROWED.get(method) if self._is_older else None
        return reply.result if narrowed is None else narrowed(reply.result, REVISIONS[self.caller.revision])

    def _talk_of(self, target: CallTarget, outlet: Outlet) -> HandshakeTalk:
        """Raises BadParams for a `_meta` that cannot be read."""
        token = read_meta(target.meta).progress_token if target.meta else UNSET
        if token is UNSET and outlet is self._session_outlet:
            return self._shared_talk or self._new_shared_talk()
        return HandshakeTalk(self.caller, outlet, token, self._level, self._ask)

    def _new_shared_talk(self) -> HandshakeTalk:
        """The talk of calls without a progress token on a pipe: they share one, as nothing in it is theirs alone."""
        self._shared_talk = HandshakeTalk(self.caller, self._session_outlet, UNSET, self._level, self._ask)
        return self._shared_talk

    def _list(self, request: Request) -> bytes:
        return dispatch.list_page(self._gateway, self.caller, request.method, request.params)

    def _initialize(self, request: Request) -> bytes:
        hello = handshake.read_initialize(request.params)
        self.caller = msgspec.structs.replace(
            self.caller,
            client=hello.client,
            era=Era.HANDSHAKE,
            revision=hello.revision,
            capabilities=hello.capabilities,
        )
        self.is_initialized = True
        self._seen_lists = SeenLists(self._gateway, self.caller)
        self._shared_talk = None
        self._gateway.roots.enter(self)
        revision = REVISIONS[hello.revision]
        self._is_older = narrow.is_needed(revision)
        declared = handshake.capabilities(revision)
        return handshake.initialize_result(
            hello.revision, declared, self._gateway.server_info, self._gateway.instructions
        )

    def _ping(self, request: Request) -> bytes:
        return EMPTY_OBJECT

    async def _set_level(self, request: Request, outlet: Outlet) -> bytes:
        try:
            wanted = msgspec.json.decode(request.params or EMPTY_OBJECT, type=_LevelParams).level
        except msgspec.DecodeError as wrong:
            raise BadParams(f"logging/setLevel: {wrong}") from None
        self._level = check_level(wanted)
        self._shared_talk = None
        await self._gateway.log_levels.set(self, self._level)
        return EMPTY_OBJECT

    async def _subscribe(self, request: Request, outlet: Outlet) -> bytes:
        uri = _read_uri(request)
        if self._watched is None:
            from clawft.gateway.watched_resources import WatchedResources  # most callers watch nothing

            self._watched = WatchedResources(self._gateway, self._session_outlet)
        talk = HandshakeTalk(self.caller, outlet, UNSET, self._level, self._ask)
        await self._watched.add(uri, Reader(self.caller, talk))
        return EMPTY_OBJECT

    async def _unsubscribe(self, request: Request, outlet: Outlet) -> bytes:
        uri = _read_uri(request)
        if self._watched is not None:
            self._watched.remove(uri)
        return EMPTY_OBJECT

    # ── notifications, both ways ─────────────────────────────────────────────────────────────────────────────────────

    def on_notification(self, notification: Notification) -> None:
        """Act on cancellations and on news of roots; any other notification is accepted silently."""
        if notification.method == "notifications/cancelled":
            from clawft.wire.cancel import cancel_details, read_cancelled  # loaded with the first

            id = read_cancelled(notification.params)
            if id is not None:
                self.running.cancel(id, cancel_details(notification.params))
        elif notification.method in _ROOTS_KNOWN and self.caller.capabilities.roots:
            self._gateway.roots.changed()
            self._gateway.events.publish(RootsChanged())

    def _on_event(self, event: GatewayEvent) -> None:
        if not self.is_initialized:
            return
        match event:
            case ListChanged(topic) if self._seen_lists is not None and self._seen_lists.differs(event):
                self._notify(f"notifications/{topic.value}/list_changed")
            case ElicitationCompleted(id) if self._questions.was_sent(id):
                params = make_visible(b'{"elicitationId":' + _encode(id) + b"}")
                self._notify("notifications/elicitation/complete", params)
            case TaskChanged(task, _, payload) if task in self._tasks.begun:
                self._session_outlet.send(
                    writing.notification("notifications/tasks/status", self._tasks.status(payload))
                )
            case LogMessage(level, params, principal) if self._wants_log(level) and principal == self.caller.principal:
                self._notify("notifications/message", params)
            case _:
                pass

    def _notify(self, method: str, params: bytes = b"") -> None:
        self._session_outlet.send(writing.notification(method, params))

    def _wants_log(self, level: str) -> bool:
        return self._level is not UNSET and RANK[level] >= RANK[self._level]

    # ── our own questions ────────────────────────────────────────────────────────────────────────────────────────────

    async def ask(self, question: Question) -> Mapping[str, Any]:
        """Put a question that belongs to no call."""
        return await self._ask(self._session_outlet, question)

    async def _ask(self, outlet: Outlet, question: Question) -> Mapping[str, Any]:
        return await self._questions.ask(outlet, question, REVISIONS[self.caller.revision])

    def on_answer(self, answer: Response | Failure) -> None:
        """Take the answer to one of our questions."""
        self._questions.fill(answer)

    def on_unreadable(self, message: bytes, wrong: WireError) -> bool:
        """Fail the question that this unreadable message answers. False if it answers none."""
        return self._open_questions is not None and self._open_questions.fail(message, wrong)

    def close(self) -> None:
        self._shared_talk = None
        self._leave()
        self._gateway.roots.leave(self)
        if self._level is not UNSET:
            self._gateway.log_levels.remove(self)
        if self._watched is not None:
            self._watched.close()
        if self.caller.session:
            self._gateway.events.publish(ConversationEnded(self.caller.session))
        if self._open_questions is not None:
            self._open_questions.close()
        self.running.end_all(ENDED)

    _immediate: ClassVar[Mapping[str, Callable[..., bytes]]] = {
        "initialize": _initialize,
        "ping": _ping,
    }
    _awaited: ClassVar[Mapping[str, Callable[..., Awaitable[bytes]]]] = {
        "logging/setLevel": _set_level,
        "resources/subscribe": _subscribe,
        "resources/unsubscribe": _unsubscribe,
    }
    """Requests of which somebody else has to be told first."""


_OLDER_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"})
"""The methods of tasks in 2025-11-25."""
_ROOTS_KNOWN = ("notifications/initialized", "notifications/roots/list_changed")


class _LevelParams(Struct):
    level: str


class _UriParams(Struct):
    uri: str


_NARROWED = {"tools/call": narrow.result, "prompts/get": narrow.prompt}


def _read_uri(request: Request) -> str:
    try:
        return msgspec.json.decode(request.params or EMPTY_OBJECT, type=_UriParams).uri
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{request.method}: {wrong}") from None
