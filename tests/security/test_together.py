"""Ten servers at once, each of which keeps to what one server may take: together they may not take ten times that."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.siege import Siege, siege
from tests.security.test_hostile_servers import said
from tests.security.test_rogue_servers import LONG_MS
from tests.servers.horde import ROOM
from tests.servers.hostile import MEGABYTE
from tests.servers.pipe import Json, call, text_of
from tests.servers.raw_site import STREAM, Asked, chunk, raw_site
from tests.servers.weft import ROOT

pytestmark = [pytest.mark.slow, requirement("QUAL-03", "QUAL-12")]

NAMES = [f"horde{number}" for number in range(10)]
MEMBER: Json = {
    "command": sys.executable,
    "args": ["-m", "tests.servers.horde"],
    "env": {"PYTHONPATH": str(ROOT)},
    "timeout": LONG_MS,
}
HORDE = dict.fromkeys(NAMES, MEMBER)
LARGE_CALL: Json = {"name": "honest__echo", "arguments": {"text": "x" * 3 * MEGABYTE}}
FAIR_S = 40.0


async def listed(besieged: Siege) -> None:
    for name in NAMES:
        await besieged.until_listed(f"{name}__poke")


async def poke_all(besieged: Siege, kind: str) -> list[str]:
    """The ids of the calls."""
    await besieged.pipe.send(*[call(f"{name} {kind}", f"{name}__poke", {"text": kind}) for name in NAMES])
    return [f"{name} {kind}" for name in NAMES]


async def answers_of(besieged: Siege, ids: list[str]) -> list[Json]:
    return [(besieged.answers_of(id) or [await besieged.pipe.answer(id)])[0] for id in ids]


@pytest.mark.parametrize("kind", ["text", "picture", "structure", "error"])
async def test_ten_large_answers_at_once_take_turns_and_all_arrive(tmp_path: Path, kind: str) -> None:
    async with siege(tmp_path, MEMBER, **HORDE) as besieged:
        await listed(besieged)
        ids = await poke_all(besieged, kind)
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(20)
        for answer in await answers_of(besieged, ids):
            assert ("error" if kind == "error" else "result") in answer
            assert kind != "picture" or len(answer["result"]["content"][0]["data"]) == ROOM


async def test_ten_that_talk_without_end_have_the_time_of_one(tmp_path: Path) -> None:
    async with siege(tmp_path, MEMBER, **HORDE) as besieged:
        await listed(besieged)
        await poke_all(besieged, "notices")
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(100)


async def drip(asked: Asked) -> None:
    await asked.write(STREAM + chunk(b'data: {"jsonrpc":"2.0","result":{"content":["'))
    for _ in range(15):
        await asked.write(chunk(b"x" * MEGABYTE))
    await asyncio.Event().wait()


async def test_answers_that_never_end_are_given_up_for_the_sake_of_others(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(raw_site(drip)) for _ in NAMES[5:]]
        entries = {name: {"url": site.url} for name, site in zip(NAMES[5:], sites, strict=True)}
        async with siege(tmp_path, MEMBER, **{**HORDE, **entries}) as besieged:
            await listed(besieged)
            ids = await poke_all(besieged, "drip")
            async with asyncio.timeout(FAIR_S):
                large = await besieged.pipe.ask("tools/call", LARGE_CALL)
                await besieged.honest_answers(20)
            assert text_of(large).startswith("honest: xxx")
            given_up = [answer for id in ids for answer in besieged.answers_of(id)]
            assert given_up
            assert all("others waited" in said(answer) for answer in given_up)
