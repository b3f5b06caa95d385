"""Answers of 15 MB that are made to be dear: honest servers answer meanwhile, and memory holds."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.security.siege import SERVERS, Siege, siege
from tests.servers.pipe import Json, call

pytestmark = pytest.mark.slow

MANY = 8
SLOWEST_S = 3.0
"""For one small call of a neighbour on a machine that does other things. Without the defence it is minutes."""
ALL_S = 100.0


def bulk(**more: Any) -> Json:
    return {"command": sys.executable, "args": [str(SERVERS / "bulk.py")], "sandbox": "off", **more}


async def slowest_beside(besieged: Siege, ids: set[str]) -> float:
    """Of small calls, one after the other, until these have been answered."""
    slowest = 0.0
    async with asyncio.timeout(ALL_S):
        while any(not besieged.answers_of(id) for id in ids):
            began = time.monotonic()
            await besieged.honest_answers(1)
            slowest = max(slowest, time.monotonic() - began)
    return slowest


@requirement("QUAL-12", "GUARD-08", "GUARD-09")
@pytest.mark.parametrize(
    ("what", "own"),
    [
        ("text backslashes", {}),
        ("text escaped", {}),
        ("resource quotes", {}),
        ("beside hidden", {}),
        ("beside deleted", {}),
        ("beside joined", {}),
        ("structure dashes", {}),
        ("picture letters", {"redact": True}),
        ("text keys", {"redact": True}),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
async def test_no_content_holds_neighbours_up(tmp_path: Path, what: str, own: Json) -> None:
    async with siege(tmp_path, bulk(**own)) as besieged:
        await besieged.until_listed("hostile__poke")
        ids = {f"{number}" for number in range(3)}
        for id in sorted(ids):
            await besieged.pipe.send(call(id, "hostile__poke", {"text": what}))
        assert await slowest_beside(besieged, ids) < SLOWEST_S
        assert all("result" in besieged.answers_of(id)[0] for id in ids)


@requirement("QUAL-12", "GUARD-08", "GUARD-09")
async def test_nor_do_many_at_once_and_each_has_its_turn(tmp_path: Path) -> None:
    kinds = ["text escaped", "text plain", "beside deleted", "structure dashes"]
    names = [f"bulk{number}" for number in range(MANY)]
    async with siege(tmp_path, bulk(), **{name: bulk() for name in names}) as besieged:
        for name in names:
            await besieged.until_listed(f"{name}__poke")
        for number, name in enumerate(names):
            await besieged.pipe.send(call(name, f"{name}__poke", {"text": kinds[number % len(kinds)]}))
        assert await slowest_beside(besieged, set(names)) < SLOWEST_S
        assert all("result" in besieged.answers_of(name)[0] for name in names)
