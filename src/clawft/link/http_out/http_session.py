"""A session of Streamable HTTP as its client knows it: its id, its revision, and the headers they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clawft.errors import LinkClosed
from clawft.link.base import OutgoingRequest
from clawft.link.http_out.events import EVENTS
from clawft.wire.headers import encode_value

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse

ACCEPT = "application/json, text/event-stream"

_ID = re.compile(r"[\x21-\x7e]*")


class HttpSession:
    """Without an id and a revision before the handshake, and with neither where the server is stateless."""

    def __init__(self, url: str, configured: Mapping[str, str]) -> None:
        """`url` is as it may be shown; `configured` are the headers that the configuration adds."""
        self._url = url
        self._configured = configured
        self.id = ""
        self.revision = ""

    def read_id(self, response: ClientResponse) -> None:
        """Take the id that the server gives in its answer to initialize."""
        id = response.headers.get("Mcp-Session-Id", "")
        if not _ID.fullmatch(id):
            raise LinkClosed(f"{self._url} sent a session id with characters that are not visible ASCII")
        self.id = id

    def headers(self, outgoing: OutgoingRequest | None = None) -> dict[str, str]:
        """The headers of a request; without one, of a notification or an answer."""
        headers = {**self._configured, "Content-Type": "application/json", "Accept": ACCEPT}
        if outgoing is not None and outgoing.revision:
            headers["MCP-Protocol-Version"] = outgoing.revision
            headers["Mcp-Method"] = outgoing.method
            if outgoing.name:
                headers["Mcp-Name"] = encode_value(outgoing.name)
            headers.update(outgoing.mirrored)
            return headers
        if self.revision:
            headers["MCP-Protocol-Version"] = self.revision
        if self.id:
            headers["Mcp-Session-Id"] = self.id
        return headers

    def stream_headers(self, last_event_id: str) -> dict[str, str]:
        """The headers of a GET for an event stream, continued behind an event if there was one."""
        headers = {**self.headers(), "Accept": EVENTS}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        return headers
