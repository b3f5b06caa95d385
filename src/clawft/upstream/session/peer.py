"""The introduction of a server, and its wishes, read from its answers. Pure."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.errors import UNSUPPORTED_REVISION, ProtocolFailure
from clawft.model import Era
from clawft.wire import meta as metas
from clawft.wire import parts
from clawft.wire.jsonrpc.messages import UNREAD, Failure
from clawft.wire.revisions import HANDSHAKE, REVISIONS, STATELESS
from clawft.wire.shapes import members
from clawft.wire.strings import clipped

MAX_HELLO_BYTES = 1024 * 1024
"""Of what a server says about itself when we meet."""
MAX_INFO_CHARS = 200

MAX_QUESTION_BYTES = 4 * 1024 * 1024
"""Of a server, being answered at a time."""

_OUR_NAME = "clawft"
_COMPLETE = b'"complete"'
_NULL = Raw(b"null")
_object = msgspec.json.Decoder(dict[str, Raw])
_any_object = msgspec.json.Decoder(dict[str, Any])


class Peer(Struct, frozen=True):
    """The introduction of a server."""

    era: Era
    revision: str
    capabilities: Mapping[str, Any] = {}
    server_info: Mapping[str, Any] = {}
    instructions: str = ""

    def supports(self, capability: str) -> bool:
        """`tools`, `resources`, `prompts` … A server that declares nothing at all is asked for tools all the same."""
        return capability in self.capabilities or (capability == "tools" and not self.capabilities)

    def declares(self, capability: str, feature: str) -> bool:
        """`declares("resources", "subscribe")`: a part of a capability that a server may have or not."""
        return members(self.capabilities.get(capability)).get(feature) is True

    @property
    def is_gateway(self) -> bool:
        """One of ours, by its own word: who lies about it has nothing but shorter lists."""
        return self.server_info.get("name") == _OUR_NAME

    @property
    def completes(self) -> bool:
        """In the first revision completion simply worked, and nobody could declare it."""
        return "completions" in self.capabilities or self.revision == HANDSHAKE[0]

    @property
    def knows_tasks(self) -> bool:
        """Whether a call can become a task there: by the extension, or in the way of 2025-11-25."""
        if self.era is Era.STATELESS:
            return metas.TASKS in self.extensions
        requests = members(members(self.capabilities.get("tasks")).get("requests"))
        return "call" in members(requests.get("tools"))

    @property
    def extensions(self) -> Mapping[str, Any]:
        return members(self.capabilities.get("extensions"))


class InputRequest(Struct):
    method: str
    params: Raw = Raw(b"{}")


class UnfinishedResult(Struct, rename="camel"):
    """A result that is none yet: what the server wants to know first."""

    result_type: str = "complete"
    input_requests: dict[str, InputRequest] = {}
    request_state: Raw | UnsetType = UNSET


_wanted = msgspec.json.Decoder(UnfinishedResult)


def read_wanted(result: bytes) -> UnfinishedResult | None:
    if b"input_required" not in result:
        return None
    wanted = read_asked(result)
    if wanted.result_type != "input_required":
        return None
    if len(result) > MAX_QUESTION_BYTES:
        raise ProtocolFailure(f"the server asks with {len(result)} bytes; {MAX_QUESTION_BYTES} at most")
    if not wanted.input_requests and wanted.request_state is UNSET:  # the very same request would be sent again
        raise ProtocolFailure("the server requires input but does not say which")
    return wanted


def read_asked(result: bytes) -> UnfinishedResult:
    """The questions of the server, in a result or a task that is known to ask."""
    try:
        return _wanted.decode(result)
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"the server asks a question that cannot be read: {wrong}") from None


class Page(Struct, frozen=True):
    """Of a list of a server's."""

    items: list[Raw] | None
    """None: it has no list at all."""
    cursor: str | None = None
    """The way to the next one."""
    cursor_is_text: bool = True
    """False if it names a way to the next one that nobody can go."""
    unread: int = 0
    """Items beyond those that anybody reads."""


_items: msgspec.json.Decoder[list[Raw] | None] = msgspec.json.Decoder(list[Raw] | None)


def read_page(method: str, result: bytes, member: str) -> Page:
    """One page of a list. Servers in Go write `null` for a list with nothing in it, and behind the last page."""
    try:
        page = _object.decode(_with_fewer(method, result))
        if member not in page:
            _must_be_whole(method, page)
        items = (_items.decode(page[member]) or []) if member in page else None
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"the answer to {method} is malformed: {wrong}") from None
    cursor, unread = (msgspec.json.decode(page.get(key, _NULL)) for key in ("nextCursor", UNREAD))
    next_one = cursor if isinstance(cursor, str) else None
    return Page(items, next_one, cursor == next_one, unread if isinstance(unread, int) else 0)


def _with_fewer(method: str, result: bytes) -> bytes:
    """Items, if there are very many: each of them is kept apart here, which takes more room than elsewhere."""
    if not parts.are_many(result, 0):
        return result
    from clawft.wire.jsonrpc.salvage import salvaged  # few lists are like that

    fewer = salvaged(result)
    if fewer is None:
        raise ProtocolFailure(f"the answer to {method} has too many parts")
    return fewer


def _must_be_whole(method: str, page: Mapping[str, Raw]) -> None:
    """Raises ProtocolFailure for a question or a task in place of a list. A server that has nothing to list may leave
    the list out.
    """
    kind = bytes(page.get("resultType", Raw(_COMPLETE)))
    if kind != _COMPLETE:
        raise ProtocolFailure(f"the answer to {method} is a result of the kind {kind[:50].decode(errors='replace')}")


def read_discover(result: bytes) -> Peer:
    """A stateless peer shows itself by a version we share, and by saying what its result is."""
    try:
        told = _any_object.decode(_bounded(result))
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"the answer to server/discover is malformed: {wrong}") from None
    mutual = _mutual(_strings(told.get("supportedVersions")))
    if mutual is None:
        raise ProtocolFailure(f"the answer to server/discover names no version like {STATELESS[-1]}")
    if "resultType" not in told:
        raise ProtocolFailure("the answer to server/discover has no resultType")
    return _peer(Era.STATELESS, mutual, told, members(told.get("_meta")).get(metas.SERVER))


def read_initialize(result: bytes) -> Peer:
    try:
        members = _any_object.decode(_bounded(result))
    except msgspec.DecodeError as wrong:
        raise ProtocolFailure(f"the answer to initialize is malformed: {wrong}") from None
    return _peer(Era.HANDSHAKE, str(members.get("protocolVersion", "")), members, members.get("serverInfo"))


def _bounded(result: bytes) -> bytes:
    if len(result) > MAX_HELLO_BYTES:
        raise ProtocolFailure(f"it says {len(result)} bytes about itself, and {MAX_HELLO_BYTES} is the most")
    return result


def _peer(era: Era, revision: str, told: Mapping[str, Any], info: object) -> Peer:
    """Empty where something is missing, or is not what it should be."""
    instructions = told.get("instructions")
    return Peer(
        era,
        revision,
        capabilities=members(told.get("capabilities")),
        server_info={key: clipped(str(value), MAX_INFO_CHARS) for key, value in members(info).items()},
        instructions=instructions if isinstance(instructions, str) else "",
    )


def supported_by(failure: Failure) -> str | None:
    """The stateless version that a refusal offers instead, if we speak it. Raises if none of its versions is ours."""
    try:
        error = failure.read()
    except ProtocolFailure:
        return None
    if error.error_code != UNSUPPORTED_REVISION:
        return None
    offered = _strings(members(error.error_data).get("supported"))
    if offered and not REVISIONS.keys() & offered:
        raise ProtocolFailure(f"the server speaks {', '.join(offered)}, we speak {', '.join(REVISIONS)}")
    return _mutual(offered)


def _mutual(offered: list[str]) -> str | None:
    return next((version for version in reversed(STATELESS) if version in offered), None)


def _strings(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
