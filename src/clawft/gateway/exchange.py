"""One request of the stateless era: everything needed to answer it is in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.catalog.snapshot import CatalogEntry
from clawft.errors import BadParams, HeaderMismatch, MissingCapability, ProtocolFailure
from clawft.gateway import dispatch
from clawft.gateway.core import Gateway
from clawft.gateway.dispatch import CALLS, LISTS, CallTarget
from clawft.gateway.listening import Listen
from clawft.gateway.object_memo import ObjectMemo
from clawft.gateway.questions import Answers, AnswersSoFar, TaskDetached, digest_of, input_required
from clawft.gateway.talk import NO_RESPONSES, NOT_ASKED, Outlet, StatelessTalk
from clawft.gateway.task.followed_tasks import FollowedTasks
from clawft.link.share.large_messages import in_worker, is_cheap
from clawft.model import EMPTY_OBJECT, Caller, Era, InputRequired, Kind, Reply, Talk
from clawft.wire import headers as headers_of
from clawft.wire import stateless
from clawft.wire.calls import TOOLS_CALL, UsualCall
from clawft.wire.headers import BadMirror, Headers, Mirror, Route
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.meta import TASKS
from clawft.wire.methods import METHODS, SERVED
from clawft.wire.revisions import STATELESS
from clawft.wire.stateless import LIST_TTL_MS, CallerClaims, ProgressToken
from clawft.wire.visible import make_visible

MAX_CLIENTS = 32
"""How many clients of one principal are remembered."""

_encode = msgspec.json.encode


_STATELESS, _TASK = Era.STATELESS, Kind.TASK  # found once, and not for each request
_USUAL = Request(b"", TOOLS_CALL)


class AdmittedRequest(Struct, frozen=True, gc=False):
    """A request that has passed all checks of its dialect."""

    request: Request
    caller: Caller
    claims: CallerClaims
    token: ProgressToken
    target: CallTarget | None = None
    entry: CatalogEntry | None = None
    """The tool that is called, if there is one of this name."""


class Exchange:
    """Answers the stateless requests of one principal. Remembers nothing of them but who the clients are."""

    error_code = staticmethod(stateless.error_code)

    def __init__(self, gateway: Gateway, base: Caller) -> None:
        self._gateway = gateway
        self._base = base
        self._callers = ObjectMemo(self._caller, MAX_CLIENTS)

    def read(self, request: Request, headers: Headers | None = None) -> AdmittedRequest:
        """Read who calls, and what. Raises what the dialect refuses."""
        claims, token = stateless.read_caller(request, headers)
        caller = self._caller(claims)
        dispatch.check_method(request.method, caller)
        if request.method not in CALLS:
            return AdmittedRequest(request, caller, claims, token)
        target = dispatch.read_target(request.method, request.params)
        entry = self._gateway.tools.find(target.name, caller) if request.method == TOOLS_CALL else None
        if headers is not None and entry is not None:
            self._check_params(entry, target, caller, headers)
        return AdmittedRequest(_USUAL, caller, claims, token, target, entry)  # all that was asked is in its target

    def read_usual(
        self, usual: UsualCall, headers: Headers | None = None, route: Route | None = None
    ) -> AdmittedRequest | None:
        """Read a tools/call of the usual form; None if it has to be read like any other request.

        `route` is what its headers say.
        """
        read = stateless.read_usual_caller(usual.meta)
        if read is None:
            return None
        claims, token = read
        if headers is not None and route != (claims.revision, TOOLS_CALL, usual.name):
            return None
        target = CallTarget(TOOLS_CALL, usual.name, usual.arguments, usual.meta)
        caller = self._callers.of(claims)
        entry = self._gateway.tools.find(usual.name, caller)
        if headers is not None and entry is not None:
            self._check_params(entry, target, caller, headers)
        return AdmittedRequest(_USUAL, caller, claims, token, target, entry)

    def _caller(self, claims: CallerClaims) -> Caller:
        base = self._base
        can, grant = claims.capabilities, base.grant
        return Caller(
            base.principal, base.agent, claims.client, _STATELESS, claims.revision, can, grant, "", base.proof
        )

    def answer(self, admitted: AdmittedRequest, outlet: Outlet) -> Coroutine[Any, Any, bytes]:
        """The finished result."""
        if admitted.target is not None:
            return self._call(admitted, admitted.target, outlet)
        if admitted.request.method in LISTS:
            return self._list(admitted)
        return self._others[admitted.request.method](self, admitted.request, admitted.caller, outlet)

    async def _list(self, admitted: AdmittedRequest) -> bytes:
        method = admitted.request.method
        params = admitted.request.params
        return await dispatch.page_soon(self._gateway, admitted.caller, method, params, self._finish_list)

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _call(self, admitted: AdmittedRequest, target: CallTarget, outlet: Outlet) -> bytes:
        entry, caller = admitted.entry, admitted.caller
        opened = NOT_ASKED if target.state is UNSET else self._open(target, target.state, caller)
        brought = NO_RESPONSES if target.responses is UNSET else target.responses
        talk = StatelessTalk(caller, outlet, admitted.token, admitted.claims.log_level, opened, brought)
        try:
            if entry is not None and self._wants_task(entry, target, caller):
                reply = self._start_task(target, caller, {})
            else:
                reply = await CALLS[target.method](self._gateway, caller, target, talk)
                if reply.kind is _TASK:
                    reply = FollowedTasks(self._gateway, caller).begun(reply, target.name)
        except TaskDetached:
            reply = self._start_task(target, caller, talk.used)
        except InputRequired as asked:
            reply = self._asked(target, entry, caller, talk, asked)
        cache = stateless.missing_hint(reply.result) if _is_cached(target.method, reply) else b""
        ours = self._gateway.server_info
        if is_cheap(reply.result):
            return stateless.finish_result(reply.result, ours, reply.kind, cache)
        finish = partial(stateless.finish_large, BytesIO(reply.result), ours, reply.kind, cache)
        del reply  # see `inplace`
        return await in_worker("", finish)

    def _asked(
        self, target: CallTarget, entry: CatalogEntry | None, caller: Caller, talk: StatelessTalk, asked: InputRequired
    ) -> Reply:
        digest = digest_of(target.method, target.name, target.arguments)
        house = () if asked.carry else asked.questions
        try:
            state = self._gateway.seal.close(talk.used, caller, digest, house, asked.carry)
        except ProtocolFailure as wrong:
            whose = entry.origin.server if entry is not None else ""
            raise ProtocolFailure(f"{whose or target.name}: {wrong.message}") from None
        return input_required(asked.questions, state)

    def _open(self, target: CallTarget, state: str, caller: Caller) -> AnswersSoFar:
        return self._gateway.seal.open(state, caller, digest_of(target.method, target.name, target.arguments))

    def _wants_task(self, entry: CatalogEntry, target: CallTarget, caller: Caller) -> bool:
        if entry.tool.task in _AT_ONCE or not self._gateway.tools.find_visible(target.name, caller):
            return False
        if not caller.capabilities.tasks and entry.tool.task == "required" and not entry.origin.server:
            raise _needs_tasks(target.name)
        return caller.capabilities.tasks

    def _start_task(self, target: CallTarget, caller: Caller, known: Answers) -> Reply:
        def run(task: Talk) -> Awaitable[Reply]:
            return self._gateway.call(caller, target.name, target.arguments, task, target.meta, target.more)

        return self._gateway.tasks.start(caller, target.name, run, known)

    def _check_params(self, entry: CatalogEntry, target: CallTarget, caller: Caller, headers: Headers) -> None:
        if b"x-mcp-header" not in entry.tool.wire or not self._gateway.tools.find_visible(target.name, caller):
            return
        found = _mirrors(entry.tool.input_schema)
        if not isinstance(found, BadMirror):
            arguments = _decode_arguments(target.arguments)
            _refuse_twice(target.arguments, arguments)
            headers_of.check_params(found, arguments, headers)

    # ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _discover(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        extensions: dict[str, Any] = {**self._gateway.extensions(caller), TASKS: {}}
        result: dict[str, Any] = {
            "supportedVersions": list(STATELESS),
            "capabilities": {**SERVED, "completions": {}, "extensions": extensions},
        }
        if self._gateway.instructions:
            result["instructions"] = self._gateway.instructions
        return self._finish_list(make_visible(_encode(result)))

    async def _complete(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        return self._finish(await dispatch.complete(self._gateway, caller, request.params))

    async def _listen(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        return self._finish(await Listen(self._gateway, caller, request, outlet).run(self._base.until))

    async def _get_task(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        named = _read_task(request, caller)
        return self._finish(await FollowedTasks(self._gateway, caller).get(named.id))

    async def _update_task(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        named = _read_task(request, caller)
        if named.responses is UNSET:
            raise BadParams("tasks/update lacks inputResponses")
        await FollowedTasks(self._gateway, caller).update(named.id, named.responses)
        return self._finish(EMPTY_OBJECT)

    async def _cancel_task(self, request: Request, caller: Caller, outlet: Outlet) -> bytes:
        await FollowedTasks(self._gateway, caller).cancel(_read_task(request, caller).id)
        return self._finish(EMPTY_OBJECT)

    def _finish(self, payload: bytes) -> bytes:
        return stateless.finish_result(payload, self._gateway.server_info)

    def _finish_list(self, payload: bytes) -> bytes:
        return stateless.finish_result(
            payload, self._gateway.server_info, cache=stateless.cache_hint(LIST_TTL_MS, "private")
        )

    _others: ClassVar[Mapping[str, Callable[..., Coroutine[Any, Any, bytes]]]] = {
        "server/discover": _discover,
        "completion/complete": _complete,
        "subscriptions/listen": _listen,
        "tasks/get": _get_task,
        "tasks/update": _update_task,
        "tasks/cancel": _cancel_task,
    }


_AT_ONCE = ("forbidden", "server")
"""Tools that are called at once; a server may still answer with a task of its own."""


def _is_cached(method: str, reply: Reply) -> bool:
    return METHODS[method].cached and reply.kind is Kind.COMPLETE


_arguments = msgspec.json.Decoder(dict[str, Any])


def _decode_arguments(raw: bytes) -> dict[str, Any]:
    try:
        return _arguments.decode(raw)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"arguments: {wrong}") from None


def _refuse_twice(raw: bytes, arguments: dict[str, Any]) -> None:
    """Refuse a repeated key: its header would repeat one value while the server may read the other."""
    from clawft.guard.security import is_ambiguous  # few tools have arguments that travel as headers

    if is_ambiguous(raw, arguments):
        raise HeaderMismatch("a key occurs twice in the arguments", hint="send each once, as its header says it")


@lru_cache(maxsize=128)  # a schema is kept with it, and the schemas of strangers may be large
def _mirrors(schema: bytes) -> tuple[Mirror, ...] | BadMirror:
    return headers_of.mirrors(msgspec.json.decode(schema))


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _TaskParams(Struct):
    id: str = field(name="taskId")
    responses: dict[str, Raw] | UnsetType = field(default=UNSET, name="inputResponses")


def _read_task(request: Request, caller: Caller) -> _TaskParams:
    if not caller.capabilities.tasks:
        raise _needs_tasks(request.method)
    try:
        return msgspec.json.decode(request.params, type=_TaskParams)
    except msgspec.DecodeError as wrong:
        raise BadParams(f"{request.method}: {wrong}") from None


def _needs_tasks(what: str) -> MissingCapability:
    return MissingCapability(f"{what} needs a client with the tasks extension", required={"extensions": {TASKS: {}}})
