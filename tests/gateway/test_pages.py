"""Lists of several pages, while what is on them changes."""

import base64
from collections.abc import Sequence
from typing import Any

import pytest

from clawft.gateway.offer.bookmark import bookmark, reading_on
from clawft.model import Tool
from clawft.provider.base import Changes
from tests.gateway.support import Demo, Late, Pipe, echo, modern, pipe, serving
from tests.requirements import requirement

OWNERS = ["a", "b", "b", "b", "c", "c"]


class Fickle(Demo):
    """A provider that may have other tools from one page to the next."""

    count = 5

    def watch(self, changes: Changes) -> None:
        self._told = changes

    def list_tools(self) -> Sequence[Tool]:
        schema = b'{"name":"t%d","inputSchema":{"type":"object"}}'
        return [Tool(f"t{n}", schema % n) for n in range(self.count)]

    def change(self, count: int) -> None:
        self.count = count
        self._told.tools_changed()


async def page(caller: Pipe, cursor: str | None = None) -> tuple[list[str], Any]:
    result = (await caller.ask("tools/list", {"cursor": cursor} if cursor else {}))["result"]
    return [tool["name"] for tool in result["tools"]], result.get("nextCursor")


@requirement("RES-11", "POOL-15")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 9])
async def test_a_server_that_changes_its_list_between_two_pages_hides_nobody_elses_tools(count: int) -> None:
    fickle, steady = Fickle("fickle"), Demo("steady")
    for name in ("one", "two", "three"):
        steady.add(name, echo)
    async with pipe(serving(fickle, steady, page_size=4)) as caller:
        await caller.initialize()
        names, cursor = await page(caller)
        fickle.change(count)
        while cursor:
            more, cursor = await page(caller, cursor)
            names += more
    assert [name for name in names if name.startswith("steady")] == ["steady__one", "steady__two", "steady__three"]
    assert len(names) == len(set(names))


@requirement("POOL-15")
@pytest.mark.parametrize("stateless", [False, True], ids=["handshake", "stateless"])
async def test_who_reads_on_waits_for_nothing_that_is_on_its_way(*, stateless: bool) -> None:
    gateway = serving(Fickle("fickle"), page_size=4)
    params = modern() if stateless else {}
    async with pipe(gateway) as caller:
        if not stateless:
            await caller.initialize()
        cursor = (await caller.ask("tools/list", params))["result"]["nextCursor"]
        gateway.pending.servers = late = Late()
        more = await caller.ask("tools/list", {**params, "cursor": cursor})
        assert (len(more["result"]["tools"]), late.waits) == (1, 0)
        await caller.ask("tools/list", params)
        assert late.waits == 1


@pytest.mark.parametrize("passed", range(1, len(OWNERS) + 1))
def test_where_nothing_has_changed_one_reads_on_behind_the_last(passed: int) -> None:
    assert reading_on(OWNERS, bookmark(OWNERS, passed)) == passed


@pytest.mark.parametrize(
    ("now", "begin"),
    [(["a", "c", "c"], 1), (["c", "c"], 0), (["b", "c"], 1), (["a", "a", "b", "c"], 3), (["c", "b", "d"], 2), ([], 0)],
)
def test_where_owners_are_gone_one_reads_on_behind_those_before(now: list[str], begin: int) -> None:
    """As far as they are still there."""
    assert reading_on(now, bookmark(OWNERS, 3)) == begin


def test_what_an_owner_has_need_not_stand_together() -> None:
    mixed = ["a", "b", "a", "b", "a"]
    assert [reading_on(mixed, bookmark(mixed, passed)) for passed in range(1, 6)] == [1, 2, 3, 4, 5]


@requirement("RES-11")
async def test_a_cursor_of_an_earlier_version_is_none_of_ours() -> None:
    gateway = serving(Fickle("fickle"), page_size=4)
    sign = gateway.pages._sign  # pyright: ignore[reportPrivateUsage] - as it was made then
    old = base64.urlsafe_b64encode(sign(b"tools:4") + b"tools:4").decode()
    async with pipe(gateway) as caller:
        await caller.initialize()
        assert (await caller.ask("tools/list", {"cursor": old}))["error"]["code"] == -32602
