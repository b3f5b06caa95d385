"""The pages beside the endpoint: alive, ready, and a few numbers for Prometheus."""

from __future__ import annotations

import time

from clawft.gateway.core import Gateway
from clawft.gateway.http.session_endpoint import SessionEndpoint
from clawft.gateway.http.stateless_endpoint import StatelessEndpoint
from clawft.link import asgi
from clawft.link.asgi import TEXT, Send
from clawft.link.share.unread_output import UNREAD

PAGES = frozenset(("/healthz", "/readyz", "/metrics"))


class Status:
    def __init__(
        self, gateway: Gateway, endpoint: str, stateless: StatelessEndpoint, sessions: SessionEndpoint
    ) -> None:
        self._endpoint = endpoint
        self._gateway = gateway
        self._stateless = stateless
        self._sessions = sessions
        self._started = time.monotonic()

    async def answer(self, method: str, path: str, send: Send) -> None:
        if path not in PAGES:
            await asgi.answer(send, 404, f"not found; the MCP endpoint is {self._endpoint}\n".encode(), [TEXT])
        elif method not in ("GET", "HEAD"):
            await asgi.answer(send, 405, b"method not allowed", [TEXT, (b"allow", b"GET, HEAD")])
        elif path == "/healthz":
            await asgi.answer(send, 200, b"ok\n", [TEXT])
        elif path == "/readyz":
            ready = not self._gateway.closing.is_set()
            await asgi.answer(send, 200 if ready else 503, b"ready\n" if ready else b"shutting down\n", [TEXT])
        else:
            await asgi.answer(send, 200, self._metrics(), [(b"content-type", b"text/plain; version=0.0.4")])

    def _metrics(self) -> bytes:
        sessions = list(self._sessions.sessions)
        in_flight = len(self._stateless.running) + sum(len(s.conversation.running) for s in sessions)
        rows = (
            ("clawft_uptime_seconds", "gauge", round(time.monotonic() - self._started, 1)),
            ("clawft_tools", "gauge", len(self._gateway.tools.entries)),
            ("clawft_sessions", "gauge", len(sessions)),
            ("clawft_requests_in_flight", "gauge", in_flight),
            ("clawft_calls_total", "counter", self._gateway.calls),
            ("clawft_unread_bytes", "gauge", UNREAD.bytes),
            ("clawft_unread_given_up_total", "counter", UNREAD.given_up),
        )
        return "".join(f"# TYPE {name} {kind}\n{name} {value}\n" for name, kind, value in rows).encode()
