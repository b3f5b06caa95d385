"""What the load generator says and how it reads an answer: bytes made beforehand, answers checked one by one.

Ids have a fixed number of digits, so that a request is a template with the id filled in and its length never changes.
The echoed text carries the id too: an answer that belongs to another request is found out even if its id is right.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct, field

FIRST_ID = 10_000_000
LAST_ID = 99_999_999
"""Eight digits each."""
TEXT_BYTES = 100
_ID = b"@@@@@@@@"
ID_TEXT = _ID.decode()
_PADDING = "x" * (TEXT_BYTES - len(_ID))
_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "bench", "version": "1"}


class WrongAnswer(Exception):
    """The contender answered, but not what was asked. A figure made of such answers would mean nothing."""


class Dialect(Struct, frozen=True):
    """How requests of one era are spelled."""

    version: str
    stateless: bool = False

    def params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {**params, "_meta": self._meta()} if self.stateless else dict(params)

    def headers(self, method: str, name: str = "") -> dict[str, str]:
        """HTTP headers beside the ones every POST has."""
        if not self.stateless:
            return {"mcp-protocol-version": self.version}
        told = {"mcp-protocol-version": self.version, "mcp-method": method}
        return {**told, "mcp-name": name} if name else told

    def _meta(self) -> dict[str, Any]:
        return {
            _META + "protocolVersion": self.version,
            _META + "clientCapabilities": {},
            _META + "clientInfo": _CLIENT,
        }


HANDSHAKE = Dialect("2025-11-25")
STATELESS = Dialect("2026-07-28", stateless=True)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def initialize(dialect: Dialect) -> dict[str, Any]:
    return {"protocolVersion": dialect.version, "capabilities": {}, "clientInfo": _CLIENT}


def request(id: int, method: str, params: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


class Template(Struct, frozen=True):
    """A request in pieces, with the id to go between them."""

    pieces: tuple[bytes, ...]

    def fill(self, id: int) -> bytes:
        return (b"%d" % id).join(self.pieces)

    @property
    def size(self) -> int:
        return len(self.fill(FIRST_ID))


def template(dialect: Dialect, method: str, params: Mapping[str, Any]) -> Template:
    """`params` may hold the id, too: as the text `ID_TEXT`."""
    told = {"jsonrpc": "2.0", "id": Raw(_ID), "method": method, "params": dialect.params(params)}
    return Template(tuple(msgspec.json.encode(told).split(_ID)))


class Question(Protocol):
    """What is asked again and again, and how its answer is known to be right."""

    method: str

    def tool(self, id: int) -> str:
        """The tool that call is for; empty if it is for none."""
        ...

    def fill(self, id: int) -> bytes: ...

    @property
    def size(self) -> int:
        """The longest request."""
        ...

    def answered(self, body: bytes) -> int | None:
        """The id of the request this answers, its content checked; None for a notification."""
        ...


class Echo:
    """tools/call of the echo tool, under each of its names in turn."""

    method = "tools/call"

    def __init__(self, dialect: Dialect, tools: Sequence[str], more: int = 0, enough: int | None = None) -> None:
        """The answer has `more` bytes than the text; with `enough`, one cut after so many is right as well."""
        self._tools = tuple(tools)
        self._templates = [echo_call(dialect, tool) for tool in tools]
        self._padding = _PADDING + "x" * more
        self._enough = enough

    def tool(self, id: int) -> str:
        return self._tools[id % len(self._tools)]

    def fill(self, id: int) -> bytes:
        return self._templates[id % len(self._templates)].fill(id)

    @property
    def size(self) -> int:
        return max(each.size for each in self._templates)

    def answered(self, body: bytes) -> int | None:
        message = _decoded(_read, body)
        if message.method:
            return None
        result = message.result
        if message.id is None or result is None or result.is_error or len(result.content) != 1:
            raise WrongAnswer(f"no echo: {body[:300]!r}")
        if not self._is_right(message.id, result.content[0]):
            raise WrongAnswer(f"the text of another call: {body[:300]!r}")
        return message.id

    def _is_right(self, id: int, block: "_Block") -> bool:
        found = block.text or block.data
        if found == f"{id}{self._padding}":
            return True
        return self._enough is not None and found[: self._enough] == f"{id}{self._padding}"[: self._enough]


class Listing:
    """tools/list; every answer holds so many tools."""

    method = "tools/list"

    def __init__(self, dialect: Dialect, tools: int) -> None:
        self._template = template(dialect, self.method, {})
        self._count = tools

    def tool(self, id: int) -> str:
        return ""

    def fill(self, id: int) -> bytes:
        return self._template.fill(id)

    @property
    def size(self) -> int:
        return self._template.size

    def answered(self, body: bytes) -> int | None:
        message = _decoded(_read_list, body)
        if message.method:
            return None
        if message.id is None or message.result is None or len(message.result.tools) != self._count:
            raise WrongAnswer(f"not {self._count} tools: {body[:300]!r}")
        return message.id


def echo_call(dialect: Dialect, tool: str) -> Template:
    text = ID_TEXT + _PADDING
    return template(dialect, "tools/call", {"name": tool, "arguments": {"text": text}})


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Block(Struct):
    text: str = ""
    data: str = ""


class _Echoed(Struct):
    content: list[_Block] = []
    is_error: bool = field(default=False, name="isError")


class _Message(Struct):
    id: int | None = None
    method: str = ""
    result: _Echoed | None = None


class _Listed(Struct):
    tools: list[Raw] = []


class _ListMessage(Struct):
    id: int | None = None
    method: str = ""
    result: _Listed | None = None


_read = msgspec.json.Decoder(_Message).decode
_read_list = msgspec.json.Decoder(_ListMessage).decode
T = TypeVar("T")


def _decoded(read: Callable[[bytes], T], body: bytes) -> T:
    try:
        return read(body)
    except msgspec.DecodeError as wrong:
        raise WrongAnswer(f"{wrong}: {body[:300]!r}") from None


def result_of(body: bytes, id: int) -> Any:
    """The result of any request; None if this message is not its answer."""
    message = msgspec.json.decode(body)
    if message.get("id") != id or "method" in message:
        return None
    if "result" not in message:
        raise WrongAnswer(f"an error: {body[:300]!r}")
    return message["result"]
