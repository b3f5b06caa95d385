"""Providers come and go; callers hear of it in the form of their era."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types.methods import parse_server_notification

from clawft.catalog.names import NameForm
from clawft.errors import InvalidConfig
from clawft.gateway import listening as listening_module
from clawft.gateway.core import Gateway
from clawft.model import Caller, Grant, Resource, ResourceTemplate
from clawft.provider.base import TellChange
from clawft.wire.meta import SUBSCRIPTION
from tests.gateway.support import Demo, Gate, Pipe, echo, modern, pipe, serving, soon, texts, turns
from tests.requirements import requirement

CHANGED = "notifications/tools/list_changed"


async def quiet(caller: Pipe, params: dict[str, Any] | None = None) -> list[Any]:
    """What else came, once everything sent before has been answered."""
    await caller.ask("tools/list", params)
    return caller.messages


@requirement("PROV-04", "SHELL-17", "S3-E10", "F8-T12")
async def test_a_session_hears_of_tools_that_come_and_go() -> None:
    served = serving(Demo("a").add("echo", echo))
    async with pipe(served) as caller:
        await caller.initialize()
        served.register(Demo("b").add("echo", echo))
        assert "params" not in await caller.notice(CHANGED)
        assert texts(await caller.call("b__echo")) == ["{}"]
        served.unregister("b")
        await caller.notice(CHANGED)
        assert (await caller.call("b__echo"))["error"]["code"] == -32602
        assert [tool["name"] for tool in (await caller.ask("tools/list"))["result"]["tools"]] == ["a__echo"]
        served.unregister("never there")
        assert await quiet(caller) == []


@requirement("SHELL-17")
async def test_nobody_is_told_before_initialize_or_after_the_end() -> None:
    served = serving()
    async with pipe(served) as caller:
        served.register(Demo("a"))
        assert caller.messages == []
        await caller.initialize()
    served.register(Demo("b"))
    assert caller.messages == []


@requirement("PROV-04")
async def test_a_provider_may_change_its_own_list() -> None:
    demo = Demo()
    async with pipe(serving(demo)) as caller:
        await caller.initialize()
        demo.add("late", echo)
        await caller.notice(CHANGED)
        assert texts(await caller.call("demo__late")) == ["{}"]


@requirement("PROV-13")
async def test_a_bare_name_is_who_had_it_when_the_list_was_read() -> None:
    unseen, seen = (serving(Demo("own").add("echo", echo), form=NameForm.BARE) for _ in range(2))
    async with pipe(unseen) as early, pipe(seen) as caller:
        for each in (early, caller):
            await each.initialize()
        listed = await caller.ask("tools/list")
        assert [each["name"] for each in listed["result"]["tools"]] == ["echo"]
        for served in (unseen, seen):
            served.register(late := Demo("mcp:late").add("echo", echo), server="late")
            await (early if served is unseen else caller).call("echo")
            assert late.called == (["echo"] if served is unseen else []), "nobody had seen whose it was before"
        await caller.notice(CHANGED)
        listed = await caller.ask("tools/list")
        assert [each["name"] for each in listed["result"]["tools"]] == ["late__echo", "echo"]


@requirement("PROV-04")
def test_two_providers_cannot_have_one_namespace() -> None:
    served = serving(Demo("a").add("echo", echo))
    with pytest.raises(InvalidConfig, match="'a'"):
        served.register(Demo("a"))
    assert len(served.tools.entries) == 1


@requirement("PROV-04")
async def test_a_call_in_flight_survives_a_new_catalog() -> None:
    gate = Gate()
    served = serving(Demo("a").add("wait", gate))
    async with pipe(served) as caller:
        await caller.initialize()
        id = caller.send("tools/call", {"name": "a__wait"})
        await soon(gate.begun)
        served.unregister("a")
        gate.open.set()
        assert texts(await caller.answer(id)) == ["through"]


# ── subscriptions/listen ─────────────────────────────────────────────────────────────────────────────────────────────


async def listening(caller: Pipe, id: Any, **wanted: Any) -> dict[str, Any]:
    caller.send("subscriptions/listen", modern(notifications=wanted), id=id)
    return (await caller.notice("notifications/subscriptions/acknowledged"))["params"]


@requirement("SHELL-17", "SHELL-18")
@pytest.mark.parametrize("id", [7, "7"])
async def test_a_listener_hears_what_it_asked_for_under_its_own_id(id: Any) -> None:
    served = serving()
    async with pipe(served) as caller:
        acknowledged = await listening(caller, id, toolsListChanged=True, resourcesListChanged=False)
        parse_server_notification("notifications/subscriptions/acknowledged", "2026-07-28", acknowledged)
        assert acknowledged == {"_meta": {SUBSCRIPTION: id}, "notifications": {"toolsListChanged": True}}
        served.register(Demo("a").add("echo", echo))
        assert (await caller.notice(CHANGED))["params"] == {"_meta": {SUBSCRIPTION: id}}
        served.prompts_changed()
        served.resources_changed()
        served.resource_updated("x://y")
        assert await quiet(caller, modern()) == []


@requirement("SHELL-17")
async def test_two_listeners_on_one_pipe_each_get_their_own() -> None:
    served = serving()
    async with pipe(served) as caller:
        await listening(caller, "a", toolsListChanged=True)
        await listening(caller, "b", toolsListChanged=True, promptsListChanged=True)
        served.tools_changed()
        served.prompts_changed()
        heard = [(await caller.message(lambda m: "method" in m)) for _ in range(3)]
        assert [(m["method"].split("/")[1], m["params"]["_meta"][SUBSCRIPTION]) for m in heard] == [
            ("tools", "a"),
            ("tools", "b"),
            ("prompts", "b"),
        ]


@requirement("SHELL-17", "RES-06")
async def test_only_the_resources_asked_for() -> None:
    served = serving()
    async with pipe(served) as caller:
        await listening(caller, 1, resourceSubscriptions=["x://mine"])
        served.resource_updated("x://other")
        served.resource_updated("x://mine")
        heard = await caller.notice("notifications/resources/updated")
        assert heard["params"] == {"uri": "x://mine", "_meta": {SUBSCRIPTION: 1}}
        assert await quiet(caller, modern()) == []


@requirement("SHELL-17")
async def test_a_listen_ends_when_the_clock_says_that_its_token_has_expired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening_module, "LOOK_SECONDS", 0.01)
    async with pipe(serving(), Caller("ada", until=time.time() + 3_600)) as caller:
        await listening(caller, "l", toolsListChanged=True)
        assert await quiet(caller, modern()) == []
        monkeypatch.setattr(listening_module, "time", SimpleNamespace(time=lambda: time.time() + 7_200))
        assert (await caller.answer("l"))["result"]["resultType"] == "complete"


@requirement("SHELL-17")
async def test_a_listen_ends_by_cancelling_it_or_when_we_shut_down() -> None:
    served = serving()
    async with pipe(served) as caller:
        await listening(caller, 1, toolsListChanged=True)
        await listening(caller, 2, toolsListChanged=True)
        caller.notify("notifications/cancelled", requestId=1)
        await turns(lambda: len(caller.served.running) == 1)
        served.tools_changed()
        assert (await caller.notice(CHANGED))["params"]["_meta"] == {SUBSCRIPTION: 2}
        served.closing.set()
        ended = (await caller.answer(2))["result"]
        assert ended["resultType"] == "complete"
        assert ended["_meta"][SUBSCRIPTION] == 2
        served.tools_changed()
        await asyncio.sleep(0)
        assert caller.messages == []


# ── resources/subscribe ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("RES-06")
async def test_a_session_subscribes_and_unsubscribes() -> None:
    served: Gateway = serving()
    async with pipe(served) as caller:
        await caller.initialize()
        assert (await caller.ask("resources/subscribe", {"uri": "x://mine"}))["result"] == {}
        served.resource_updated("x://mine")
        served.resource_updated("x://other")
        assert (await caller.notice("notifications/resources/updated"))["params"] == {"uri": "x://mine"}
        assert (await caller.ask("resources/unsubscribe", {"uri": "x://mine"}))["result"] == {}
        served.resource_updated("x://mine")
        assert await quiet(caller) == []


@requirement("RES-06")
async def test_subscriptions_have_a_bound() -> None:
    async with pipe(serving()) as caller:
        await caller.initialize()
        for n in range(1000):
            caller.send("resources/subscribe", {"uri": f"x://{n}"})
        assert (await caller.ask("resources/subscribe", {"uri": "x://more"}))["error"]["code"] == -32602


class Notebook(Demo):
    """Says that it will tell of changes as late as the test lets it."""

    def __init__(self) -> None:
        super().__init__("notebook")
        self.says = asyncio.Event()
        self.asked = 0
        self.ears: list[TellChange] = []

    def list_resources(self) -> list[Resource]:
        return []

    def list_templates(self) -> list[ResourceTemplate]:
        return []

    async def read_resource(self, uri: str) -> None:
        return None

    async def watch_resource(self, uri: str, caller: Caller, changed: TellChange) -> Callable[[], None]:
        self.asked += 1
        await self.says.wait()
        self.ears.append(changed)
        return lambda: self.ears.remove(changed)


@requirement("RES-06")
async def test_who_changes_their_mind_while_a_subscription_is_under_way_hears_of_each_change_once() -> None:
    notebook = Notebook()
    async with pipe(serving(notebook)) as caller:
        await caller.initialize()
        for _ in range(3):
            caller.send("resources/subscribe", {"uri": "x://mine"})
            await caller.ask("resources/unsubscribe", {"uri": "x://mine"})
        caller.send("resources/subscribe", {"uri": "x://mine"})
        await turns(lambda: notebook.asked == 4)
        notebook.says.set()
        await turns(lambda: len(notebook.ears) == 1)
        assert (await caller.ask("resources/unsubscribe", {"uri": "x://mine"}))["result"] == {}
        assert notebook.ears == []


# ── people with different grants ─────────────────────────────────────────────────────────────────────────────────────

ADA = Caller(principal="issuer#ada", agent="ada", grant=Grant(allow=("a__*",)), proof="proof of ada")
BOB = Caller(principal="issuer#bob", agent="bob", grant=Grant(allow=("b__*",)), proof="proof of bob")


@requirement("GUARD-06", "GUARD-07", "SHELL-17")
async def test_people_hear_only_of_changes_in_what_they_see() -> None:
    own, other = Demo("a").add("echo", echo), Demo("b").add("echo", echo)
    served = serving(own, other)
    async with pipe(served, ADA) as ada, pipe(served, BOB) as bob:
        await ada.initialize()
        await bob.initialize()
        other.add("late", echo)
        await bob.notice(CHANGED)
        served.register(Demo("c").add("echo", echo))
        served.prompts_changed()
        served.resources_changed()
        served.unregister("b")
        await bob.notice(CHANGED)
        assert (await quiet(ada), await quiet(bob)) == ([], [])
        own.add("late", echo)
        await ada.notice(CHANGED)
        assert (await quiet(ada), await quiet(bob)) == ([], [])


@requirement("GUARD-07", "SHELL-17")
async def test_a_listen_of_a_person_is_as_quiet() -> None:
    own, other = Demo("a").add("echo", echo), Demo("b").add("echo", echo)
    served = serving(own, other)
    async with pipe(served, ADA) as ada, pipe(served, BOB) as bob:
        await listening(ada, 1, toolsListChanged=True, promptsListChanged=True, resourcesListChanged=True)
        await listening(bob, 1, toolsListChanged=True, promptsListChanged=True, resourcesListChanged=True)
        other.add("late", echo)
        await bob.notice(CHANGED)
        assert (await quiet(ada, modern()), await quiet(bob, modern())) == ([], [])


@requirement("GUARD-07")
async def test_a_tool_that_goes_and_comes_back_is_told_both_times() -> None:
    own = Demo("a").add("echo", echo)
    served = serving(own)
    async with pipe(served, ADA) as ada:
        await ada.initialize()
        served.unregister("a")
        await ada.notice(CHANGED)
        served.register(own)
        await ada.notice(CHANGED)
        assert await quiet(ada) == []


@requirement("GUARD-07")
async def test_what_changes_for_one_person_is_told_to_them_alone() -> None:
    served = serving(Demo("a").add("echo", echo))
    async with pipe(served) as owner, pipe(served, ADA) as ada, pipe(served, BOB) as bob:
        for caller in (owner, ada, bob):
            await caller.initialize()
        served.tools_changed(ADA.proof)
        assert await quiet(owner) == await quiet(bob) == []
        assert await quiet(ada) == [], "it looks the same as before"
