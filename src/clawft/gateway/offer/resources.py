"""The resources of all providers, each under a URI that only one of them has."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from clawft.catalog import uris
from clawft.errors import MAX_TOLD, BadParams, Busy, ClawftError, ResourceNotFound
from clawft.gateway.events import Events, GatewayEvent, ResourceUpdated
from clawft.gateway.offer.basis import Basis
from clawft.gateway.offer.registered_provider import RegisteredProvider, holds, listed_by, tells
from clawft.guard.side_duties import OfferUse
from clawft.link.share.large_messages import process_message
from clawft.model import (
    Call,
    Caller,
    ForeignResource,
    ForeignTemplate,
    Origin,
    Reply,
    Resource,
    ResourceContent,
    ResourceTemplate,
    Talk,
    Tool,
)
from clawft.policy.pseudo_tools import RESOURCES
from clawft.provider.base import AskingResources, ResourceProvider, TellChange

log = logging.getLogger("clawft.gateway")
MAX_WATCHED = 20_000
"""Resources of all callers together that are watched though no server reports their changes."""
MAX_WATCHED_OF_ONE = 5_000
"""Resources that one person may watch, of all servers."""

READ = "resources/read"
_NOBODY = Origin("")

MAX_URI = 2_048
"""Characters of a URI that can be watched, as it is kept that long."""
COUNTED_URI = 256
"""A watched URI counts as one resource for each so many characters."""


class Reader(Struct, frozen=True):
    """The caller that reads, the way to ask it something first, and what else its request says."""

    caller: Caller
    talk: Talk
    meta: bytes = b""
    more: bytes = b""


T = TypeVar("T", Resource | ForeignResource, ResourceTemplate | ForeignTemplate)


class NamedResource(Struct, Generic[T], frozen=True):
    """A resource or template under the URI it is listed by, with its owner."""

    uri: str
    owner: str
    item: T


class Resources:
    """The resources of the providers each caller reaches; for that caller there are no others."""

    def __init__(self, basis: Basis, events: Events) -> None:
        self._roster = basis.roster
        self._reaches = basis.reaches
        self._shared = basis.shared
        self._side_duties = basis.side_duties
        self._watched: dict[str, dict[object, tuple[Caller, TellChange]]] = {}
        self._watching = 0
        self._of_one: Counter[str] = Counter()
        events.subscribe(self._heard)

    def named(self, caller: Caller) -> list[NamedResource[Resource | ForeignResource]]:
        """All resources of this caller. Where an earlier provider has the same URI, the later one's is wrapped."""
        self._shared.look(caller)
        named: list[NamedResource[Resource | ForeignResource]] = []
        for known, provider in self._known(caller):
            spell = self._shared.spelled(known.origin, caller) or _as_it_is
            listed = listed_by(known.owner, "resources", provider.list_resources)
            named += [NamedResource(spell(item.uri), known.owner, item) for item in listed]
        return named

    def named_templates(self, caller: Caller) -> list[NamedResource[ResourceTemplate | ForeignTemplate]]:
        self._shared.look(caller)
        named: list[NamedResource[ResourceTemplate | ForeignTemplate]] = []
        for known, provider in self._known(caller):
            spelled = self._shared.spelled(known.origin, caller)
            spell = _as_it_is if spelled is None else spelled.template
            listed = listed_by(known.owner, "templates", provider.list_templates)
            named += [NamedResource(spell(item.uri_template), known.owner, item) for item in listed]
        return named

    def owned(self, caller: Caller) -> Iterator[tuple[str, Resource]]:
        """Each resource as it is listed, with the server or namespace it belongs to."""
        for named in self.named(caller):
            view = named.item.view if isinstance(named.item, ForeignResource) else named.item
            yield named.owner, msgspec.structs.replace(view, uri=named.uri)

    def templates(self, caller: Caller) -> Iterator[ResourceTemplate]:
        for named in self.named_templates(caller):
            view = named.item.view if isinstance(named.item, ForeignTemplate) else named.item
            yield msgspec.structs.replace(view, uri_template=named.uri)

    def has(self, uri: str, caller: Caller, owner: str = "") -> bool:
        """Whether a provider that is there may have this URI; it is then asked before providers that come later."""
        whose, native = uris.unwrap(uri) or (owner, uri)
        return any(whose in ("", known.owner) for known in self._shared.holders(native, caller))

    def reaches(self, owner: str, caller: Caller) -> bool:
        """Whether this caller reaches a server or provider of this name."""
        return any(known.owner == owner and self._reaches(known, caller) for known in self._roster.of(caller))

    async def read(self, uri: str, by: Reader, owner: str = "") -> bytes:
        """The whole result for the URI a resource is listed under; `owner` asks one server or provider only.

        Raises ResourceNotFound, NotApproved or TooLarge.
        """
        return (await self._find_and_read(uri, by, owner))[1]

    async def read_noted(self, uri: str, by: Reader) -> bytes:
        """The result of `read`, recorded in the audit; for readers whose request is not recorded elsewhere."""
        began, origin = time.perf_counter(), _NOBODY
        try:
            origin, result = await self._find_and_read(uri, by)
        except BaseException as ended:
            self._side_duties.noted(_reading(uri, by, origin), began, ended)
            raise
        self._side_duties.noted(_reading(uri, by, origin), began, Reply(result))
        return result

    async def _find_and_read(self, uri: str, by: Reader, owner: str = "") -> tuple[Origin, bytes]:
        wrapped = uris.unwrap(uri)
        whose, native = wrapped or (owner, uri)
        for known, provider in self._asked(native, by.caller):
            if whose not in ("", known.owner):
                continue
            read = await self._read(known, provider, native, by)
            if read is not None:
                spell = self._spell(known, by.caller, native, "" if wrapped is None else uri)
                if spell is not None:
                    from clawft.wire import resource_links  # only where URIs are shared

                    read = await process_message(
                        read, known.origin.server, partial(resource_links.in_contents, read, spell)
                    )
                what = f"the resource {native} of {known.owner}"
                return known.origin, await self._side_duties.passing(what, known.origin, read)
        raise ResourceNotFound(uri)

    def _spell(self, known: RegisteredProvider, caller: Caller, native: str, asked: str) -> Callable[[str], str] | None:
        """How URIs in a provider's answer are spelled for the caller; `asked`, a wrapped URI, is spelled as it was
        asked for.
        """
        spelled = self._shared.spelled(known.origin, caller)
        if not asked:
            return spelled
        others = spelled or _as_it_is
        return lambda uri: asked if uri == native else others(uri)

    async def watch(self, uri: str, by: Reader, changed: TellChange) -> Callable[[], None]:
        """Have `changed` called with the listed URI of what changes, until the function returned here is called.

        Raises ClawftError if the provider of the resource refuses, or has to be approved first.
        """
        if len(uri) > MAX_URI:
            raise BadParams(f"a URI that is watched has at most {MAX_URI} characters")
        who, count = by.caller.principal, _counted(uri)
        if self._of_one[who] + count > MAX_WATCHED_OF_ONE:
            raise Busy(f"busy: you watch {MAX_WATCHED_OF_ONE} resources already", hint="watch fewer, or shorter URIs")
        self._of_one[who] += count
        try:
            release = await self._watch(uri, by, changed)
        except BaseException:
            self._watches_less(who, count)
            raise
        over = False

        def end() -> None:
            nonlocal over
            if not over:
                over = True
                self._watches_less(who, count)
                release()

        return end

    def _watches_less(self, who: str, count: int) -> None:
        self._of_one[who] -= count
        if not self._of_one[who]:
            del self._of_one[who]

    async def _watch(self, uri: str, by: Reader, changed: TellChange) -> Callable[[], None]:
        wrapped = uris.unwrap(uri)
        whose, native = wrapped or ("", uri)
        asked, caller = "" if wrapped is None else uri, by.caller

        def heard(known: RegisteredProvider, changed_uri: str, more: Mapping[str, Raw]) -> None:
            """Report a change of the watched resource, or of a part of it, as it is spelled now.

            Lives as long as the watch, so it holds no way to ask the caller: that is the connection of one request.
            """
            spell = self._spell(known, caller, native, asked) or _as_it_is
            changed(spell(changed_uri), more)

        for known, provider in self._asked(native, caller):
            if whose not in ("", known.owner):
                continue
            if tells(provider):
                if isinstance(provider, AskingResources) and provider.may_have(native):
                    await self._side_duties.ensure(_use(known, native, by))
                release = await provider.watch_resource(native, caller, partial(heard, known))
                if release is not None:
                    return release
            elif whose:
                return self._watch_others(native, caller, partial(heard, known))
        return self._watch_others(uri, caller, changed)

    def _watch_others(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None]:
        """Watch a resource of providers that are no servers: they report every change to everybody."""
        count = _counted(uri)
        if self._watching + count > MAX_WATCHED:
            raise Busy(f"busy: {MAX_WATCHED} resources are watched already")
        watchers = self._watched.setdefault(uri, {})
        key = object()
        watchers[key] = (caller, changed)
        self._watching += count

        def release() -> None:
            if watchers.pop(key, None) is not None:
                self._watching -= count
            if not watchers and self._watched.get(uri) is watchers:
                del self._watched[uri]

        return release

    def _heard(self, event: GatewayEvent) -> None:
        if isinstance(event, ResourceUpdated):
            for caller, changed in list(self._watched.get(event.uri, {}).values()):
                if not self._is_hidden(event.uri, caller):
                    changed(event.uri, {})

    def _is_hidden(self, uri: str, caller: Caller) -> bool:
        """Whether the resource belongs to a provider this caller does not reach."""
        return any(
            item.uri == uri
            for known in self._roster.of(caller)
            if holds(known.provider) and not self._reaches(known, caller)
            for item in listed_by(known.owner, "resources", known.provider.list_resources)
        )

    async def _contents(
        self, known: RegisteredProvider, provider: ResourceProvider, uri: str
    ) -> Sequence[ResourceContent] | bytes | None:
        """The contents, or None if the provider fails: the next provider may have the resource."""
        try:
            return await provider.read_resource(uri)
        except ClawftError:
            raise
        except Exception:
            log.exception("the provider %s could not read %s", known.owner, uri[:MAX_TOLD])
            return None

    async def _read(self, known: RegisteredProvider, provider: ResourceProvider, uri: str, by: Reader) -> bytes | None:
        if not isinstance(provider, AskingResources):
            contents = await self._contents(known, provider, uri)
            return contents if isinstance(contents, bytes | None) else msgspec.json.encode({"contents": contents})
        if not provider.may_have(uri):
            return None
        await self._side_duties.ensure(_use(known, uri, by))
        call = Call(by.caller, uri, Tool(uri, b""), known.origin, meta=by.meta, talk=by.talk, more=by.more)
        return await provider.read_resource_for(call)

    def _known(self, caller: Caller) -> Iterator[tuple[RegisteredProvider, ResourceProvider]]:
        """The reached providers, in the order in which they are listed."""
        return self._reached(self._roster.of(caller), caller)

    def _asked(self, uri: str, caller: Caller) -> Iterator[tuple[RegisteredProvider, ResourceProvider]]:
        """The reached providers, in the order in which they are asked for this URI."""
        return self._reached(self._shared.in_turn(uri, caller), caller)

    def _reached(
        self, providers: Iterable[RegisteredProvider], caller: Caller
    ) -> Iterator[tuple[RegisteredProvider, ResourceProvider]]:
        for known in providers:
            if holds(known.provider) and self._reaches(known, caller):
                yield known, known.provider


def _use(known: RegisteredProvider, uri: str, by: Reader) -> OfferUse:
    return OfferUse(RESOURCES, known.origin, by.caller, msgspec.json.encode({"uri": uri}), by.talk)


def _reading(uri: str, by: Reader, origin: Origin) -> Call:
    """A read as the call that the audit records."""
    return Call(by.caller, READ, Tool(READ, b""), origin, msgspec.json.encode({"uri": uri}))


def _counted(uri: str) -> int:
    """How many watched resources a URI of this length counts for."""
    return -(-len(uri) // COUNTED_URI) or 1


def _as_it_is(uri: str) -> str:
    return uri


def wire_of(named: NamedResource[Resource | ForeignResource]) -> bytes:
    """The resource as JSON; of a server its own text, so that members we do not know are kept."""
    item = named.item
    wire = item.raw if isinstance(item, ForeignResource) else msgspec.json.encode(item)
    return wire if item.uri == named.uri else _with(wire, "uri", named.uri)


def wire_of_template(named: NamedResource[ResourceTemplate | ForeignTemplate]) -> bytes:
    item = named.item
    wire = item.raw if isinstance(item, ForeignTemplate) else msgspec.json.encode(item)
    return wire if item.uri_template == named.uri else _with(wire, "uriTemplate", named.uri)


_object = msgspec.json.Decoder(dict[str, Raw])


def _with(raw: bytes, key: str, value: str) -> bytes:
    """The JSON object with one member changed; the others stay as they came."""
    return msgspec.json.encode({**_object.decode(raw), key: Raw(msgspec.json.encode(value))})
