"""The rows of `weft servers status`: a running weft makes them on the loop that serves its agents."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from clawft.app.application import App
from clawft.app.server_rows import JUDGED_AT_ONCE, server_rows
from clawft.config.layers import Scope
from clawft.errors import ServerNotFound
from clawft.upstream.status import ServerStatus
from tests.requirements import requirement

TOOLS = 10 * JUDGED_AT_ONCE
HERE = Path()


def nothing_beside(name: str) -> tuple[()]:
    return ()


def app_with(withheld: Any) -> App:
    """One connected server with many tools, each of which is judged by `withheld`."""
    offers = SimpleNamespace(tools=[SimpleNamespace(wire=b"{}")] * TOOLS)
    found = SimpleNamespace(
        spec=SimpleNamespace(trust="untrusted", enabled=True, url=""), origin="here", scope=Scope.USER
    )

    def offering(name: str) -> SimpleNamespace:
        return offers

    told: dict[str, Any] = dict.fromkeys(ServerStatus.__struct_fields__, "")
    told |= {"name": "many", "status": "connected", "server_info": {}, "tools": offers.tools, "pid": None}
    return cast(
        "App",
        SimpleNamespace(
            files=SimpleNamespace(name_any=True),
            pool=SimpleNamespace(status=lambda: [SimpleNamespace(**told)], find=offering),
            servers=SimpleNamespace(found={"many": found}, waiting={}, refused={}),
            upstreams=SimpleNamespace(offered=offering, beside=nothing_beside),
            approving=SimpleNamespace(withheld=withheld),
            caller=None,
        ),
    )


@requirement("MGR-19")
async def test_agents_have_their_turn_while_definitions_are_compared() -> None:
    judged = 0
    heard_after: list[int] = []

    def withheld(*_: object) -> str:
        nonlocal judged
        judged += 1
        return "changed" if judged % 2 else ""

    async def agent() -> None:
        while judged < TOOLS:
            heard_after.append(judged)
            await asyncio.sleep(0)

    (row,), _ = await asyncio.gather(server_rows(app_with(withheld), HERE), agent())
    assert (row.withheld, row.next) == (TOOLS // 2, "weft approvals diff many")
    assert max(later - earlier for earlier, later in pairwise(heard_after)) <= JUDGED_AT_ONCE


@requirement("MGR-19")
async def test_a_server_that_goes_while_its_definitions_are_compared_costs_no_answer() -> None:
    def withheld(*_: object) -> str:
        raise ServerNotFound("there is no server 'many'")

    (row,) = await server_rows(app_with(withheld), HERE)
    assert (row.name, row.withheld, row.next) == ("many", 0, "")
