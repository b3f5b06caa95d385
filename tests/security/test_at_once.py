"""Everything at once over HTTP: each kind of attack keeps to its bound, and so does the sum of them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.siege import honest
from tests.security.test_deaf import honest_answers, send_and_leave
from tests.security.test_greedy import greedy
from tests.security.test_rogue_servers import LONG_MS
from tests.security.test_sent_ahead import deaf, push
from tests.security.test_together import MEMBER
from tests.servers.hostile import MEGABYTE
from tests.servers.pipe import Json
from tests.servers.raw_http import ask, connect, head, modern, modern_call, open_session
from tests.servers.raw_site import deaf_site
from tests.servers.weft import Served, gateway, peak_memory

pytestmark = [pytest.mark.slow, requirement("QUAL-03", "QUAL-12")]

SECONDS = 8.0
PACE_S = 0.01
"""Between honest calls: they are there to be answered, not to be a crowd."""
ROOM = 155 * MEGABYTE
"""Measured: 123 to 144 MiB, 151 while many others held the processor; without a bound on memory, 157 to 188."""
FAIR_S = 40.0
GREEDY = {kind: greedy(kind) for kind in ("large", "many", "restless", "fickle")}
MEMBERS = (
    *("deaf0", "deaf1", "picture0", "picture1", "picture2", "story0", "story1"),
    *("structure", "error", "notices0", "notices1", "drip0", "drip1", "asker0", "asker1"),
)
SITES = ("site0", "site1")
PICTURE: Json = {"text": "picture"}
HALF = 4 * MEGABYTE
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

    async def ask_for(self, name: str) -> None:
        """What the server is called after."""
        await ask(self._port, modern_call(self._port, 1, f"{name}__poke", {"text": name.rstrip("01")}))

    async def send_to_a_deaf_site(self, name: str) -> None:
        async with connect(self._port) as line:
            await line.send(modern_call(self._port, 1, f"{name}__poke", {"text": "x" * 3 * MEGABYTE}))
            await asyncio.sleep(0.3)
            line.leave()

    async def do_not_hear_of(self, name: str) -> None:
        """Notices without end, of three megabytes each, for a client that does not take them."""
        session = await open_session(self._port)
        await push(deaf(self._port, self._socks), session.call(1, f"{name}__poke", {"text": "notices"}), FAIR_S)
        await asyncio.sleep(SECONDS)

    async def be_asked(self, name: str) -> None:
        """Questions without end, and no ear for them."""
        session = await open_session(self._port, sampling={})
        await push(deaf(self._port, self._socks), session.call(1, f"{name}__poke", {"text": "questions"}), FAIR_S)
        await push(deaf(self._port, self._socks), session.get(), FAIR_S)
        await asyncio.sleep(SECONDS)

    async def send_nearly_all(self, name: str) -> None:
        """Of a large request, to whomever."""
        told = {"Content-Type": "application/json", "Accept": "*/*", "Content-Length": str(HALF)}
        async with connect(self._port) as line:
            await line.send(head(self._port, "POST", told) + b"x" * (HALF - 1))
            await asyncio.sleep(2)

    async def send_ahead(self, name: str) -> None:
        """Small requests, nine megabytes of them, without taking an answer."""
        asked = modern_call(self._port, 1, f"{name}__echo", {"text": "x" * 15_000}) * 600
        await push(deaf(self._port, self._socks), asked, 3)

    async def list_all(self, name: str) -> None:
        """Of all servers, page by page; and once more without reading."""
        await names_of(self._port)
        await push(deaf(self._port, self._socks), modern(self._port, 1, "tools/list"), 2)

    def attacks(self) -> list[tuple[Step, str]]:
        return [
            *[(self.do_not_read, name) for name in ("picture0", "picture1")],
            *[(self.look, name) for name in ("picture0", "picture1", "picture2", "picture2")],
            *[(self.send_in_vain, name) for name in ("deaf0", "deaf1")],
            *[(self.come_back_and_do_not_read, name) for name in ("story0", "story1")],
            *[(self.flood, "honest")] * 4,
            *[(self.ask_for, name) for name in ("structure", "error", "drip0", "drip1")],
            *[(self.send_to_a_deaf_site, name) for name in SITES],
            *[(self.do_not_hear_of, name) for name in ("notices0", "notices1")],
            *[(self.be_asked, name) for name in ("asker0", "asker1")],
            *[(self.send_nearly_all, "nobody")] * 6,
            *[(self.send_ahead, "honest")] * 4,
            *[(self.list_all, "all")] * 2,
        ]


async def over_and_over(step: Step, name: str) -> None:
    while True:
        try:
            await step(name)
        except (OSError, EOFError, TimeoutError):  # refused, or cut off: as it should be
            await asyncio.sleep(0)  # to be refused takes no time, and others want their turn


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
    async with AsyncExitStack() as stack:
        urls = {name: (await stack.enter_async_context(deaf_site(MEGABYTE))).url for name in SITES}
        servers: dict[str, Json] = {
            "honest": honest(),
            **GREEDY,
            **dict.fromkeys(MEMBERS, MEMBER),
            **{name: {"url": url, "timeout": LONG_MS} for name, url in urls.items()},
        }
        told = json.dumps({"mcpServers": servers})
        running = stack.enter_context(gateway(folder, "--no-auth", "--mcp-config", told))
        crowd = Crowd(running.port, stack.enter_context(ExitStack()))
        async with asyncio.timeout(FAIR_S):
            while not servers.keys() <= await names_of(running.port):
                pass
            for name in ("deaf0", "deaf1"):
                await crowd.make_deaf(name)
        attacks = [asyncio.ensure_future(over_and_over(*step)) for step in crowd.attacks()]
        try:
            yield running
        finally:
            for attack in attacks:
                attack.cancel()
            await asyncio.gather(*attacks, return_exceptions=True)


async def test_the_sum_of_all_has_a_bound_too(tmp_path: Path) -> None:
    async with besieged(tmp_path) as running, asyncio.timeout(FAIR_S):
        until = asyncio.get_running_loop().time() + SECONDS
        while asyncio.get_running_loop().time() < until:
            await honest_answers(running.port)
            await asyncio.sleep(PACE_S)
        assert peak_memory(running.pid) < ROOM, f"{peak_memory(running.pid) // MEGABYTE} MiB"
