"""Reads the response to a request: an answer to it, or another meaning of its status and body."""

from __future__ import annotations

from codecs import BOM_UTF8
from io import BytesIO
from typing import TYPE_CHECKING

from clawft.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    LinkClosed,
    LinkRefused,
    ProtocolFailure,
    SessionLost,
    WireError,
)
from clawft.link.base import too_long
from clawft.link.http_out.gzip_coding import READ_AHEAD, decompressed, is_x_gzip
from clawft.link.share.turns import ALONE_FROM, AwaitedTurn, LinkSender
from clawft.wire.headers import as_text
from clawft.wire.jsonrpc import reading
from clawft.wire.jsonrpc.batches import unread_answers
from clawft.wire.jsonrpc.likely import likely_answer
from clawft.wire.jsonrpc.messages import NULL, Failure, Response

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse

BAD_REQUEST, NOT_FOUND = 400, 404
NO_ANSWER_STATUS = 300
"""From here on a status is no answer: we follow no redirects, as they could lead our headers to someone else."""
EXCERPT = 300
_NOT_FOUND = (METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, INVALID_PARAMS)
"""A method, a resource, a tool or prompt: some servers have the status 404 for each."""


async def excerpt(response: ClientResponse) -> bytes:
    """The beginning of what is said where there is no answer."""
    place = as_text(response.headers.get("Location", ""))
    return b"it has moved to " + place.encode() if place else await response.content.read(EXCERPT)


def forgotten(url: str) -> SessionLost:
    return SessionLost(f"{url} does not know our session any more")


def refusal(url: str, status: int, body: bytes) -> LinkRefused:
    """A page is for people: its beginning would tell nobody what is wrong."""
    if is_page(body):
        reason, hint = _PAGE, _HINTS.get(status, _PAGE_HINT)
    else:
        reason, hint = " ".join(body[:EXCERPT].decode(errors="replace").split()), ""
    problem = f"{url} answered with status {status}"
    return LinkRefused(f"{problem}: {reason}" if reason else problem, http_status=status, hint=hint)


async def read_body(url: str, response: ClientResponse, limit: int, sender: LinkSender) -> bytes:
    """The whole of an answer, large ones one at a time. Raises MessageTooLong."""
    # BytesIO gives its bytes away without a copy; it is closed, as what ends badly may be kept by its own traceback
    with AwaitedTurn(sender, response.close) as turn, BytesIO() as whole:
        async for part in response.content.iter_chunked(READ_AHEAD):
            whole.write(part)
            size = whole.tell()
            if size > limit:
                raise too_long(url, limit)
            if size >= ALONE_FROM:
                await turn.wait(size)
        body = whole.getvalue()
    if is_x_gzip(response):
        body = decompressed(url, body, limit)
    return body.removeprefix(BOM_UTF8)


def no_message(url: str, body: bytes, wrong: WireError) -> LinkClosed:
    if is_page(body):
        return LinkClosed(f"{url} answered with {_PAGE}", hint=_PAGE_HINT)
    return LinkClosed(f"{url} sent something that is not a message: {wrong}")


def is_page(body: bytes) -> bool:
    return body.lstrip()[:1] == b"<"


_HINTS = {
    403: "it rejects the request: check that the key in its `headers` is right and for this address",
    429: "it was asked too often: try again later",
    **dict.fromkeys((502, 503, 504), "a proxy in front of it does not reach it: try again later"),
}
_PAGE, _PAGE_HINT = "a web page, not a message", "check that this is the address of an MCP server; many end in /mcp"


def is_failure(body: bytes) -> bool:
    try:
        return isinstance(reading.decode(body), Failure)
    except WireError:
        return False


def is_about_request(body: bytes, id: int) -> bool:
    """Whether the answer says that something this very request names was not found, and not the session."""
    try:
        answer = reading.decode(body)
        if not isinstance(answer, Failure) or answer.id != b"%d" % id:
            return False
        return answer.read().error_code in _NOT_FOUND
    except (WireError, ProtocolFailure):
        return False


def is_lost_session(status: int, body: bytes, id: int) -> bool:
    """Whether the response says that there is no such session as the request named. Many have the status 400 for it,
    and not 404.
    """
    if status == NOT_FOUND:
        return not is_about_request(body, id)
    return status == BAD_REQUEST and _denies_session(body, id)


def _denies_session(body: bytes, id: int) -> bool:
    """An error that does not even know the request it answers is about what stands around it."""
    try:
        answer = reading.decode(body)
        if not isinstance(answer, Failure) or answer.id == b"%d" % id:
            return False
        return names_session(body) or (answer.id == NULL and answer.read().error_code != PARSE_ERROR)
    except (WireError, ProtocolFailure):
        return names_session(body)


def names_session(body: bytes) -> bool:
    return b"session" in body[:EXCERPT].lower()


def answers(message: Response | Failure, id: int | None) -> bool:
    """An error may come without our id: a server that could not read the request did not see it."""
    if id is None:
        return False
    return message.id == b"%d" % id or (isinstance(message, Failure) and message.id == NULL)


def may_answer(data: bytes, id: int | None) -> bool:
    """Whether something that cannot be read is the answer to this request, or may have it among it."""
    if id is None:
        return False
    return likely_answer(data) == b"%d" % id or unread_answers(data) != ""
