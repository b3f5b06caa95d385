"""Everything at once over HTTP: each kind of attack keeps to its bound, and so does the sum of them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.siege import honest
from tests.security.test_deaf import honest_answers, send_and_leave
from tests.security.test_greedy import greedy
from tests.security.test_sent_ahead import deaf, push
from tests.security.test_together import MEMBER
from tests.servers.hostile import MEGABYTE
from tests.servers.pipe import Json
from tests.servers.raw_http import ask, connect, modern, modern_call, open_session
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = [pytest.mark.slow, requirement("QUAL-03", "QUAL-12")]

SECONDS = 8.0
FAIR_S = 40.0
SERVERS: dict[str, Json] = {
    **dict.fromkeys(("deaf0", "deaf1", "picture0", "picture1", "picture2", "story0", "story1"), MEMBER),
    **{kind: greedy(kind) for kind in ("large", "many", "restless", "fickle")},
}
PICTURE: Json = {"text": "picture"}
Step = Callable[[str], Awaitable[None]]


class Crowd:
    """Of hostile clients, with hostile servers behind the gateway. Each attack is one step, taken over and over."""

    def __init__(self, port: int, socks: ExitStack) -> None:
        self._port, self._socks = port, socks

    async def do_not_read(self, name: str) -> None:
        """A picture for a client that does not take it."""
        await push(deaf(self._port, self._socks), modern_call(self._port, 1, f"{name}__poke", PICTURE), FAIR_S)
        await asyncio.sleep(0.5)

    async def look(self, name: str) -> None:
        await ask(self._port, modern_call(self._port, 1, f"{name}__poke", PICTURE))

    async def make_deaf(self, name: str) -> None:
        """A server; its caller waits for ever."""
        await push(deaf(self._port, self._socks), modern_call(self._port, 1, f"{name}__poke", {"text": "deaf"}), FAIR_S)

    async def send_in_vain(self, name: str) -> None:
        await send_and_leave(self._port, name)

    async def come_back_and_do_not_read(self, name: str) -> None:
        """To a stream with a picture on it."""
        session = await open_session(self._port)
        async with connect(self._port) as line:
            await line.send(session.call(1, f"{name}__poke", PICTURE, _meta={"progressToken": "p"}))
            await line.answer_head()
            line.leave()
        for _ in range(3):
            await push(deaf(self._port, self._socks), session.get({"Last-Event-ID": "1.0"}), FAIR_S)
        await asyncio.sleep(0.5)

    async def flood(self, name: str) -> None:
        """A call of three megabytes, whose answer is kept for reading on."""
        await ask(self._port, modern_call(self._port, 1, f"{name}__echo", {"text": "x" * 3 * MEGABYTE}))

    def attacks(self) -> list[tuple[Step, str]]:
        return [
            *[(self.do_not_read, name) for name in ("picture0", "picture1")],
            *[(self.look, name) for name in ("picture0", "picture1", "picture2", "picture2")],
            *[(self.send_in_vain, name) for name in ("deaf0", "deaf1")],
            *[(self.come_back_and_do_not_read, name) for name in ("story0", "story1")],
            *[(self.flood, "honest")] * 4,
        ]


async def over_and_over(step: Step, name: str) -> None:
    while True:
        try:
            await step(name)
        except (OSError, EOFError, TimeoutError):  # refused, or cut off: as it should be
            continue


async def names_of(port: int) -> set[str]:
    """Of servers whose tools are listed, on all pages."""
    cursor: Json = {}
    names: set[str] = set()
    while True:
        page = (await ask(port, modern(port, 1, "tools/list", cursor))).json()["result"]
        names |= {tool["name"].partition("__")[0] for tool in page["tools"]}
        if "nextCursor" not in page:
            return names
        cursor = {"cursor": page["nextCursor"]}


@asynccontextmanager
async def besieged(folder: Path) -> AsyncGenerator[Served]:
    told = json.dumps({"mcpServers": {"honest": honest(), **SERVERS}})
    with gateway(folder, "--no-auth", "--mcp-config", told) as running, ExitStack() as socks:
        async with asyncio.timeout(FAIR_S):
            while not {"honest", *SERVERS} <= await names_of(running.port):
                pass
        crowd = Crowd(running.port, socks)
        for name in ("deaf0", "deaf1"):
            await crowd.make_deaf(name)
        attacks = [asyncio.ensure_future(over_and_over(*attack)) for attack in crowd.attacks()]
        yield running
        for attack in attacks:
            attack.cancel()
        await asyncio.gather(*attacks, return_exceptions=True)


async def test_the_sum_of_all_has_a_bound_too(tmp_path: Path) -> None:
    async with besieged(tmp_path) as running, asyncio.timeout(FAIR_S):
        until = asyncio.get_running_loop().time() + SECONDS
        while asyncio.get_running_loop().time() < until:
            await honest_answers(running.port)
        assert peak_memory(running.pid) < RSS_LIMIT, f"{peak_memory(running.pid) // MEGABYTE} MiB"
