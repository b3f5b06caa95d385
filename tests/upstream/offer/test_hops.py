"""What gateways of ours pass on to one another comes to an end."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.link.memory import Scripted
from clawft.upstream.offer.hops import MAX_HOPS, one_further
from clawft.wire.meta import HOPS
from tests.requirements import requirement
from tests.upstream.support import Tables, answers, pool, table, tool


def hello(name: str) -> Scripted:
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": name}}


def passed_on(name: str, hops: Any) -> dict[str, Any]:
    return {**tool(name), "_meta": {"vendor/x": 1, HOPS: hops}}


@pytest.mark.parametrize(("told", "then"), [(0, 1), (MAX_HOPS - 1, MAX_HOPS), (-(10**9), 1), ("many", 1), (None, 1)])
def test_a_definition_counts_who_passed_it_on(told: Any, then: int) -> None:
    further = json.loads(one_further(json.dumps(passed_on("a", told)).encode()))
    assert further["_meta"] == {"vendor/x": 1, HOPS: then}


def test_one_that_cannot_be_read_stays_as_it_is() -> None:
    for odd in (b"7", b"[]", b'{"_meta":7}', b"{"):
        assert one_further(odd) == odd


@requirement("QUAL-03", "QUAL-12")
async def test_what_has_come_through_too_many_gateways_is_left_out_and_told(tmp_path: Path) -> None:
    listed: Scripted = {"tools": [tool("own"), passed_on("near", MAX_HOPS - 1), passed_on("far", MAX_HOPS)]}
    async with pool(tmp_path, Tables({"a": answers(initialize=hello("clawft"), **{"tools/list": listed})})) as p:
        await p.connect(table("a"))
        status = p.server_status("a")
        own = json.loads(p.find("a").tools[0].wire)
    assert status.tools == ("own", "near")
    assert own["_meta"] == {HOPS: 1}
    assert [why for why in status.left_out if "1 of its tools, which come through more than 4 gateways" in why]


async def test_what_another_server_says_of_its_tools_is_its_own(tmp_path: Path) -> None:
    listed: Scripted = {"tools": [tool("own"), passed_on("far", 99)]}
    async with pool(tmp_path, Tables({"a": answers(initialize=hello("other"), **{"tools/list": listed})})) as p:
        await p.connect(table("a"))
        assert [json.loads(each.wire) for each in p.find("a").tools] == listed["tools"]
