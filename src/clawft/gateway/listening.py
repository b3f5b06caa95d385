"""`subscriptions/listen` of the stateless era: what is asked for is sent on, tagged with the listen it belongs to."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from logging import INFO, WARNING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import BadParams, ClawftError, NotApproved
from clawft.gateway.core import Gateway
from clawft.gateway.events import GatewayEvent, ListChanged, ListTopic, RightsChanged
from clawft.gateway.offer.resources import Reader
from clawft.gateway.seen_lists import SeenLists
from clawft.gateway.talk import Outlet
from clawft.gateway.task.followed_tasks import FollowedTasks
from clawft.guard.side_duties import unasked
from clawft.model import LOCAL, Caller, SilentTalk
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.meta import SUBSCRIPTION
from clawft.wire.visible import make_visible

MAX_SUBSCRIPTIONS = 1_000
LOOK_SECONDS = 15.0
"""How often a listen looks whether its token has expired."""
AT_ONCE = 4
"""Resources or tasks that one listen begins to watch at a time."""

log = logging.getLogger("clawft.gateway")

_encode = msgspec.json.encode


class ListenFilter(Struct, rename="camel", omit_defaults=True):
    """The wishes of a listen; written back as the part we honour."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: list[str] | UnsetType = UNSET
    task_ids: list[str] | UnsetType = UNSET


class _ListenParams(Struct):
    notifications: ListenFilter


def read_filter(params: bytes) -> ListenFilter:
    try:
        wanted = msgspec.json.decode(params, type=_ListenParams).notifications
    except msgspec.DecodeError as wrong:
        raise BadParams(f"subscriptions/listen: {wrong}") from None
    for names in (wanted.resource_subscriptions, wanted.task_ids):
        if names is not UNSET and len(names) > MAX_SUBSCRIPTIONS:
            raise BadParams(f"at most {MAX_SUBSCRIPTIONS} subscriptions in one listen")
    return wanted


class Listen:
    """One open listen."""

    def __init__(self, gateway: Gateway, caller: Caller, request: Request, outlet: Outlet) -> None:
        self._gateway = gateway
        self._caller = caller
        self._outlet = outlet
        self._wanted = read_filter(request.params)
        self._mark = b'"_meta":{"%s":' % SUBSCRIPTION.encode() + request.id + b"}"
        self._releases: list[Callable[[], None]] = []
        self._open = False
        self._patience: asyncio.Timeout | None = None
        self._rules_changed = False

    async def run(self, until: float = math.inf) -> bytes:
        """Until the caller closes the stream, cancels, or we shut down, or `until` this time; then its bare result.

        One of a person also ends when other rules hold: who comes again gets what these give.
        """
        try:
            await self._watch_all()
            self._seen = SeenLists(self._gateway, self._caller)
            self._acknowledge()
            self._releases.append(self._gateway.events.subscribe(self._tell))
            await self._end(until)
        finally:
            for release in self._releases:
                release()
        return b"{" + self._mark + b"}"

    async def _end(self, until: float) -> None:
        """The clock is looked at again and again: somebody may set it, and a machine that sleeps does not count."""
        while time.time() < until and not self._rules_changed:
            try:
                async with asyncio.timeout(min(until - time.time(), LOOK_SECONDS)) as self._patience:
                    await self._gateway.closing.wait()
                    return
            except TimeoutError:
                pass  # the caller may have to prove again who it is

    async def _watch_all(self) -> None:
        """Whoever has the resources is told first; what nobody will tell of is left out of the acknowledgement."""
        await self._gateway.pending.wait_for_servers(self._caller)
        uris = self._wanted.resource_subscriptions
        if uris is not UNSET:
            self._wanted.resource_subscriptions = await _few_at_a_time(self._watch, uris)
        ids = self._wanted.task_ids
        if ids is not UNSET:
            self._wanted.task_ids = await _few_at_a_time(self._follow, ids)

    async def _follow(self, id: str) -> str:
        release = await FollowedTasks(self._gateway, self._caller).watch(id, self._task_changed)
        self._releases += [] if release is None else [release]
        return "" if release is None else id

    async def _watch(self, uri: str) -> str:
        try:
            by = Reader(unasked(self._caller), SilentTalk())
            self._releases.append(await self._gateway.resources.watch(uri, by, self._updated))
        except ClawftError as wrong:
            log.log(WARNING if isinstance(wrong, NotApproved) else INFO, "nobody reports changes of %s: %s", uri, wrong)
            return ""
        return uri

    def _acknowledge(self) -> None:
        params = b"{" + self._mark + b',"notifications":' + _encode(self._wanted) + b"}"
        self._outlet.send(writing.notification("notifications/subscriptions/acknowledged", params))
        self._open = True

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _updated(self, uri: str, more: Mapping[str, Raw]) -> None:
        if not self._open:
            return
        told = make_visible(_encode({"uri": uri, **{key: more[key] for key in more if key != "_meta"}}))
        vendor = make_visible(bytes(more.get("_meta", b"{}")))[1:-1].strip()
        meta = self._mark[:-1] + b"," + vendor + b"}" if vendor else self._mark
        params = told[:-1] + b"," + meta + b"}"
        self._outlet.send(writing.notification("notifications/resources/updated", params))

    def _tell(self, event: GatewayEvent) -> None:
        match event:
            case ListChanged(topic) if _wants(self._wanted, topic) and self._seen.differs(event):
                method = f"notifications/{topic.value}/list_changed"
                self._outlet.send(writing.notification(method, b"{" + self._mark + b"}"))
            case RightsChanged() if self._caller.principal != LOCAL:
                self._rules_changed = True
                if self._patience is not None and not self._patience.expired():
                    self._patience.reschedule(0)  # which is over
            case _:
                pass

    def _task_changed(self, shape: bytes) -> None:
        if self._open:
            self._outlet.send(writing.notification("notifications/tasks", shape[:-1] + b"," + self._mark + b"}"))


async def _few_at_a_time(watch: Callable[[str], Awaitable[str]], names: list[str]) -> list[str]:
    """Watch these names; returns those that are watched. Others are served in between: many listens may come."""
    watched: list[str] = []
    wanted = list(dict.fromkeys(names))
    for start in range(0, len(wanted), AT_ONCE):
        found = await asyncio.gather(*(watch(name) for name in wanted[start : start + AT_ONCE]))
        watched += [name for name in found if name]
    return watched


def _wants(wanted: ListenFilter, topic: ListTopic) -> bool:
    return {
        ListTopic.TOOLS: wanted.tools_list_changed,
        ListTopic.PROMPTS: wanted.prompts_list_changed,
        ListTopic.RESOURCES: wanted.resources_list_changed,
    }[topic]
