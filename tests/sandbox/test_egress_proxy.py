"""The way out of a cell: to the hosts it was given, and nowhere else."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from clawft.link.process import Launch, start
from clawft.sandbox.bounds import SandboxTable
from clawft.sandbox.egress_proxy import (
    MAX_CONNECTIONS,
    MAX_HEAD_BYTES,
    EgressProxy,
    ProxyRequest,
    is_allowed,
    may_lead_to,
    read_wish,
)
from tests.requirements import requirement
from tests.sandbox.held import furnish

PATIENCE_S = 30.0
HEAD = b"GET /b?c HTTP/1.1\r\nHost: a.example\r\n"

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
        (b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", ProxyRequest("a.example", 443, tunnel=True)),
        (b"CONNECT [::1]:80 HTTP/1.1\r\n\r\n", ProxyRequest("::1", 80, tunnel=True)),
        (
            b"GET http://a.example/b?c HTTP/1.1\r\nX: y\r\nProxy-Connection: keep-alive\r\n\r\n",
            ProxyRequest("a.example", 80, tunnel=False, first=HEAD + b"Connection: close\r\nX: y\r\n\r\n"),
        ),
        (
            b"GET http://me:pw@a.example/b?c HTTP/1.1\r\nHost: other.example\r\nhOsT : third.example\r\n\r\n",
            ProxyRequest("a.example", 80, tunnel=False, first=HEAD + b"Connection: close\r\n\r\n"),
        ),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"GET https://a.example/ HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.example HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.example:99999 HTTP/1.1\r\n\r\n", None),
        (b"\xff\xfe", None),
        (b"CONNECT evil.org\x00.a.example:443 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT evil.org/.a.example:443 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.example:443 HTTP/0.9\r\n\r\n", None),
        (b"CONNECT a.example:443\r\n\r\n", None),
        (b"GET ftp://a.example/ HTTP/1.1\r\n\r\n", None),
        (b"CONNECT http://a.example:443 HTTP/1.1\r\n\r\n", None),
        (b"GET http://a.example/ HTTP/1.1\nHost:other.example\r\n\r\n", None),
        (b"GET http://a.example/ HTTP/1.1\r\nX: y\nHost: other.example\r\n\r\n", None),
        (b"GET http://a.example/ HTTP/1.1\r\nX: y\rHost: other.example\r\n\r\n", None),
        (b"GET http://a.example/ HTTP/1.1\r\n keep-alive\r\n\r\n", None),
        (b"GET\t/b\tHTTP/1.1\nHost:other.example\n\n http://a.example/ HTTP/1.1\r\n\r\n", None),
        (
            b"GET http://a.example/b?c HTTP/1.1\r\nHost\t: other.example\r\n\r\n",
            ProxyRequest("a.example", 80, tunnel=False, first=HEAD + b"Connection: close\r\n\r\n"),
        ),
    ],
)
def test_where_a_client_wants_to_go(head: bytes, wish: ProxyRequest | None) -> None:
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
        ("127.0.0.1", 443, ["a.example", "*.example"], False),
        ("::1", 80, ["::1"], True),
        ("::1", 80, ["[::1]:80"], True),
        ("::1", 81, ["[::1]:80"], False),
    ],
)
def test_who_is_let_out(host: str, port: int, hosts: list[str], allowed: bool) -> None:
    assert is_allowed(ProxyRequest(host, port, tunnel=True), hosts) is allowed


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("a.example", "93.184.216.34", True),
        ("git.corp", "10.1.2.3", True),
        ("a.example", "127.0.0.1", False),
        ("a.example", "127.9.9.9", False),
        ("a.example", "::1", False),
        ("a.example", "::ffff:127.0.0.1", False),
        ("a.example", "169.254.169.254", False),
        ("a.example", "fe80::1%eth0", False),
        ("a.example", "0.0.0.0", False),
        ("2130706433", "127.0.0.1", False),
        ("a.example", "::127.0.0.1", False),
        ("a.example", "::ffff:0:127.0.0.1", False),
        ("a.example", "64:ff9b::7f00:1", False),
        ("a.example", "64:ff9b::a9fe:a9fe", False),
        ("a.example", "2002:7f00:1::", False),
        ("a.example", "100.100.100.200", False),
        ("a.example", "fd00:ec2::254", False),
        ("a.example", "2606:4700::1111", True),
        ("localhost", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
    ],
)
def test_a_listed_name_leads_nobody_to_this_machine(host: str, address: str, allowed: bool) -> None:
    """Who owns the name says where it leads: to the database next door, if he likes."""
    assert may_lead_to(address, host, [host]) is allowed


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"), ("169.254.169.254", "169.254.169.254")],
)
@pytest.mark.parametrize("listed", ["*:443", "*.*", "1*", "*1", "l*", "*4", "?*"])
def test_whoever_lists_many_does_not_mean_this_machine(host: str, address: str, listed: str) -> None:
    assert not may_lead_to(address, host, [listed])


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


@asynccontextmanager
async def doorway(hosts: list[str], told: list[str]) -> AsyncGenerator[int]:
    """A door on our own loopback."""
    ours, theirs = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listening, theirs:
        door = EgressProxy(ours, hosts, told.append)
        socket.send_fds(theirs, [b"door"], [listening.fileno()])
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield listening.getsockname()[1]
        finally:
            door.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)


async def asks(port: int, target: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    said = (await reader.readline()).decode().strip()
    writer.close()
    await writer.wait_closed()
    return said


@requirement("POOL-22")
async def test_a_name_that_was_pointed_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    resolve = loop.getaddrinfo

    async def lies(host: str, *arguments: Any, **more: Any) -> Any:
        return await resolve("127.0.0.1" if host == "rebound.example" else host, *arguments, **more)

    monkeypatch.setattr(loop, "getaddrinfo", lies)
    told: list[str] = []
    async with listener() as good, doorway(["rebound.example", "127.0.0.1"], told) as door:
        assert await asks(door, f"127.0.0.1:{good}") == "HTTP/1.1 200 Connection established"
        assert await asks(door, f"rebound.example:{good}") == "HTTP/1.1 502 Bad Gateway"
        assert told == ["rebound.example leads to this machine, which is not in the sandbox's network list"]


@requirement("POOL-22")
@pytest.mark.parametrize("name", ["a..example", f"{'a' * 100}.example"])
async def test_a_name_that_cannot_be_one_is_told(name: str) -> None:
    async with doorway(["*.example"], []) as door:
        assert await asks(door, f"{name}:443") == "HTTP/1.1 502 Bad Gateway"


@requirement("POOL-22")
def test_tunnels_that_break_off_leave_no_trace() -> None:
    """On the loop that weft runs on, which says so in another way."""
    wrong: list[Any] = []

    async def break_off() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: wrong.append(told))
        async with listener() as good, doorway(["127.0.0.1"], []) as door:
            for _ in range(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", door)
                writer.write(f"CONNECT 127.0.0.1:{good} HTTP/1.1\r\n\r\nping".encode())
                await reader.readline()
                writer.transport.abort()

    uvloop.run(break_off())
    assert wrong == []


@requirement("POOL-22")
async def test_a_crowd_of_slow_heads_is_bounded_and_leaves_no_trace() -> None:
    async with listener() as good, doorway(["127.0.0.1"], []) as door:
        crowd = [await asyncio.open_connection("127.0.0.1", door) for _ in range(MAX_CONNECTIONS + 20)]
        for _, writer in crowd:
            writer.write(b"CONNECT ")
        waiting = {asyncio.ensure_future(_is_closed(reader)) for reader, _ in crowd}
        while len(waiting) > MAX_CONNECTIONS:
            gone, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert all(each.result() for each in gone)
        assert len(waiting) == MAX_CONNECTIONS
        for _, writer in crowd:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        while await asks(door, f"127.0.0.1:{good}") != "HTTP/1.1 200 Connection established":
            pass  # until the door has noticed that they left


async def _is_closed(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read(1) == b""
    except ConnectionResetError:
        return True


@requirement("POOL-22")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
async def test_a_child_reaches_what_is_listed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = furnish(tmp_path)
    monkeypatch.setenv("HOME", str(house.home))
    async with listener() as good, listener() as bad, asyncio.timeout(PATIENCE_S):
        table = SandboxTable(network=(f"127.0.0.1:{good}",))
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
