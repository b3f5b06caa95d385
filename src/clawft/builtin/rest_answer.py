"""Turns an answer of a REST API into what an agent can use: JSON, text or bytes, and the next page's address."""

import base64
import re
from typing import Any
from urllib.parse import quote, urljoin

import msgspec
from msgspec import Raw

from clawft.builtin.bounded_text import bounded_text
from clawft.errors import ExecutionFailed
from clawft.link.http_out.fetch import FetchedAnswer
from clawft.model import CallToolResult, Reply
from clawft.store.concealed_secrets import HIDDEN, SHORTEST_CONCEALED

EXCERPT = 2_000
LINKS_KEY = "dev.clawft/links"

_LINK = re.compile(r"<([^<>]{1,4096})>((?:\s*;\s*[^,;]+)*)")
_REL = re.compile(r';\s*rel\s*=\s*"?([^";,]+)"?', re.IGNORECASE)


def without_token(found: FetchedAnswer, token: str) -> FetchedAnswer:
    """The answer without the token that was sent: some services repeat the request."""
    if len(token) < SHORTEST_CONCEALED:
        return found
    body, url, headers = found.body, found.url, found.headers
    for spelled in {token, quote(token, safe=""), token.replace("/", "\\/")}:
        body = body.replace(spelled.encode(), HIDDEN.encode())
        url = url.replace(spelled, HIDDEN)
        headers = tuple((name, value.replace(spelled, HIDDEN)) for name, value in headers)
    return msgspec.structs.replace(found, body=body, url=url, headers=headers)


def reply_of(found: FetchedAnswer) -> Reply:
    return Reply.of(answer_of(found))


def answer_of(found: FetchedAnswer) -> CallToolResult:
    """The body in its own form, with the address of the next page."""
    value = body_of(found)
    links = links_of(found)
    text = "null" if value is None else bytes(value).decode() if isinstance(value, Raw) else value
    content: list[Any] = [{"type": "text", "text": text}]
    if "next" in links:
        content.append({"type": "text", "text": f"the next page: {links['next']}"})
    structured: Any = msgspec.UNSET
    if not isinstance(value, str):
        structured = value if text.startswith("{") else {"result": value}
    meta: Any = {LINKS_KEY: links} if links else msgspec.UNSET
    return CallToolResult(content, structured, meta=meta)


def body_of(found: FetchedAnswer) -> Raw | str | None:
    """JSON as it is, text as text, everything else in base64; None if it is empty."""
    if not found.body:
        return None
    if found.truncated:
        return _text_of(found)
    if found.content_type == "application/json" or found.content_type.endswith("+json"):
        return _json_of(found.body) or _text_of(found)
    if found.content_type.startswith("text/") or found.content_type.endswith(("xml", "yaml", "javascript")):
        return _text_of(found)
    return _object(content_type=found.content_type, base64=base64.b64encode(found.body).decode())


def _text_of(found: FetchedAnswer) -> Raw | str:
    """The text, with a note if some of it is missing."""
    text, is_cut = bounded_text(found)
    return _object(truncated=True, content_type=found.content_type, text=text) if is_cut else text


def _json_of(body: bytes) -> Raw | None:
    """The JSON without blanks, but not decoded: as objects it may take thirty times its size."""
    try:
        compact = msgspec.json.format(body, indent=-1)
        compact.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Raw(compact)


def _object(**members: Any) -> Raw:
    return Raw(msgspec.json.encode(members))


def links_of(found: FetchedAnswer) -> dict[str, str]:
    """Relation → absolute URL (RFC 8288)."""
    links: dict[str, str] = {}
    for name, value in found.headers:
        if name.lower() == "link":
            for target, parameters in _LINK.findall(value[:16_384]):
                rel = _REL.search(parameters)
                if rel:
                    links.setdefault(rel[1].strip(), _absolute(found.url, target))
    return links


def _absolute(base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError:  # half an IPv6 address, for instance
        return target


def failure_of(found: FetchedAnswer, method: str, besides: str = "") -> ExecutionFailed:
    excerpt = found.text()[:EXCERPT]
    more = f"; {besides}" if besides else ""
    return ExecutionFailed(f"{method} {found.url}: status {found.status}{more}: {excerpt or 'no body'}")
