"""Every door foreign bytes come in by: a function that reads them, and may end in an error of ours only.

To add one: a row in `DOORS`. The corpus beside it grows with every input that was once trouble.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from clawft.catalog import names
from clawft.config import jsonc
from clawft.model import Origin, Tool
from clawft.policy import command, globs, scan, url
from clawft.policy.command import CommandPolicy
from clawft.provider.server import relay
from clawft.provider.server.notices import read_progress
from clawft.store import document
from clawft.upstream.offer import list_reading
from clawft.upstream.session import peer
from clawft.wire import handshake, headers, meta, narrow, sse, stateless, visible
from clawft.wire.framing import LineFramer
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.batches import decode_batch, is_batch
from clawft.wire.jsonrpc.messages import Request, Response
from clawft.wire.revisions import HANDSHAKE, REVISIONS

Door = Callable[[bytes], Any]


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def of_result(door: Door) -> Door:
    """A door behind the first: what stands in an answer that was found to be one."""

    def enter(data: bytes) -> Any:
        message = reading.decode(b'{"jsonrpc":"2.0","id":1,"result":' + data + b"}")
        return door(message.result) if isinstance(message, Response) else None

    return enter


def of_params(door: Door) -> Door:
    """The same for the params of a request."""

    def enter(data: bytes) -> Any:
        message = reading.decode(b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + data + b"}")
        return door(message.params) if isinstance(message, Request) else None

    return enter


def _lines(data: bytes) -> list[Any]:
    framer = LineFramer(1000)
    return [*framer.feed(data), *framer.end()]


def _message(data: bytes) -> None:
    """As a transport does: a batch, or one message; and what it claims to be."""
    for line in decode_batch(data) if is_batch(data) else [data]:
        message = reading.decode(line)
        if isinstance(message, Request):
            meta.may_name_version(message.params)
            meta.claims_stateless(message.params)
            stateless.read_caller(message, {})


def _handshake(data: bytes) -> None:
    handshake.read_initialize(data)


def _header(data: bytes) -> None:
    headers.encode_value(headers.decode_value(data))


def _schema(data: bytes) -> None:
    headers.mirrors({"type": "object", "properties": {text(data): {"type": "string", "x-mcp-header": text(data)}}})


def _definition(data: bytes) -> None:
    """A tool as a server writes it, down to what the oldest client gets."""
    for tool in list_reading.read_tools([Raw(data)]):
        for revision in HANDSHAKE:
            narrow.definition(tool.wire, REVISIONS[revision])
        scan.scan(msgspec.json.decode(tool.wire))


def _result(data: bytes) -> None:
    for era in (True, False):
        result = relay.reply_of(data, stateless=era).result
        for revision in HANDSHAKE:
            narrow.result(result, REVISIONS[revision])


def _name(data: bytes) -> None:
    tool = Tool(text(data), b"{}")
    for form in names.NameForm:
        exported = names.exported(Origin("x", "server"), tool, form)
        assert form is names.NameForm.MCP or 1 <= len(exported) <= names.MAX_NAME
    names.refuse_server(text(data))


def _visible(data: bytes) -> None:
    shown = visible.make_visible(data)
    assert visible.make_visible(shown) == shown
    visible.visible_text(text(data))


DOORS: dict[str, Door] = {
    "lines": _lines,
    "events": lambda data: list(sse.EventReader(1000).feed(data)),
    "message": _message,
    "meta": of_params(meta.read_params),
    "handshake": of_params(_handshake),
    "header value": _header,
    "mirrored schema": _schema,
    "definition": of_result(_definition),
    "page": of_result(lambda data: peer.read_page("tools/list", data, "tools")),
    "discovery": of_result(peer.read_discover),
    "introduction": of_result(peer.read_initialize),
    "questions": of_result(peer.read_wanted),
    "result": of_result(_result),
    "progress": of_params(read_progress),
    "outgoing meta": of_params(lambda data: relay.outgoing_meta(data, 1)),
    "name": _name,
    "hidden": _visible,
    "command": lambda data: command.decide(text(data), CommandPolicy(deny=("git push*",))),
    "address": lambda data: url.decide(text(data)),
    "glob": lambda data: globs.any_matches([text(data)], (text(data)[:100], "a*")),
    "settings": lambda data: document.parse(data, "config.toml"),
    "foreign settings": lambda data: jsonc.parse(data, "mcp.json"),
}
