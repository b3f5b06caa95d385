"""Resources by the tools of `weft`: the same for whoever asks as by `resources/list` and `resources/read`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.app import App
from clawft.config.settings import Settings
from clawft.gateway.core import Gateway
from clawft.model import Caller, Grant
from tests.gateway.support import Late
from tests.gateway.test_content import Library
from tests.requirements import requirement

TOOLS = "weft__*"


class Bringing(Late):
    """The server that is on its way has resources."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway

    async def wait_for_next(self) -> None:
        await super().wait_for_next()
        self._gateway.register(Library("lib"))


@pytest.fixture
def app(home: Path, workspace: Path) -> App:
    return App(Settings(home=home, workspace=workspace), outside=False)


async def asked(app: App, tool: str, given: dict[str, str], caller: Caller | None = None) -> Any:
    reply = await app.gateway.call(caller or app.caller, tool, json.dumps(given).encode())
    result = json.loads(reply.result)
    return result["content"][0]["text"] if reply.is_error else result["structuredContent"]["result"]


@requirement("RES-02", "POOL-15")
@pytest.mark.parametrize("given", [{}, {"server": "lib"}])
async def test_resources_of_a_server_that_is_on_its_way_are_listed(app: App, given: dict[str, str]) -> None:
    app.gateway.pending.servers = late = Bringing(app.gateway)
    rows = await asked(app, "weft__list_resources", given)
    assert [row["uri"] for row in rows if row["server"] == "lib"] == ["x://a", "x://b"]
    assert late.waits == 1


@requirement("RES-03", "POOL-15")
@pytest.mark.parametrize("given", [{"uri": "x://a"}, {"uri": "x://a", "server": "lib"}])
async def test_one_of_a_server_that_is_on_its_way_is_read(app: App, given: dict[str, str]) -> None:
    app.gateway.pending.servers = Bringing(app.gateway)
    assert [each["uri"] for each in await asked(app, "weft__read_resource", given)] == ["x://a"]


@requirement("RES-03", "POOL-15")
async def test_the_server_that_was_named_is_waited_for_where_another_has_such_a_resource(app: App) -> None:
    app.gateway.register(Library("other"))
    app.gateway.pending.servers = late = Bringing(app.gateway)
    assert len(await asked(app, "weft__read_resource", {"uri": "x://a", "server": "other"})) == 1
    assert late.waits == 0
    assert len(await asked(app, "weft__read_resource", {"uri": "x://a", "server": "lib"})) == 1
    assert late.waits == 1


@requirement("GUARD-06", "RES-02")
async def test_a_server_that_a_person_does_not_reach_is_as_unknown_as_any(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docs", "shop"):
        app.gateway.register(Library(name))
    monkeypatch.setattr(type(app.servers), "found", {"docs": None, "shop": None})
    other = Caller("ada", grant=Grant((TOOLS, "docs__*")))
    said = {
        name: await asked(app, "weft__list_resources", {"server": name}, other) for name in ("docs", "shop", "nope")
    }
    assert len(said["docs"]) == 2
    assert said["shop"] == said["nope"].replace("nope", "shop")


@requirement("GUARD-06", "RES-02")
@pytest.mark.parametrize("principal", ["ada", "local"])
async def test_a_server_that_did_not_come_up_is_told_of_to_the_person_at_this_machine(
    app: App, principal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(app.servers), "found", {"down": None})
    caller = msgspec.structs.replace(app.caller, principal=principal)
    said = await asked(app, "weft__list_resources", {"server": "down"}, caller)
    assert said == [] if principal == "local" else "there is no server 'down'" in said
