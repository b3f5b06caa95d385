"""A list on its way in, read item by item: one malformed entry loses that entry, not the list.

What was known before and is said again stays the very same object, so that nothing has to be made anew of it. What does
not fit is left out, and told.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import getsizeof
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw

from clawft.model import ForeignPrompt, ForeignResource, ForeignTemplate, Tool
from clawft.upstream.offer.definition import read_tool
from clawft.upstream.offer.room import RoomPlace
from clawft.upstream.session.paging import MAX_LIST_BYTES
from clawft.wire.methods import METHODS
from clawft.wire.readable import check_readable
from clawft.wire.shapes import read_mended

MAX_ITEM_BYTES = 256 * 1024
"""Of one definition: more is no definition, and no model could read it."""
MAX_TOLD = 5
"""Bad entries of one list that are told one by one."""
MAX_TOLD_CHARS = 100
TOOL_BYTES = 450
"""The memory that a tool takes beside its definition: its names, and its place in every table."""
ITEM_BYTES = 200
"""The memory that a prompt or a resource takes beside its definition."""
WORTH_BYTES = 16 * 1024
"""With less room than that a list is not asked for: it may be large, and of no use."""
TURN_SECONDS = 0.05
"""How long we read before others get a turn. Most pages take less: only one at a time is in memory then."""

log = logging.getLogger("clawft.upstream")

T = TypeVar("T", Tool, ForeignPrompt, ForeignResource, ForeignTemplate)


class ListReading(Generic[T]):
    """One list of one server."""

    def __init__(
        self,
        part: str,
        server: str,
        read: Callable[[bytes], T],
        place: RoomPlace,
        before: Sequence[T],
        *,
        passed_on: bool = False,
    ) -> None:
        """`passed_on`: it comes from another gateway of ours."""
        self._passed_on = passed_on
        self._part = part
        self._server = server
        self._read = read
        self._place = place
        self._before = {wire_of(item): item for item in before}
        self._keys: set[str] = set()
        self._wrong: list[str] = []
        self._no_use = 0
        self._too_large = 0
        self._too_far = 0
        self._failed = ""
        self._listed = 0
        self._size = 0
        self.items: list[T] = []
        self.heard = 0
        """Bytes we were sent, kept or not."""
        self.is_full = False
        """Whether there is more of it than there is room for."""
        self.rest = ""
        """The part of it that was not read, with the reason."""

    async def take(self, page: Sequence[Raw]) -> bool:
        """False: no more of it."""
        self.heard += sum(map(len, page))
        until = time.monotonic() + TURN_SECONDS
        for raw in page:
            self._take_one(raw)
            if self.is_full:
                return False
            if time.monotonic() > until:
                await asyncio.sleep(0)
                until = time.monotonic() + TURN_SECONDS
        return True

    def expects_some(self) -> bool:
        """Whether there is room worth asking for it."""
        return self._place.has_room(self._part, WORTH_BYTES)

    def take_at_once(self, items: Iterable[Raw]) -> None:
        """For a list that was read before."""
        for raw in items:
            self._take_one(raw)
            if self.is_full:
                return

    def tear(self, why: str) -> bool:
        """No more of it can be had now, and what was known of the rest stays. False where nothing of it was had."""
        if not self.heard:
            return False
        self.rest = f"after a page that could not be read: {why}"
        had = set(map(key_of, self.items))
        for item in self._before.values():
            if key_of(item) not in had and not self.is_full:
                self._add(item, len(wire_of(item)))
        return True

    def drop(self, why: str) -> None:
        """Nothing of it is offered, and that is told; no word where there was nothing to offer."""
        self.items, self._size, self.is_full = [], 0, False
        self._failed = why
        if why:
            log.warning("%s: its %s are left out: %s", self._server, self._part, why)

    def _take_one(self, raw: Raw) -> None:
        if len(raw) > MAX_ITEM_BYTES:
            self._too_large += 1
            return
        wire = _passed_on(bytes(raw)) if self._passed_on else bytes(raw)
        if not wire:
            self._too_far += 1
            return
        item = self._known(wire)
        if item is None or self._is_no_use(item):
            return
        self._add(item, len(raw))

    def _add(self, item: T, listed: int) -> None:
        """`listed`: bytes that it took to say it."""
        size = self._size + cost_of(item)
        self._listed += listed
        if self._listed > MAX_LIST_BYTES or not self._place.has_room(self._part, size):
            self.is_full = True
            return
        self._size = size
        self.items.append(item)

    def _known(self, wire: bytes) -> T | None:
        found = self._before.get(wire)
        if found is not None:
            return found
        try:
            item = self._read(wire)
        except (msgspec.DecodeError, RecursionError) as wrong:
            self._pass_over(f"an entry of its {self._part} was left out: {_why_left_out(wire, wrong)}")
            return None
        return self._before.get(wire_of(item), item)

    def _is_no_use(self, item: T) -> bool:
        """Of two with one name, or one URI, the first is offered. Templates may differ in more than that."""
        if isinstance(item, ForeignTemplate):
            return False
        key = key_of(item)
        why = "is listed twice" if key in self._keys else _misnamed(key) if isinstance(item, Tool) else ""
        if why:
            self._pass_over(f"the {self._part[:-1]} {key[:MAX_TOLD_CHARS]!r} {why}")
            return True
        self._keys.add(key)
        return False

    def _pass_over(self, why: str) -> None:
        self._no_use += 1
        if len(self._wrong) < MAX_TOLD:
            self._wrong.append(why)

    def settle(self) -> tuple[T, ...]:
        """All that was read, from now on in place of what was there before."""
        self._place.settle(self._part, self._size)
        self._tell()
        return tuple(self.items)

    def _tell(self) -> None:
        for one in self._wrong:
            log.warning("%s: %s", self._server, one)
        if self._no_use > MAX_TOLD:
            log.warning("%s: %d more entries of its list are unusable", self._server, self._no_use - MAX_TOLD)
        if self._too_large:
            template = "%s: %d of its %s are left out, with over %d bytes"
            log.warning(template, self._server, self._too_large, self._part, MAX_ITEM_BYTES)
        if self._too_far:
            log.warning("%s: %s are left out", self._server, self._far())
        if self.is_full:
            template = "%s: not enough room for all its %s; the first %d are offered"
            log.warning(template, self._server, self._part, len(self.items))
        if self.rest:
            log.warning("%s: its %s %s are left out", self._server, self._part, self.rest)

    def _far(self) -> str:
        from clawft.upstream.offer.hops import MAX_HOPS  # loaded by now

        behind = f"which come through more than {MAX_HOPS} gateways: do they serve one another?"
        return f"{self._too_far} of its {self._part}, {behind}"

    def left_out(self) -> Iterator[str]:
        """For whoever wonders why something is not there; each is told in the log at more length."""
        if self._no_use:
            more = f", and {self._no_use - 1} more of its {self._part}" if self._no_use > 1 else ""
            yield f"{self._wrong[0]}{more}"
        if self._too_large:
            yield f"{self._too_large} of its {self._part}, with over {MAX_ITEM_BYTES} bytes"
        if self._too_far:
            yield self._far()
        if self.rest:
            yield f"its {self._part} {self.rest}"
        if self._failed:
            yield f"its {self._part}: {self._failed}"


def _misnamed(tool: str) -> str:
    """One named like a method could pass for what that gives."""
    if not tool.strip():
        return "has no name"
    return "has the name of a method of the protocol" if tool in METHODS else ""


def _why_left_out(wire: bytes, wrong: Exception) -> str:
    """A text in the place of an entry may say itself why it is there, see `salvage`."""
    from clawft.wire.jsonrpc.salvage import name_in  # most entries can be read

    if wire.endswith(_TOO_DEEP) and len(wire) <= 2 * MAX_TOLD_CHARS:
        return msgspec.json.decode(wire, type=str)
    name = name_in(wire).decode()
    return f"{name}: {wrong}" if name else str(wrong)


_TOO_DEEP = b' is nested too deeply"'


def _passed_on(wire: bytes) -> bytes:
    from clawft.upstream.offer.hops import one_further  # most servers are no gateways

    return one_further(wire)


def wire_of(item: Tool | ForeignPrompt | ForeignResource | ForeignTemplate) -> bytes:
    return item.wire if isinstance(item, Tool) else item.raw


def cost_of(item: Tool | ForeignPrompt | ForeignResource | ForeignTemplate) -> int:
    """In memory. What is mirrored in headers is kept a second time."""
    if isinstance(item, Tool):
        times = _MIRRORED if b"x-mcp-header" in item.wire else 1
        return TOOL_BYTES + 2 * getsizeof(item.name) + times * len(item.wire)
    return ITEM_BYTES + getsizeof(key_of(item)) + len(item.raw)


def key_of(item: Tool | ForeignPrompt | ForeignResource | ForeignTemplate) -> str:
    """The key that an item is asked for by."""
    if isinstance(item, Tool | ForeignPrompt):
        return item.name
    return item.uri if isinstance(item, ForeignResource) else item.uri_template


_MIRRORED = 2


def read_resource(raw: bytes) -> ForeignResource:
    from clawft.wire.resources_and_prompts import Resource  # most servers have nothing but tools

    check_readable(raw)
    wire, view = read_mended(raw, Resource)
    return ForeignResource(view.uri, wire)


def read_template(raw: bytes) -> ForeignTemplate:
    from clawft.wire.resources_and_prompts import ResourceTemplate  # most servers have no templates

    check_readable(raw)
    wire, view = read_mended(raw, ResourceTemplate)
    return ForeignTemplate(view.uri_template, wire)


def read_prompt(raw: bytes) -> ForeignPrompt:
    from clawft.wire.resources_and_prompts import Prompt  # most servers have no prompts

    check_readable(raw)
    wire, view = read_mended(raw, Prompt)
    return ForeignPrompt(view.name, wire)


def read_tools(items: Iterable[Raw], tasks: str = "") -> list[Tool]:
    """The tools that can be read, of a list that was read before. `tasks`: the era of a server that knows tasks."""
    tools: list[Tool] = []
    for item in items:
        try:
            tools.append(read_tool(bytes(item), tasks))
        except (msgspec.DecodeError, RecursionError):
            continue
    return tools
