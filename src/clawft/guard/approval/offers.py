"""Judges what servers offer now by the book of approvals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from clawft.guard.approval.book import Approvals
from clawft.guard.approval.consent import SEEN, ConsentSubject
from clawft.guard.side_duties import OfferUse
from clawft.model import Call, Caller, Origin, Tool
from clawft.policy.approval import ApprovalStanding, PinnedUse, UseStanding, approved_text
from clawft.policy.pin import changed, shown_tool, tool_pin
from clawft.policy.pseudo_tools import RESOURCES_TOOL, prompts_of


class OfferedTools(Struct, frozen=True):
    """The present offer of a server, with its instructions to models."""

    tools: Sequence[Tool] = ()
    instructions: str = ""
    local: bool = False
    """Whether a file of the workspace names the server."""


class ServersInUse(Protocol):
    """The facts about servers that approval needs."""

    def offered(self, server: str, caller: Caller) -> OfferedTools: ...

    def beside(self, server: str, caller: Caller) -> Sequence[Tool]:
        """The server's prompts and resources, put as tools, for this caller."""
        ...

    async def up(self, server: str, caller: Caller) -> None:
        """Return when the server is connected, so that its definitions are known. Raises NotConnected."""
        ...


class JudgedUse(Struct, frozen=True):
    use: PinnedUse
    found: UseStanding
    subject: ConsentSubject
    """The subject that the person would be asked about."""

    @property
    def standing(self) -> ApprovalStanding:
        return self.found.standing


class Offers:
    def __init__(self, book: Approvals, workspace: Path, servers: Callable[[], ServersInUse]) -> None:
        self._book = book
        self._workspace = str(workspace)
        self._servers = servers

    def judge(self, tool: Tool, origin: Origin, caller: Caller) -> JudgedUse:
        server, offered = origin.server, self._servers().offered(origin.server, caller)
        wire, instructions = tool.wire, offered.instructions
        use = self._use(server, tool.name, tool_pin(wire, instructions), caller, offered)
        found = self._book.judge(use)
        differs = _differences(found, wire, instructions)
        place = self._workspace if offered.local else ""
        return JudgedUse(use, found, ConsentSubject(server, tool, use.pin, instructions, differs, place))

    def uses_of(self, call: Call, tools: Sequence[Tool]) -> list[tuple[PinnedUse, bytes]]:
        """The use of each of these tools by the caller, with its definition; without pins, which take long."""
        server, offered = call.origin.server, self._servers().offered(call.origin.server, call.caller)
        wires = {tool.name: tool.wire for tool in tools}
        return [(self._use(server, name, "", call.caller, offered), wire) for name, wire in wires.items()]

    def _use(self, server: str, tool: str, pin: str, caller: Caller, offered: OfferedTools) -> PinnedUse:
        return PinnedUse(server, tool, pin, caller.agent, self._workspace, caller.principal, offered.local)

    def all_of(self, server: str, caller: Caller) -> Sequence[Tool]:
        return (*self._servers().offered(server, caller).tools, *self._servers().beside(server, caller))

    def as_it_is_now(self, call: Call) -> Call:
        """The call with the definition as the server gives it now: it may have started, or changed it, meanwhile."""
        is_beside = call.name == _beside_name(call.origin, call.tool.name)
        server, caller = call.origin.server, call.caller
        tools = self._servers().beside(server, caller) if is_beside else self._servers().offered(server, caller).tools
        tool = next((tool for tool in tools if tool.name == call.tool.name), call.tool)
        return call if tool.wire == call.tool.wire else msgspec.structs.replace(call, tool=tool)

    def beside_call(self, use: OfferUse) -> Call:
        """The use of a prompt or a resource, put as a call."""
        tool = self.beside_tool(use.method, use.origin, use.caller)
        return Call(use.caller, _beside_name(use.origin, use.method), tool, use.origin, use.arguments, talk=use.talk)

    def beside_tool(self, method: str, origin: Origin, caller: Caller) -> Tool:
        """The tool that stands for all prompts, or all resources, of a server."""
        known = (each for each in self._servers().beside(origin.server, caller) if each.name == method)
        return next(known, RESOURCES_TOOL if method == RESOURCES_TOOL.name else prompts_of(()))


def _beside_name(origin: Origin, method: str) -> str:
    """A name that no tool can have, for the use of prompts or resources."""
    return f"{origin.server}/{method}"


def _differences(found: UseStanding, wire: bytes, instructions: str) -> tuple[str, ...]:
    """The members of the definition that have changed; one word if the old text is not known any more."""
    if found.standing is not ApprovalStanding.CHANGED or found.by is None:
        return ()
    names = changed(approved_text(found.by), shown_tool(wire, instructions))
    known = [name for name in names if name in SEEN]
    return tuple(known if len(known) == len(names) else [*known, "other members"]) or ("its definition",)
