"""The gateway itself: providers in, one catalog out, and the one way every call takes.

Fronts (stdio, HTTP, the library, the command line) come in through the same few methods; there is no second way to run
a tool.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from clawft._version import __version__
from clawft.catalog import names
from clawft.catalog.names import Form
from clawft.catalog.snapshot import NOTHING, Clash, Entry, Offer, Snapshot, Spellings, build, with_pages, without_words
from clawft.catalog.surface import Surface, without_finders
from clawft.errors import InvalidConfig, MissingCapability, NotApproved, ToolError
from clawft.gateway.ending import as_reply, told
from clawft.gateway.events import ElicitationCompleted, Events, ListChanged, ResourceUpdated, Said, Topic
from clawft.gateway.folders import Folders
from clawft.gateway.levels import Loudness
from clawft.gateway.offer.listed import listed_by
from clawft.gateway.offer.listing import DEFAULT_PAGE, Pages
from clawft.gateway.offer.personal import Personal
from clawft.gateway.offer.prompts import Prompts
from clawft.gateway.offer.registered import Registered
from clawft.gateway.offer.resources import Resources
from clawft.gateway.offer.shared import SharedUris
from clawft.gateway.offer.ways import Ways
from clawft.gateway.questions import LIFETIME_SECONDS, Seal
from clawft.guard.permission import unknown
from clawft.guard.pipeline import BesideGuard, ContentsGuard, FaceGuard, Guard, ListGuard, Pipeline, ReplyGuard, Use
from clawft.model import (
    EMPTY_OBJECT,
    Call,
    Caller,
    Grant,
    LogLevel,
    Next,
    Origin,
    Reply,
    Shortcut,
    Silent,
    Talk,
    Tool,
)
from clawft.policy.beside import PROMPTS
from clawft.policy.globs import any_matches
from clawft.provider.base import (
    Changing,
    ExtendedProvider,
    PromptProvider,
    Provider,
    ResourceProvider,
)

if TYPE_CHECKING:  # loaded with the first search, the first task, and the first server
    from clawft.catalog.search import Index
    from clawft.gateway.task.handles import Handles
    from clawft.gateway.task.tasks import Board
    from clawft.upstream.newcomers import Newcomers

SERVER_NAME = "clawft"
KEY_BYTES = 32
MAX_TOLD_CLASHES = 10
"""Tools that would get the name of another and are told in the log at once; further ones are counted."""

log = logging.getLogger("clawft.gateway")

_ANYONE = Caller()


class Gateway:
    """Serves the tools, resources and prompts of its providers, guarded."""

    def __init__(
        self,
        guards: Sequence[Guard] = (),
        *,
        form: Form = Form.PLAIN,
        instructions: str = "",
        page_size: int = DEFAULT_PAGE,
        surface: Surface = Surface(),  # noqa: B008 - frozen, safe to share
        key: bytes | None = None,
        question_seconds: float = LIFETIME_SECONDS,
    ) -> None:
        self._key = key = key or os.urandom(KEY_BYTES)
        self.guards = tuple(guards)
        self.form = form
        self.instructions = instructions
        self.surface = surface
        self.server_info = msgspec.json.encode({"name": SERVER_NAME, "version": __version__})
        self.closing = asyncio.Event()
        """Set when we shut down: open streams end in good order."""
        self.events = Events()
        self.seal = Seal(key, question_seconds)
        self.question_seconds = question_seconds
        self.pages = Pages(key, page_size)
        self.folders = Folders()
        self.newcomers: Newcomers | None = None
        """Servers that were started a moment ago, if there are any."""
        self.looked: Callable[[], None] = lambda: None
        """Called whenever somebody reads a list."""
        self.calls = 0
        self._providers: dict[str, Registered] = {}
        self._personal = Personal(form)
        self.shared = SharedUris(self.providers_of, self._reaches, self._personal)
        self.resources = Resources(
            self.providers_of, self.events, self._reaches, self._ensure, self._passing, self.shared
        )
        self.loudness = Loudness(self._providers.values)
        self.prompts = Prompts(
            self.providers_of,
            form,
            self._shows,
            self._reaches,
            self._ensure,
            self._withheld,
            self._passing,
            self.shared,
        )
        self._built: Snapshot | None = None
        self._before = NOTHING
        self._indexes: dict[tuple[Grant, str, str, str], Index] = {}
        self._list_guards = [guard for guard in guards if isinstance(guard, ListGuard)]
        self._reply_guards = [guard for guard in guards if isinstance(guard, ReplyGuard)]
        self._beside_guards = [guard for guard in guards if isinstance(guard, BesideGuard)]
        self._contents_guards = [guard for guard in guards if isinstance(guard, ContentsGuard)]
        self._face_guards = [guard for guard in guards if isinstance(guard, FaceGuard)]
        self._pipeline = Pipeline(self.guards)
        first = Pipeline(self.guards[:1])
        self._missing = first.way(first.applying(_NO_TOOL, _NOWHERE), lambda _: self._not_there)

    # ── providers come and go ────────────────────────────────────────────────────────────────────────────────────────

    def register(self, provider: Provider, *, server: str = "", trusted: bool = True) -> None:
        """Offer what this provider has. `server` names the external server behind it, if there is one."""
        if provider.namespace in self._providers:
            raise InvalidConfig(f"there is already a provider for the namespace {provider.namespace!r}")
        known = Registered(provider, Origin(provider.namespace, server, trusted))
        self._providers[provider.namespace] = known
        self._personal.add(known)
        if isinstance(provider, Changing):
            provider.watch(self)
        self._announce(provider, personal=self._personal.has(known))

    def unregister(self, namespace: str) -> None:
        gone = self._providers.pop(namespace, None)
        if gone is not None:
            personal = self._personal.has(gone)
            self._personal.remove(namespace)
            self._announce(gone.provider, personal=personal)

    def arrange(self, namespaces: Sequence[str]) -> None:
        """From now on these stand behind all others, in this order."""
        for namespace in namespaces:
            self._providers[namespace] = self._providers.pop(namespace)
        self._built = None
        self.shared.forget()

    def _announce(self, provider: Provider, *, personal: bool) -> None:
        self.tools_changed()
        if personal or isinstance(provider, PromptProvider):
            self.prompts_changed()
        if personal or isinstance(provider, ResourceProvider):
            self.resources_changed()

    def tools_changed(self, whose: str = "") -> None:
        """The catalog is out of date. A new one is built when somebody looks, however much has changed until then."""
        if not whose:
            self._built = None
        self._personal.forget(whose)
        self._indexes.clear()
        self._lists_changed(Topic.TOOLS, whose)

    def prompts_changed(self, whose: str = "") -> None:
        self._lists_changed(Topic.PROMPTS, whose)

    def resources_changed(self, whose: str = "") -> None:
        self._lists_changed(Topic.RESOURCES, whose)

    def _lists_changed(self, topic: Topic, whose: str) -> None:
        self.pages.forget()
        self.shared.forget(resources=topic is Topic.RESOURCES)
        self.events.publish(ListChanged(topic, whose))

    def elicitation_completed(self, id: str) -> None:
        self.events.publish(ElicitationCompleted(id))

    def resource_updated(self, uri: str) -> None:
        self.events.publish(ResourceUpdated(uri))

    def log(self, level: LogLevel, params: bytes, principal: str) -> None:
        self.events.publish(Said(level, params, principal))

    def _offer(self, known: Registered, caller: Caller = _ANYONE) -> Offer:
        ways = Ways(self._pipeline, known, self.shared)
        tools = _tools_of(self._personal.seen(known.provider, caller), of_server=bool(known.origin.server))
        return Offer(known.origin, tools, ways.bind, ways.shorten)

    # ── what single people have ──────────────────────────────────────────────────────────────────────────────────────

    def providers_of(self, caller: Caller) -> Iterable[Registered]:
        """All of them, as this caller has them."""
        everything = self._providers.values()
        return self._personal.all_seen(everything, caller) if self._personal else everything

    def is_settled(self, caller: Caller) -> bool:
        """Is it known what there is for this caller, as far as it can be waited for?"""
        return not caller.proof and (self.newcomers is None or not self.newcomers.awaited)

    async def settle(self, caller: Caller) -> None:
        """Back when it is."""
        while self.newcomers is not None and self.newcomers.awaited:
            await self.newcomers.next()
        if caller.proof and self._personal:
            await self._personal.settle(caller)

    def _own_of(self, caller: Caller) -> Snapshot:
        """What this caller has beside everybody."""
        if not caller.proof or not self._personal:
            return NOTHING
        return self._personal.snapshot(caller, lambda: self._build_own(caller))

    def _build_own(self, caller: Caller) -> Snapshot:
        own = [self._offer(known, caller) for known in self._providers.values() if self._personal.has(known)]
        return build(own, self.form, self._snapshot)

    def _entries_of(self, caller: Caller) -> tuple[Entry, ...]:
        own = self._own_of(caller).entries
        return (*self._snapshot.entries, *own) if own else self._snapshot.entries

    async def _not_there(self, call: Call) -> Reply:
        """A server that has nothing for this caller says why; whoever may not see it hears nothing of it."""
        for known in self._providers.values() if self._personal else ():
            spellings, refusal = self._personal.refusal(known, call.caller, call.asked)
            if refusal is not None and self._shows(spellings, call.caller):
                return Reply.error(str(refusal))
        raise unknown(call.asked)

    # ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def tasks(self) -> Board:
        """Calls of our own tools that outlive their request."""
        from clawft.gateway.task.tasks import Board  # most callers never begin one

        return Board(self.events, self._may_follow)

    def _may_follow(self, tool: str, owner: Caller, caller: Caller) -> bool:
        """With the rights it was begun with, or others that lead to the same tool of the same provider."""
        if (caller.grant, caller.proof) == (owner.grant, owner.proof):
            return True
        entry = self.find_visible(tool, caller)
        if entry is None:
            return False
        namespace = entry.origin.namespace
        return self.provider(namespace, caller) is self.provider(namespace, owner)

    @cached_property
    def handles(self) -> Handles:
        """Ids of the tasks that servers keep."""
        from clawft.gateway.task.handles import Handles  # as above

        return Handles(self._key)

    async def close(self) -> None:
        """What goes on behind the callers ends."""
        if "tasks" in self.__dict__:
            await self.tasks.close()

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _snapshot(self) -> Snapshot:
        if self._built is None:
            offers = [self._offer(known) for known in self._providers.values()]
            built = build(offers, self.form, before=self._before)
            told = frozenset(self._before.clashes)
            self._tell([clash for clash in built.clashes if clash not in told])
            self._built = self._before = built
        return self._built

    def _tell(self, clashes: Sequence[Clash]) -> None:
        for clash in clashes[:MAX_TOLD_CLASHES]:
            log.warning("%s is left out: %s", clash.name, clash.reason)
        if len(clashes) > MAX_TOLD_CLASHES:
            log.warning("%d more are left out", len(clashes) - MAX_TOLD_CLASHES)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self._snapshot.entries

    @property
    def clashes(self) -> tuple[Clash, ...]:
        return self._snapshot.clashes

    def find(self, name: str, caller: Caller = _ANYONE) -> Entry | None:
        snapshot = self._built or self._snapshot
        entry = snapshot.table.get(name) or snapshot.find(name)
        return entry if entry is not None or not caller.proof else self._own_of(caller).find(name)

    def names_of(self, canonical: str, caller: Caller = _ANYONE) -> tuple[str, ...]:
        """Every spelling of a tool, for rules that match names."""
        entry = self._snapshot.canonical.get(canonical) or self._own_of(caller).canonical.get(canonical)
        return entry.names if entry else (canonical,)

    def visible(self, caller: Caller) -> list[Entry]:
        """The tools this caller may see, in catalog order."""
        shown = (entry for entry in self._entries_of(caller) if self._shows(Spellings(entry), caller))
        return [self._as_seen(entry, caller) for entry in shown]

    def _as_seen(self, entry: Entry, caller: Caller) -> Entry:
        for guard in self._face_guards:
            note = guard.withheld(entry.tool, entry.origin, caller)
            if note:
                return without_words(entry, note)
        spelled = self.shared.spelled(entry.origin, caller) if self.shared.any else None
        return entry if spelled is None else with_pages(entry, spelled)

    def listed(self, caller: Caller) -> list[Entry]:
        """The tools this caller is shown at once; the others it finds by search."""
        return self.surface.listed(self.visible(caller), lambda entry: any_matches(entry.names, self.surface.pinned))

    def search(self, caller: Caller, query: str, limit: int) -> list[Entry]:
        """The tools of this caller that fit best."""
        from clawft.catalog.search import Index  # most callers never search

        audience = (caller.grant, caller.agent, caller.principal, caller.proof)
        index = self._indexes.get(audience)
        if index is None:
            if len(self._indexes) >= _MAX_INDEXES:
                self._indexes.clear()
            index = self._indexes[audience] = Index(without_finders(self.visible(caller)))
        return index.search(query, limit)

    def find_visible(self, name: str, caller: Caller) -> Entry | None:
        """The tool of this name, unless it is hidden from this caller: then there is none, here as everywhere."""
        entry = self.find(name, caller)
        return entry if entry is not None and self._shows(entry.names, caller) else None

    def provider(self, namespace: str, caller: Caller = _ANYONE) -> Provider | None:
        known = self._providers.get(namespace)
        return self._personal.seen(known.provider, caller) if known is not None else None

    def finish(self, call: Call, reply: Reply) -> Reply:
        """A result that comes after its call was answered, as the guards let it pass."""
        for guard in reversed(self._reply_guards):
            reply = guard.finish(call, reply)
        return reply

    def extensions(self, caller: Caller) -> dict[str, Any]:
        """What the providers this caller reaches know beside the protocol."""
        reached = (known.provider for known in self._providers.values() if self._reaches(known, caller))
        extended = (each.extensions for each in reached if isinstance(each, ExtendedProvider))
        return {name: settings for each in extended for name, settings in each.items()}

    def _shows(self, spellings: Sequence[str], caller: Caller) -> bool:
        return all(guard.shows(spellings, caller) for guard in self._list_guards)

    def _reaches(self, known: Registered, caller: Caller) -> bool:
        """Resources have no names that rules could match: they go with any tool of theirs, or with `resources`."""
        if self._shows(_names_of_resources(known.origin), caller):
            return True
        own = (entry for entry in self._entries_of(caller) if entry.origin == known.origin)
        return any(self._shows(entry.names, caller) for entry in own)

    def _withheld(self, origin: Origin, caller: Caller) -> str:
        """What stands in place of what a server's prompts say of themselves; empty if nothing does."""
        notes = (guard.withholds(PROMPTS, origin, caller) for guard in self._beside_guards)
        return next(filter(None, notes), "")

    async def _ensure(self, use: Use) -> None:
        for guard in self._beside_guards:
            if why := await guard.refuses(use):
                raise NotApproved(why)

    async def _passing(self, what: str, origin: Origin, result: bytes) -> bytes:
        for guard in reversed(self._contents_guards):
            result = await guard.contents(what, origin, result)
        return result

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: bytes = EMPTY_OBJECT,
        talk: Talk | None = None,
        meta: bytes = b"",
        more: bytes = b"",
    ) -> Reply:
        """Run one tool through its guards. A tool that fails gives a reply with `is_error`; an unknown one raises."""
        self.calls += 1
        entry = self.find(name, caller) or await self._find_soon(name, caller)
        if entry is None:
            return await self._missing(Call(caller, name, _NO_TOOL, _NOWHERE, arguments, asked=name))
        call = Call(caller, entry.canonical, entry.tool, entry.origin, arguments, meta, talk or _SILENT, name, more)
        try:
            return await entry.run(call)
        except (ToolError, MissingCapability) as failed:
            return told(failed, caller)

    async def _find_soon(self, name: str, caller: Caller) -> Entry | None:
        """A tool that is not there yet may come with a server, or with what this caller has of its own."""
        entry: Entry | None = None
        while entry is None and self.newcomers is not None and self.newcomers.awaited:
            await self.newcomers.next()
            entry = self.find(name, caller)
        if entry is None and caller.proof:
            await self.settle(caller)
            entry = self.find(name, caller)
        return entry

    async def go_on(self, call: Call, short: Shortcut, began: float, rest: Next) -> Reply:
        """The long end of a call that was started the short way."""
        try:
            return await short.witness.follow(call, as_reply(rest, short.finish, self.shared), began)
        except (ToolError, MissingCapability) as failed:
            return told(failed, call.caller)


_MAX_INDEXES = 4
_SILENT = Silent()
_NO_TOOL = Tool("", b"{}")
_NOWHERE = Origin("")


@lru_cache(maxsize=1_024)
def _names_of_resources(origin: Origin) -> tuple[str, ...]:
    return names.accepted(origin, Tool("resources", b""))


def _tools_of(provider: Provider, *, of_server: bool) -> tuple[Tool, ...]:
    """Nothing if the provider cannot say: one that breaks must not hide the tools of the others."""
    listed = listed_by(provider.namespace, "tools", provider.list_tools)
    if of_server:  # each was looked at as it came
        return listed
    tools = tuple(each for each in listed if _is_sound(each))
    if len(tools) < len(listed):
        log.warning("the provider %s lists what is no tool; that is left out", provider.namespace)
    return tools


def _is_sound(listed: object) -> bool:
    try:
        return isinstance(listed, Tool) and bool(listed.name and listed.said)
    except (TypeError, msgspec.DecodeError):
        return False
