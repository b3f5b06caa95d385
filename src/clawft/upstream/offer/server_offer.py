"""The offer of a server, as we have it: asked of the server itself, or as it was written down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Raw, Struct

from clawft.errors import MAX_TOLD, METHOD_NOT_FOUND, ClawftError, JsonRpcFailure, LinkClosed, RequestTimeout
from clawft.model import Era, ForeignPrompt, ForeignResource, ForeignTemplate, Tool
from clawft.upstream.offer.cache import RememberedOffer
from clawft.upstream.offer.definition import read_tool
from clawft.upstream.offer.list_reading import ListReading, read_prompt, read_resource, read_template, wire_of
from clawft.upstream.offer.room import RoomPlace
from clawft.upstream.session.paging import FAILED_PAGE
from clawft.upstream.session.peer import Peer
from clawft.upstream.session.session import Session

MAX_INSTRUCTIONS_CHARS = 64 * 1024
BESIDE_SECONDS = 10.0
"""For each page of a list beside that of the tools, which wait for it: some servers declare one and never give it."""

PARTS = ("tools", "prompts", "resources", "templates")


BesideReading = ListReading[ForeignPrompt] | ListReading[ForeignResource] | ListReading[ForeignTemplate]


class ServerOffer(Struct, frozen=True):
    era: Era = Era.HANDSHAKE
    instructions: str = ""
    tasks: bool = False
    """Whether calls can become tasks there."""
    tools: tuple[Tool, ...] = ()
    prompts: tuple[ForeignPrompt, ...] = ()
    resources: tuple[ForeignResource, ...] = ()
    templates: tuple[ForeignTemplate, ...] = ()
    cut: tuple[str, ...] = ()
    """Lists that there was not room for to the end."""
    left_out: tuple[str, ...] = ()
    """The other parts of it that are not offered, with the reasons."""
    heard: int = 0
    """Bytes it took to say all this, and what was cut."""


NOTHING = ServerOffer()


class ListReadings:
    """All lists of a server, read anew."""

    def __init__(
        self, server: str, place: RoomPlace, era: Era, before: ServerOffer, *, tasks: bool, passed_on: bool = False
    ) -> None:
        own = era.value if tasks else ""
        known = before if (before.era, before.tasks) == (era, tasks) else NOTHING  # where it means another tool
        self.tools = ListReading(
            "tools", server, lambda wire: read_tool(wire, own), place, known.tools, passed_on=passed_on
        )
        self.prompts = ListReading("prompts", server, read_prompt, place, before.prompts, passed_on=passed_on)
        self.resources = ListReading("resources", server, read_resource, place, before.resources, passed_on=passed_on)
        self.templates = ListReading("templates", server, read_template, place, before.templates, passed_on=passed_on)
        self._era = era
        self._tasks = tasks

    def beside(self, peer: Peer) -> Iterator[tuple[str, str, BesideReading]]:
        """The lists to ask for besides the tools, of a server that declares them."""
        if peer.supports("prompts"):
            yield "prompts/list", "prompts", self.prompts
        if peer.supports("resources"):
            yield "resources/list", "resources", self.resources
            yield "resources/templates/list", "resourceTemplates", self.templates

    def settle(self, instructions: str) -> ServerOffer:
        lists = (self.tools, self.prompts, self.resources, self.templates)
        cut = tuple(part for part, each in zip(PARTS, lists, strict=True) if each.is_full)
        return ServerOffer(
            self._era,
            instructions,
            self._tasks,
            self.tools.settle(),
            self.prompts.settle(),
            self.resources.settle(),
            self.templates.settle(),
            cut,
            tuple(why for each in lists for why in each.left_out()),
            sum(each.heard for each in lists),
        )


async def ask(session: Session, server: str, place: RoomPlace, before: ServerOffer) -> ServerOffer:
    """Everything the server declares, and nothing it does not."""
    peer = session.peer
    readings = ListReadings(server, place, peer.era, before, tasks=peer.knows_tasks, passed_on=peer.is_gateway)
    if peer.supports("tools"):
        await _ask_for_tools(session, readings.tools)
    silent = ""
    for method, member, reading in readings.beside(peer):
        if silent:
            reading.drop(f"not requested, because there was no answer to {silent}")
        elif not await _ask_for(session, method, member, reading):
            silent = method
    return readings.settle(peer.instructions[:MAX_INSTRUCTIONS_CHARS])


async def _ask_for_tools(session: Session, reading: ListReading[Tool]) -> None:
    """A server that declared nothing may well have none."""
    try:
        reading.rest = await session.read_list("tools/list", "tools", reading.take)
    except FAILED_PAGE as failed:
        if not reading.tear(failed.message[:MAX_TOLD]) and not _is_unknown(failed):
            raise
    reading.items = session.learn(reading.items)


async def _ask_for(session: Session, method: str, member: str, reading: BesideReading) -> bool:
    """Ask for a list besides the tools. One that fails, or does not come, is left out, for the sake of the rest;
    returns whether it came.
    """
    if not reading.expects_some():
        reading.drop("not asked for, as there is no room for more of what servers list")
        return True
    try:
        reading.rest = await session.read_list(method, member, reading.take, BESIDE_SECONDS)
    except (*FAILED_PAGE, LinkClosed) as failed:
        if isinstance(failed, LinkClosed) and session.link.kind != "http":
            raise  # which has an exchange for each request; of a pipe or a stream nothing is left
        if not reading.tear(failed.message[:MAX_TOLD]):
            reading.drop("" if _is_unknown(failed) else failed.message)
        return not isinstance(failed, RequestTimeout)
    return True


def _is_unknown(failed: ClawftError) -> bool:
    """Whether the error means that there is no such list."""
    return isinstance(failed, JsonRpcFailure) and failed.error_code == METHOD_NOT_FOUND


def recalled(written: RememberedOffer, server: str, place: RoomPlace) -> ServerOffer:
    """The offer of a server when it was written down, as far as there is room for it now."""
    readings = ListReadings(server, place, Era(written.era), NOTHING, tasks=written.tasks)
    readings.tools.take_at_once(written.tools)
    readings.prompts.take_at_once(written.prompts)
    readings.resources.take_at_once(written.resources)
    readings.templates.take_at_once(written.templates)
    return readings.settle(written.instructions)


def written(offered: ServerOffer, fingerprint: str, now: float) -> RememberedOffer:
    return RememberedOffer(
        fingerprint,
        now,
        "stateless" if offered.era is Era.STATELESS else "handshake",
        list(_raw(offered.tools)),
        list(_raw(offered.resources)),
        list(_raw(offered.templates)),
        list(_raw(offered.prompts)),
        offered.instructions,
        offered.tasks,
    )


def _raw(items: Sequence[Tool | ForeignPrompt | ForeignResource | ForeignTemplate]) -> Iterator[Raw]:
    return (Raw(wire_of(item)) for item in items)
