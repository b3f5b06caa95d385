"""Any ASGI application behind our own server."""

from collections.abc import Awaitable, Callable
from typing import Final

from clawft.link.asgi import Receive, Scope, Send
from clawft.link.http_in.exchange import HttpExchange, Serve

App = Callable[[Scope, Receive, Send], Awaitable[None]]

VERSIONS: Final = {"version": "3.0", "spec_version": "2.4"}


def of_asgi(app: App) -> Serve:
    return lambda exchange: app(_scope_of(exchange), exchange.receive, exchange.send)


def _scope_of(exchange: HttpExchange) -> Scope:
    head, peer = exchange.head, exchange.peer
    return {
        "type": "http",
        "asgi": VERSIONS,
        "http_version": head.version,
        "method": head.method,
        "scheme": "http",
        "path": head.path,
        "raw_path": head.raw_path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers,
        "client": peer.client,
        "server": peer.server,
        "extensions": {},
    }
