"""What the load generator says and how it reads an answer: bytes made beforehand, answers checked one by one.

Ids have a fixed number of digits, so that a request is a template with the id filled in and its length never changes.
The echoed text carries the id too: an answer that belongs to another request is found out even if its id is right.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

FIRST_ID = 10_000_000
LAST_ID = 99_999_999
"""Eight digits each."""
TEXT_BYTES = 100
_ID = b"@@@@@@@@"
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
    """A tools/call of the echo tool in three pieces, with the id to go between them."""

    before: bytes
    between: bytes
    after: bytes

    def fill(self, id: int) -> bytes:
        digits = b"%d" % id
        return b"".join((self.before, digits, self.between, digits, self.after))

    @property
    def size(self) -> int:
        return len(self.fill(FIRST_ID))


def echo_call(dialect: Dialect, tool: str) -> Template:
    text = _ID.decode() + _PADDING
    params = dialect.params({"name": tool, "arguments": {"text": text}})
    whole = msgspec.json.encode({"jsonrpc": "2.0", "id": Raw(_ID), "method": "tools/call", "params": params})
    return Template(*whole.split(_ID))


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Block(Struct):
    text: str = ""


class _Echoed(Struct):
    content: list[_Block] = []
    is_error: bool = field(default=False, name="isError")


class _Message(Struct):
    id: int | None = None
    method: str = ""
    result: _Echoed | None = None


_read = msgspec.json.Decoder(_Message).decode


def answered(body: bytes) -> int | None:
    """The id of the call this answers, its text checked; None for a notification."""
    try:
        message = _read(body)
    except msgspec.DecodeError as wrong:
        raise WrongAnswer(f"{wrong}: {body[:300]!r}") from None
    if message.method:
        return None
    result = message.result
    if message.id is None or result is None or result.is_error or len(result.content) != 1:
        raise WrongAnswer(f"no echo: {body[:300]!r}")
    if result.content[0].text != f"{message.id}{_PADDING}":
        raise WrongAnswer(f"the text of another call: {body[:300]!r}")
    return message.id


def result_of(body: bytes, id: int) -> Any:
    """The result of any request; None if this message is not its answer."""
    message = msgspec.json.decode(body)
    if message.get("id") != id or "method" in message:
        return None
    if "result" not in message:
        raise WrongAnswer(f"an error: {body[:300]!r}")
    return message["result"]
