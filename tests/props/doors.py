"""Every door foreign bytes come in by: a function that reads them, and may end in an error of ours only.

To add one: a row in `DOORS`. The corpus beside it grows with every input that was once trouble.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from clawft.auth import challenge, flow
from clawft.builtin.build import jest, junit, plain
from clawft.builtin.cargo.messages import read_diagnostic
from clawft.builtin.git.hostile_config import read_listing
from clawft.builtin.html_text import readable
from clawft.catalog import names
from clawft.config import jsonc
from clawft.delegate import retry, scenario, toolbox
from clawft.errors import ClawftError
from clawft.gateway import listening
from clawft.gateway.dispatch import read_target
from clawft.gateway.http.streams import read_event_id
from clawft.gateway.offer.listing import read_cursor
from clawft.gateway.questions import read_answers
from clawft.guard.approval import book
from clawft.model import Origin, Tool
from clawft.policy import command, globs, pin, scan, url
from clawft.policy.command import CommandPolicy
from clawft.provider.server import relay
from clawft.provider.server.log_messages import read_said
from clawft.provider.server.notices import read_progress, read_uri
from clawft.sandbox.egress_proxy import read_wish
from clawft.store import chain, document
from clawft.upstream.offer import list_reading
from clawft.upstream.session import peer
from clawft.wire import blocks, cancel, handshake, headers, meta, narrow, sse, stateless, tasks, visible
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
    """A door behind the first: what stands in a request that was found to be one."""

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


def _answers(data: bytes) -> None:
    read_answers({"asked": Raw(data)})


def _beside_tools(data: bytes) -> None:
    for read in (list_reading.read_resource, list_reading.read_template, list_reading.read_prompt):
        try:
            read(data)
        except (ClawftError, msgspec.DecodeError):
            continue


def _waiting(data: bytes) -> None:
    retry.pause(1, retry.read_wait({"retry-after": text(data)}, 0.0), 0.5)


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
    "target": of_params(lambda data: read_target("tools/call", data)),
    "answers": of_params(_answers),
    "listen": of_params(listening.read_filter),
    "cursor": of_params(read_cursor),
    "cancelled": of_params(cancel.read_cancelled),
    "address of a resource": of_params(read_uri),
    "log message": of_params(read_said),
    "task": of_result(tasks.read),
    "error of a tool": of_result(partial(blocks.read_error, most=relay.MAX_BLOCKS)),
    "beside tools": of_result(_beside_tools),
    "last event": read_event_id,
    "challenge": lambda data: challenge.read_challenge(text(data)),
    "return from a login": lambda data: flow.read_returned(text(data)),
    "proxy request": read_wish,
    "waiting time": _waiting,
    "arguments of a model": lambda data: toolbox.read_arguments(text(data), "tool"),
    "scenario": lambda data: scenario.parse(data, "scenario.toml"),
    "approvals": lambda data: book.parse(data, "approvals.json"),
    "approved text": pin.read_shown,
    "journal": chain.read_link,
    "page of the web": lambda data: readable(text(data), "http://example.com/"),
    "report of tests": junit.read_junit,
    "report of jest": jest.read_jest,
    "finding": lambda data: plain.read_finding(text(data)),
    "compiler message": lambda data: read_diagnostic(text(data)),
    "settings of a repository": read_listing,
}
