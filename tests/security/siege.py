"""A gateway with a hostile server and an honest one behind it, and what must hold whatever the hostile one does."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.servers.pipe import Json, Pipe, call, mcp_server, text_of
from tests.servers.weft import RSS_LIMIT, STOP_S, outliving

SERVERS = Path(__file__).parents[1] / "servers"
PATIENCE_S = 60.0
SHORT_MS = 2000


def hostile(case: str, count: int = 0, **more: Any) -> Json:
    """The entry of a server that misbehaves in this way."""
    return {"command": sys.executable, "args": [str(SERVERS / "hostile.py"), case, str(count)], **more}


def honest(title: str = "honest") -> Json:
    return {"command": sys.executable, "args": [str(SERVERS / "tiny.py"), "--title", title]}


class Siege:
    """The conversation of an honest agent with the gateway."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe

    async def tools(self) -> dict[str, Json]:
        return {tool["name"]: tool for tool in (await self.pipe.ask("tools/list"))["result"]["tools"]}

    async def until_listed(self, name: str) -> dict[str, Json]:
        """The list, once it has this tool."""
        async with asyncio.timeout(PATIENCE_S):
            while name not in (listed := await self.tools()):
                await self.news()
        return listed

    async def news(self) -> None:
        """The next word of a changed list; some may have come while we waited for something else."""
        word = "notifications/tools/list_changed"
        if any(message.get("method") == word for message in self.pipe.others):
            self.pipe.others.clear()
            return
        while (await self.pipe.read()).get("method") != word:
            pass

    async def poke(self, text: str = "x", tool: str = "hostile__poke") -> Json:
        """One call of the hostile server, with the honest one answering before, beside and after it."""
        await self.honest_answers(3)
        id = f"poke {text}"
        await self.pipe.send(call(id, tool, {"text": text}))
        await self.honest_answers(10)
        seen = [message for message in self.pipe.others if message.get("id") == id]
        answer = seen[0] if seen else await self.pipe.answer(id)
        await self.honest_answers(3)
        return answer

    async def poke_fairly(self, text: str, seconds: float) -> Json:
        """One call of the hostile server; the honest one has so long for twenty beside it."""
        await self.pipe.send(call(text, "hostile__poke", {"text": text}))
        async with asyncio.timeout(seconds):
            await self.honest_answers(20)
        seen = self.answers_of(text)
        return seen[0] if seen else await self.pipe.answer(text)

    async def honest_answers(self, count: int) -> None:
        for number in range(count):
            token = f"{id(self)}-{number}"
            answer = await self.pipe.ask("tools/call", {"name": "honest__echo", "arguments": {"text": token}})
            assert text_of(answer) == f"honest: {token}"

    def answers_of(self, id: str) -> list[Json]:
        return [message for message in self.pipe.others if message.get("id") == id]


@asynccontextmanager
async def siege(folder: Path, entry: Json, *options: str, **servers: Json) -> AsyncGenerator[Siege]:
    """With `entry` as the server `hostile`. At the end: memory was bounded, we went in time, and nobody is left."""
    told: Mapping[str, Any] = {"mcpServers": {"honest": honest(), "hostile": entry, **servers}}
    async with mcp_server(folder, "--mcp-config", json.dumps(told), *options) as pipe:
        await pipe.open()
        besieged = Siege(pipe)
        await besieged.until_listed("honest__echo")
        yield besieged
        await besieged.honest_answers(3)
        family = psutil.Process(pipe.pid).children(recursive=True)
        assert pipe.peak() < RSS_LIMIT, f"{pipe.peak() // 1024**2} MiB"
        pipe.stdin.close()
        assert await asyncio.to_thread(outliving, family, STOP_S) == []
        await asyncio.wait_for(pipe.process.wait(), STOP_S)
