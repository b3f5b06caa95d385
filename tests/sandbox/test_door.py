"""The way out of a cell: to the hosts it was given, and nowhere else."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawft.link.process import Launch, start
from clawft.sandbox.bounds import Table
from clawft.sandbox.door import MAX_HEAD_BYTES, Wish, is_allowed, read_wish
from tests.requirements import requirement
from tests.sandbox.held import furnish

PATIENCE_S = 30.0

CLIENT = """
import socket, sys
def say(*words): print(*words, flush=True)
for line in sys.stdin:
    how, where = line.split()
    host, port = where.rsplit(":", 1)
    try:
        if how == "direct":
            socket.create_connection((host, int(port)), timeout=5).close()
            say("connected")
            continue
        with socket.create_connection(("127.0.0.1", 3128), timeout=10) as out:
            if how == "tunnel":
                out.sendall(f"CONNECT {where} HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n".encode())
            elif how == "plain":
                out.sendall(f"GET http://{where}/hi?x=1 HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n".encode())
            elif how == "flood":
                out.sendall(b"GET " + b"x" * 100_000)
            said = out.recv(1000).decode()
            if how == "tunnel" and " 200 " in said:
                out.sendall(b"ping")
                said = out.recv(1000).decode()
            say(said.split("\\r\\n")[0] or "closed")
    except OSError as failed:
        say("failed", type(failed).__name__)
"""


@pytest.mark.parametrize(
    ("head", "wish"),
    [
        (b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", Wish("a.example", 443, tunnel=True)),
        (b"CONNECT [::1]:80 HTTP/1.1\r\n\r\n", Wish("::1", 80, tunnel=True)),
        (
            b"GET http://a.example/b?c HTTP/1.1\r\nX: y\r\nProxy-Connection: keep-alive\r\n\r\n",
            Wish("a.example", 80, tunnel=False, first=b"GET /b?c HTTP/1.1\r\nConnection: close\r\nX: y\r\n\r\n"),
        ),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"GET https://a.example/ HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.example HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.example:99999 HTTP/1.1\r\n\r\n", None),
        (b"\xff\xfe", None),
    ],
)
def test_where_a_client_wants_to_go(head: bytes, wish: Wish | None) -> None:
    assert read_wish(head) == wish


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("host", "port", "hosts", "allowed"),
    [
        ("api.example.com", 443, ["api.example.com"], True),
        ("API.Example.Com.", 443, ["api.example.com"], True),
        ("evil-api.example.com", 443, ["api.example.com"], False),
        ("api.example.com.evil.org", 443, ["api.example.com"], False),
        ("a.example.com", 443, ["*.example.com"], True),
        ("example.com", 443, ["*.example.com"], False),
        ("a.example", 443, ["a.example:443"], True),
        ("a.example", 22, ["a.example:443"], False),
        ("a.example", 443, [], False),
    ],
)
def test_who_is_let_out(host: str, port: int, hosts: list[str], allowed: bool) -> None:
    assert is_allowed(Wish(host, port, tunnel=True), hosts) is allowed


@asynccontextmanager
async def listener() -> AsyncGenerator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readline() if (start := await reader.read(4)) != b"ping" else b""
        writer.write(b"pong" if start == b"ping" else b"heard " + (start + first).strip() + b"\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@requirement("POOL-22")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_a_child_reaches_what_is_listed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = furnish(tmp_path)
    monkeypatch.setenv("HOME", str(house.home))
    async with listener() as good, listener() as bad, asyncio.timeout(PATIENCE_S):
        table = Table(network=(f"127.0.0.1:{good}",))
        argv = [sys.executable, "-c", CLIENT]
        cell = house.cell("bwrap", table, argv, house.workspace)
        child = start(Launch(argv[0], tuple(argv[1:]), cwd=str(house.workspace), confine=lambda argv, cwd: cell))

        async def ask(how: str, port: int) -> str:
            assert child.pipes.stdin is not None
            assert child.pipes.stdout is not None
            child.pipes.stdin.write(f"{how} 127.0.0.1:{port}\n".encode())
            return (await asyncio.to_thread(child.pipes.stdout.readline)).decode().strip()

        try:
            assert await ask("tunnel", good) == "pong"
            assert await ask("plain", good) == "heard GET /hi?x=1 HTTP/1.1"
            assert await ask("direct", good) == "failed ConnectionRefusedError"
            assert await ask("tunnel", bad) == "HTTP/1.1 403 Forbidden"
            assert await ask("plain", bad) == "HTTP/1.1 403 Forbidden"
            assert f"127.0.0.1:{bad} is not in the sandbox's network list" in child.stderr.text()
            assert MAX_HEAD_BYTES < 100_000
            assert await ask("flood", good) in ("closed", "failed ConnectionResetError")
            assert await ask("tunnel", good) == "pong"
        finally:
            for pipe in (child.pipes.stdin, child.pipes.stdout, child.pipes.stderr):
                assert pipe is not None
                pipe.close()
            await child.stop(lambda: None)
