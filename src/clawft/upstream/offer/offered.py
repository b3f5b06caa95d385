"""What a server offers, read item by item: one malformed entry loses that entry, not the server."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from clawft.errors import METHOD_NOT_FOUND, BadParams, JsonRpcFailure, ProtocolFailure
from clawft.model import Annotations, Capabilities, TaskSupport, Tool
from clawft.upstream.offer.cache import Remembered
from clawft.upstream.session.session import Session
from clawft.wire.meta import NEEDS, read_capabilities
from clawft.wire.visible import make_visible

MAX_ITEM_BYTES = 256 * 1024
"""Of one definition: more is no definition, and no model could read it."""
MAX_INSTRUCTIONS_CHARS = 64 * 1024
MAX_TOLD = 5
"""Bad entries of one list that are told one by one."""
MAX_TOLD_CHARS = 100

log = logging.getLogger("clawft.upstream")


class _Meta(Struct):
    needs: Raw | UnsetType = field(default=UNSET, name=NEEDS)


class _Execution(Struct, rename="camel"):
    """2025-11-25 only."""

    task_support: Any = None


class _ToolView(Struct, rename="camel"):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: Raw | UnsetType = UNSET
    output_schema: Raw | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    meta: Raw = field(default=Raw(b"{}"), name="_meta")
    execution: _Execution | UnsetType = UNSET


_meta = msgspec.json.Decoder(_Meta)
_tool_view = msgspec.json.Decoder(_ToolView)
NOTHING = Capabilities()
_EMPTY_SCHEMA = b'{"type":"object"}'


def read_tool(wire: bytes, tasks: str = "") -> Tool:
    """A definition as it came, with hidden characters made visible, and our view of it. Raises DecodeError.

    `tasks` is the era of the server if it knows tasks.
    """
    shown = make_visible(wire)
    view = _tool_view.decode(shown)
    schema = _EMPTY_SCHEMA if view.input_schema is UNSET else bytes(view.input_schema)
    return Tool(
        name=view.name,
        wire=shown if view.input_schema is not UNSET else shown[:-1] + b',"inputSchema":' + _EMPTY_SCHEMA + b"}",
        title="" if view.title is UNSET else view.title,
        description="" if view.description is UNSET else view.description,
        input_schema=schema,
        output_schema=b"" if view.output_schema is UNSET else bytes(view.output_schema),
        annotations=Annotations() if view.annotations is UNSET else view.annotations,
        task=_task(view, tasks),
        needs=_needs(view.meta),
    )


def _needs(meta: Raw) -> Capabilities:
    """Told by another clawft. What cannot be read is not needed."""
    try:
        needs = _meta.decode(meta).needs
        return NOTHING if needs is UNSET else read_capabilities(bytes(needs))
    except (msgspec.DecodeError, BadParams):
        return NOTHING


def _task(view: _ToolView, tasks: str) -> TaskSupport:
    """In the stateless era the server decides with each call; before, the definition said it."""
    if tasks == "stateless":
        return "server"
    told = None if view.execution is UNSET else view.execution.task_support
    return told if tasks and told in ("optional", "required") else "forbidden"


def read_tools(items: list[Raw], server: str, tasks: str = "") -> tuple[Tool, ...]:
    """Those that can be read; of two with one name the first. `tasks`: the era of a server that knows tasks."""
    tools: dict[str, Tool] = {}
    passed_over: list[str] = []
    for item in items:
        try:
            tool = read_tool(bytes(item), tasks)
        except (msgspec.DecodeError, RecursionError) as wrong:
            passed_over.append(f"a tool was left out: {wrong}")
            continue
        if tools.setdefault(tool.name, tool) is not tool:
            passed_over.append(f"the tool {tool.name[:MAX_TOLD_CHARS]!r} is listed twice")
    _tell(server, passed_over)
    return tuple(tools.values())


def _tell(server: str, passed_over: list[str]) -> None:
    for one in passed_over[:MAX_TOLD]:
        log.warning("%s: %s", server, one)
    if len(passed_over) > MAX_TOLD:
        log.warning("%s: %d more entries of its list are no use", server, len(passed_over) - MAX_TOLD)


async def ask(session: Session, fingerprint: str, now: float) -> Remembered:
    """Everything the server declares, and nothing it does not."""
    peer = session.peer
    answers = Remembered(fingerprint, now, "stateless" if peer.era.value == "stateless" else "handshake")
    answers.instructions = peer.instructions[:MAX_INSTRUCTIONS_CHARS]
    answers.tasks = peer.knows_tasks
    if peer.supports("tools"):
        answers.tools = await _tools(session)
    if peer.supports("prompts"):
        answers.prompts = await _list(session, "prompts/list", "prompts")
    if peer.supports("resources"):
        answers.resources = await _list(session, "resources/list", "resources")
        answers.templates = await _list(session, "resources/templates/list", "resourceTemplates")
    return answers


async def _tools(session: Session) -> list[Raw]:
    """A server that declared nothing may well have none."""
    try:
        return _fitting("tools/list", await session.list_tools())
    except JsonRpcFailure as refused:
        if refused.error_code != METHOD_NOT_FOUND:
            raise
        return []


async def _list(session: Session, method: str, member: str) -> list[Raw]:
    """Beside the tools: a list that fails is left out, for the sake of the rest."""
    try:
        return _fitting(method, await session.list_all(method, member))
    except (JsonRpcFailure, ProtocolFailure) as failed:
        if not isinstance(failed, JsonRpcFailure) or failed.error_code != METHOD_NOT_FOUND:
            log.warning("%s failed, nothing of it is offered: %s", method, failed)
        return []


def _fitting(method: str, items: list[bytes]) -> list[Raw]:
    fitting = [Raw(item) for item in items if len(item) <= MAX_ITEM_BYTES]
    if len(fitting) < len(items):
        log.warning(
            "%s: %d of its items are left out, with more than %d bytes",
            method,
            len(items) - len(fitting),
            MAX_ITEM_BYTES,
        )
    return fitting
