"""The attacks of this folder without the defence, once each: they get through, so the tests can see them."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import web

from tests.requirements import requirement
from tests.security.siege import SERVERS
from tests.security.test_hostile_servers import UNSEEN
from tests.security.test_hostile_sites import MEGABYTE, TOKEN, bomb, forged
from tests.servers.hostile import CASES
from tests.servers.pipe import Json, call, notification, request
from tests.servers.web import Asked, serve

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0


class Naive:
    """A client that believes what it is told: the next line with an id is the answer."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        if process.stdin is None or process.stdout is None:  # never with PIPE; the type does not know
            raise RuntimeError("the process has no pipes")
        self.stdin, self.stdout = process.stdin, process.stdout

    def send(self, *lines: bytes) -> None:
        self.stdin.write(b"".join(lines))
        self.stdin.flush()

    def answer(self) -> Json:
        while "id" not in (message := json.loads(self.stdout.readline())):
            pass
        return message

    def open(self) -> Json:
        self.send(request(1, "initialize", {}), notification("notifications/initialized"))
        return self.answer()

    def ask(self, method: str, params: Json | None = None) -> Json:
        self.send(request(2, method, params))
        return self.answer()


@contextmanager
def naive(case: str, count: int = 0) -> Generator[Naive]:
    argv = [sys.executable, str(SERVERS / "hostile.py"), case, str(count)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client = Naive(process)
    try:
        yield client
    finally:
        for child in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
            child.kill()
        process.wait(PATIENCE_S)
        client.stdin.close()
        client.stdout.close()


@requirement("GUARD-10")
def test_hidden_characters_arrive() -> None:
    with naive("hidden") as client:
        assert UNSEEN.search(json.dumps(client.open(), ensure_ascii=False))
        assert UNSEEN.search(json.dumps(client.ask("tools/list"), ensure_ascii=False))


@requirement("PROV-12")
def test_names_that_no_model_takes_arrive() -> None:
    with naive("names") as client:
        client.open()
        names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
        assert len(names) > len(set(names))
        assert not all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)


@requirement("SESS-09")
def test_a_list_in_circles_has_no_end() -> None:
    with naive("circle") as client:
        client.open()
        for _ in range(100):
            assert client.ask("tools/list", {"cursor": "again"})["result"]["nextCursor"] == "again"


@requirement("WIRE-06", "QUAL-02")
def test_a_forged_answer_is_believed() -> None:
    with naive("ids") as client:
        client.open()
        assert client.ask("tools/call", {"name": "poke"})["result"]["content"][0]["text"] == "forged"


@requirement("QUAL-03")
@pytest.mark.parametrize(("case", "count", "least"), [("line", 50, 50 * MEGABYTE), ("chatter", 20_000, 4 * MEGABYTE)])
def test_a_flood_is_one(case: str, count: int, least: int) -> None:
    with naive(case, count) as client:
        client.open()
        client.send(call(2, "poke"))
        seen = 0
        while seen < least:
            seen += len(os.read(client.stdout.fileno(), MEGABYTE))


@requirement("POOL-21")
def test_a_stubborn_server_stays() -> None:
    with naive("stubborn") as client:
        client.open()
        family = [*psutil.Process(client.process.pid).children(recursive=True), psutil.Process(client.process.pid)]
        client.stdin.close()
        for process in family:
            process.send_signal(signal.SIGTERM)
        assert len(family) == 2
        assert len(psutil.wait_procs(family, timeout=0.5)[1]) == 2


@requirement("QUAL-03")
def test_every_case_is_used() -> None:
    """A vice nobody tries proves nothing."""
    here = Path(__file__).parent
    tried = "".join((here / name).read_text() for name in ("test_hostile_servers.py", "test_scan.py"))
    assert [case for case in CASES if f'"{case}"' not in tried] == []


# ── sites ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def ask(url: str) -> Any:
    """As a client would that follows and unpacks whatever it gets, and takes the first answer."""
    timeout = aiohttp.ClientTimeout(PATIENCE_S)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        body: Json = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {}}
        async with session.post(url, json=body) as response:
            return await response.read()


@requirement("LINK-16")
async def test_a_bomb_unpacks() -> None:
    async with asyncio.timeout(PATIENCE_S), serve(bomb) as site:
        assert len(await ask(site.url)) > 300 * MEGABYTE


@requirement("LINK-16")
async def test_a_forged_event_comes_first() -> None:
    async with serve(forged) as site:
        assert b"forged" in (await ask(site.url)).split(b"\n")[0]


@requirement("LINK-16", "GUARD-04")
async def test_a_redirect_takes_the_call_along() -> None:
    trap: list[Asked] = []

    async def elsewhere(asked: Asked) -> web.StreamResponse:
        trap.append(asked)
        return asked.result({})

    async with serve(elsewhere) as other:

        async def away(asked: Asked) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": other.url})

        async with serve(away) as site:
            await ask(site.url)
    assert trap[0].message["method"] == "tools/call"
