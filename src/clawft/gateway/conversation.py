"""One caller of the handshake era: what initialize fixed, what it subscribed to, what we asked it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property, lru_cache, partial
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
from clawft.wire.revisions import HANDSHAKE, REVISIONS, Revision
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # loaded with the first question, the first call, the first task, and the first subscription
    from clawft.gateway.fast_calls import FastCalls
    from clawft.gateway.open_questions import OpenQuestions
    from clawft.gateway.task.older_tasks import OlderTasks
    from clawft.gateway.watched_resources import WatchedResources

_encode = msgspec.json.encode

_HEARD = (ListChanged, ElicitationCompleted, TaskChanged, LogMessage)
"""The end of another conversation, say, is none of its business: there may be a thousand."""


class Conversation:
    """From initialize to the end of the session. `aside` is where messages go that belong to no request."""

    def __init__(self, gateway: Gateway, base: Caller, aside: Outlet) -> None:
        self._gateway = gateway
        self._aside = aside
        self._level: str | UnsetType = UNSET
        self._watched: WatchedResources | None = None
        self._leave = gateway.events.subscribe(self._tell, *_HEARD)
        self.running = RunningRequests()
        self.caller = base
        self.opened = False
        self._seen: SeenLists | None = None
        self._narrows = False
        self._plain_talk: HandshakeTalk | None = None
        self._open_questions: OpenQuestions | None = None

    @cached_property
    def _fast_calls(self) -> FastCalls:
        """Used on a pipe only. It refers back to the conversation, and such a cycle would keep an ended HTTP session
        in memory until the garbage collector runs.
        """
        from clawft.gateway.fast_calls import FastCalls  # loaded with the first call

        return FastCalls(self._gateway, self.running, self._shape, self._follow)

    @property
    def _asking(self) -> OpenQuestions:
        if self._open_questions is None:
            from clawft.gateway.open_questions import OpenQuestions  # most callers are asked nothing

            self._open_questions = OpenQuestions(self._aside, self._gateway.question_seconds)
        return self._open_questions

    @cached_property
    def _tasks(self) -> OlderTasks:
        from clawft.gateway.task.older_tasks import OlderTasks  # most callers never begin one

        return OlderTasks(self._gateway)

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def answer_now(self, request: Request) -> bytes | None:
        """The answer to what needs no waiting (so that what follows in the pipe finds it done), else None."""
        quick = self._quick.get(request.method)
        if quick is None and (request.method not in LISTS or self._gateway.pending.has_any(self.caller)):
            return None
        work = quick or Conversation._list
        return answered_now(request.id, lambda: work(self, request), handshake.error_code)

    def answer(self, request: Request, outlet: Outlet) -> Coroutine[Any, Any, bytes]:
        """The bare result."""
        return self._read_and_call(request, outlet) if request.method in CALLS else self._result(request, outlet)

    def start_fast(self, id: bytes, target: CallTarget, deliver: Deliver) -> bool:
        """Start a call on the fast path, without a task. False if it has to take the slow path."""
        if target.more or target.task is not UNSET:
            return False
        talk = self._plain_talk or self._settle_talk()
        if target.meta:
            try:
                talk = self._talk_of(target, self._aside)
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
        quick = self._quick.get(method)
        if quick is not None:
            return quick(self, request)
        if method in _OLDER_TASKS and REVISIONS[self.caller.revision].core_tasks:
            return await self._tasks.answer(request, self.caller, partial(self._ask, outlet))
        slow = self._slow.get(method)
        if slow is None:
            raise dispatch.UnknownMethod(f"{method} is not served here")
        return await slow(self, request, outlet)

    async def _read_and_call(self, request: Request, outlet: Outlet) -> bytes:
        target = dispatch.read_target(request.method, request.params)
        del request  # which may be large, and was read
        return await self.call(target, outlet)

    async def call(self, target: CallTarget, outlet: Outlet) -> bytes:
        """The bare result of what may ask back."""
        if target.task is not UNSET and target.method == TOOLS_CALL and REVISIONS[self.caller.revision].core_tasks:
            return self._tasks.begin(target, self.caller)
        try:
            talk = self._talk_of(target, outlet)
            reply = await CALLS[target.method](self._gateway, self.caller, target, talk)
        except UrlElicitationRequired as first:
            self._asking.remember(first)
            raise
        return self._shape(reply, target.method)

    async def _follow(self, go_on: Callable[[], Awaitable[Reply]]) -> bytes:
        """The bare result of a fast call that continues in a worker."""
        try:
            return self._shape(await go_on())
        except UrlElicitationRequired as first:
            self._asking.remember(first)
            raise

    def _shape(self, reply: Reply, method: str = "tools/call") -> bytes:
        narrowed = _NARROWED.get(method) if self._narrows else None
        return reply.result if narrowed is None else narrowed(reply.result, REVISIONS[self.caller.revision])

    def _talk_of(self, target: CallTarget, outlet: Outlet) -> HandshakeTalk:
        """Raises BadParams for a `_meta` that is none."""
        token = read_meta(target.meta).progress_token if target.meta else UNSET
        if token is UNSET and outlet is self._aside:
            return self._plain_talk or self._settle_talk()
        return HandshakeTalk(self.caller, outlet, token, self._level, self._ask)

    def _settle_talk(self) -> HandshakeTalk:
        """On a pipe the calls that want no progress may share one: nothing in it is about one of them."""
        self._plain_talk = HandshakeTalk(self.caller, self._aside, UNSET, self._level, self._ask)
        return self._plain_talk

    def _list(self, request: Request) -> bytes:
        return dispatch.list_page(self._gateway, self.caller, request.method, request.params)

    def _initialize(self, request: Request) -> bytes:
        hello = handshake.read_initialize(request.params)
        base = self.caller
        self.caller = Caller(
            base.principal,
            base.agent,
            hello.client,
            Era.HANDSHAKE,
            hello.revision,
            hello.capabilities,
            base.grant,
            base.session,
            base.proof,
        )
        self.opened = True
        self._seen = SeenLists(self._gateway, self.caller)
        self._plain_talk = None
        self._gateway.folders.enter(self)
        revision = REVISIONS[hello.revision]
        self._narrows = narrow.is_needed(revision)
        capabilities = _told_to(revision)
        return handshake.initialize_result(
            hello.revision, capabilities, self._gateway.server_info, self._gateway.instructions
        )

    def _ping(self, request: Request) -> bytes:
        return EMPTY_OBJECT

    async def _set_level(self, request: Request, outlet: Outlet) -> bytes:
        try:
            wanted = msgspec.json.decode(request.params or EMPTY_OBJECT, type=_LevelParams).level
        except msgspec.DecodeError as wrong:
            raise BadParams(f"logging/setLevel: {wrong}") from None
        self._level = check_level(wanted)
        self._plain_talk = None
        await self._gateway.loudness.want(self, self._level)
        return EMPTY_OBJECT

    async def _subscribe(self, request: Request, outlet: Outlet) -> bytes:
        uri = _read_uri(request)
        if self._watched is None:
            from clawft.gateway.watched_resources import WatchedResources  # most callers watch nothing

            self._watched = WatchedResources(self._gateway, self._aside)
        talk = HandshakeTalk(self.caller, outlet, UNSET, self._level, self._ask)
        await self._watched.add(uri, Reader(self.caller, talk))
        return EMPTY_OBJECT

    async def _unsubscribe(self, request: Request, outlet: Outlet) -> bytes:
        uri = _read_uri(request)
        if self._watched is not None:
            self._watched.remove(uri)
        return EMPTY_OBJECT

    # ── notifications, both ways ─────────────────────────────────────────────────────────────────────────────────────

    def notice(self, notification: Notification) -> None:
        """Cancelled is acted on and folders are news; everything else is accepted silently."""
        if notification.method == "notifications/cancelled":
            from clawft.wire.cancel import beside_id, read_cancelled  # loaded with the first

            id = read_cancelled(notification.params)
            if id is not None:
                self.running.cancel(id, beside_id(notification.params))
        elif notification.method in _FOLDERS_KNOWN and self.caller.capabilities.roots:
            self._gateway.folders.changed()
            self._gateway.events.publish(RootsChanged())

    def _tell(self, event: GatewayEvent) -> None:
        if not self.opened:
            return
        match event:
            case ListChanged(topic) if self._seen is not None and self._seen.differs(event):
                self._aside.send(writing.notification(f"notifications/{topic.value}/list_changed"))
            case ElicitationCompleted(id) if self._asking.was_sent(id):
                params = make_visible(b'{"elicitationId":' + _encode(id) + b"}")
                self._aside.send(writing.notification("notifications/elicitation/complete", params))
            case TaskChanged(task, _, payload) if task in self._tasks.begun:
                self._aside.send(writing.notification("notifications/tasks/status", self._tasks.status(payload)))
            case LogMessage(level, params, principal) if self._hears(level) and principal == self.caller.principal:
                self._aside.send(writing.notification("notifications/message", params))
            case _:
                pass

    def _hears(self, level: str) -> bool:
        return self._level is not UNSET and RANK[level] >= RANK[self._level]

    # ── questions of ours ────────────────────────────────────────────────────────────────────────────────────────────

    async def ask_aside(self, question: Question) -> Mapping[str, Any]:
        """One that belongs to no call."""
        return await self._ask(self._aside, question)

    async def _ask(self, outlet: Outlet, question: Question) -> Mapping[str, Any]:
        return await self._asking.ask(outlet, question, REVISIONS[self.caller.revision])

    def fill(self, answer: Response | Failure) -> None:
        """An answer to a question of ours."""
        self._asking.fill(answer)

    def misread(self, message: bytes, wrong: WireError) -> bool:
        """Was it the answer to a question of ours that cannot be read? Then its id is none of the caller's."""
        return self._open_questions is not None and self._open_questions.fail(message, wrong)

    def close(self) -> None:
        self._plain_talk = None
        self._leave()
        self._gateway.folders.leave(self)
        if self._level is not UNSET:
            self._gateway.loudness.leave(self)
        if self._watched is not None:
            self._watched.close()
        if self.caller.session:
            self._gateway.events.publish(ConversationEnded(self.caller.session))
        if self._open_questions is not None:
            self._open_questions.close()
        self.running.cancel_all()

    _quick: ClassVar[Mapping[str, Callable[..., bytes]]] = {
        "initialize": _initialize,
        "ping": _ping,
    }
    _slow: ClassVar[Mapping[str, Callable[..., Awaitable[bytes]]]] = {
        "logging/setLevel": _set_level,
        "resources/subscribe": _subscribe,
        "resources/unsubscribe": _unsubscribe,
    }
    """What others have to be told first."""


_ALWAYS: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
}
_TASKS: dict[str, Any] = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}


@lru_cache
def _told_to(revision: Revision) -> bytes:
    """In the first revision completion simply worked and was no capability of its own."""
    completions: dict[str, Any] = {} if revision.name == HANDSHAKE[0] else {"completions": {}}
    return _encode({**_ALWAYS, **completions, **(_TASKS if revision.core_tasks else {})})


_OLDER_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"})
"""As 2025-11-25 has them."""
_FOLDERS_KNOWN = ("notifications/initialized", "notifications/roots/list_changed")


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
