"""A registry of crates on loopback: a sparse index, downloads and the publishing call."""

import hashlib
import json
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Registry(ThreadingHTTPServer):
    """What was published, and every token that was shown to it."""

    daemon_threads = True

    def __init__(self, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.token = token
        self.tokens: list[str] = []
        self.crates: dict[tuple[str, str], bytes] = {}
        self.index: dict[str, list[dict[str, Any]]] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def publish(self, body: bytes) -> None:
        """Two parts, each behind its length: the description, and the crate."""
        (size,) = struct.unpack_from("<I", body)
        told = json.loads(body[4 : 4 + size])
        crate = body[8 + size :]
        self.crates[told["name"], told["vers"]] = crate
        row: dict[str, Any] = {
            "name": told["name"],
            "vers": told["vers"],
            "deps": [],
            "features": told["features"],
            "yanked": False,
        }
        row["cksum"] = hashlib.sha256(crate).hexdigest()
        self.index.setdefault(_index_path(told["name"]), []).append(row)


class _Visit(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that makes these

    def do_GET(self) -> None:
        if self.path == "/index/config.json":
            self._answer(200, json.dumps({"dl": f"{self.server.address}/dl", "api": self.server.address}).encode())
        elif rows := self.server.index.get(self.path.removeprefix("/index/")):
            self._answer(200, "\n".join(map(json.dumps, rows)).encode())
        elif self.path.startswith("/dl/") and (crate := self.server.crates.get(_named(self.path))):
            self._answer(200, crate)
        else:
            self._answer(404, b"")

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.append(self.headers.get("Authorization", ""))
        if self.server.tokens[-1] != self.server.token:
            return self._answer(403, b'{"errors": [{"detail": "this token opens nothing"}]}')
        self.server.publish(body)
        self._answer(200, b'{"warnings": {"invalid_categories": [], "invalid_badges": [], "other": []}}')

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _named(path: str) -> tuple[str, str]:
    """/dl/NAME/VERSION/download"""
    parts = path.split("/")
    return (parts[2], parts[3]) if len(parts) == 5 else ("", "")


def _index_path(name: str) -> str:
    short = {1: f"1/{name}", 2: f"2/{name}", 3: f"3/{name[0]}/{name}"}
    return short.get(len(name), f"{name[:2]}/{name[2:4]}/{name}")


@contextmanager
def registry(token: str) -> Generator[Registry]:
    server = Registry(token)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
