"""The whole house around a call: what `App` puts together guards every tool, and every call leaves its line."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.app import App
from clawft.config.places import audit_file
from clawft.config.settings import Settings
from clawft.errors import ExecutionFailed, ToolNotFound
from clawft.guard.audit import Audit
from clawft.guard.permission import Permission
from clawft.guard.result import ResultGuard
from clawft.guard.security import Security
from clawft.model import Call, Caller, Grant, Reply
from tests.gateway.support import Demo, Gate, Late, Pipe, echo, modern, pipe, soon, texts
from tests.requirements import requirement


async def long(call: Call) -> Reply:
    return Reply.text("é" * 200)


async def fails_at_length(call: Call) -> Reply:
    raise ExecutionFailed("\u202e" + "x" * 500)


class House:
    """An app with a provider of ours, called over a pipe."""

    def __init__(self, app: App, gate: Gate, demo: Demo, caller: Pipe) -> None:
        self.app = app
        self.gate = gate
        self.demo = demo
        self.caller = caller

    async def lines(self) -> list[dict[str, Any]]:
        """What the audit has written once everything is closed."""
        await self.app.close()
        return [json.loads(line) for line in audit_file(self.app.settings.home).read_text().splitlines()]


@asynccontextmanager
async def house(home: Path, workspace: Path, **settings: Any) -> AsyncGenerator[House]:
    app = App(Settings(home=home, workspace=workspace, **settings), outside=False)
    gate = Gate()
    demo = Demo().add("echo", echo).add("long", long).add("fails", fails_at_length).add("wait", gate)
    app.gateway.register(demo)
    async with pipe(app.gateway, app.caller) as caller:
        yield House(app, gate, demo, caller)
    await app.close()


@requirement("GUARD-01", "GUARD-12", "CRIT-01")
async def test_all_guards_are_on_in_their_order(home: Path, workspace: Path) -> None:
    async with house(home, workspace) as made:
        kinds = [type(guard) for guard in made.app.gateway.guards]
        wanted = [kind for kind in kinds if kind in (Audit, Permission, Security, ResultGuard)]
        assert wanted == [Audit, Permission, Security, ResultGuard]
        assert kinds[0] is Audit


@requirement("GUARD-10", "GUARD-11", "T-7.12")
async def test_every_call_leaves_its_line_whatever_becomes_of_it(home: Path, workspace: Path) -> None:
    async with house(home, workspace, deny=("demo__long",)) as made:
        caller = made.caller
        await caller.initialize()
        await caller.call("demo__echo", n=1)
        await caller.call("demo__nosuch")
        await caller.call("demo__long")
        await caller.call("demo__echo", command="rm -rf /")
        await caller.call("demo__fails")
        id = caller.send("tools/call", {"name": "demo__wait"})
        await soon(made.gate.begun)
        caller.notify("notifications/cancelled", requestId=id)
        await soon(made.gate.cancelled)
        await caller.ask("ping")
        lines = await made.lines()
    told = [(line["tool"], line["verdict"], line["outcome"]) for line in lines]
    assert told == [
        ("demo__echo", "allow", "ok"),
        ("demo__nosuch", "hidden", "failed:ToolNotFound"),
        ("demo__long", "hidden", "failed:ToolNotFound"),
        ("demo__echo", "deny:destroy-root", "error"),
        ("demo__fails", "allow", "error"),
        ("demo__wait", "allow", "cancelled"),
    ]
    assert all(line["caller"] == "local" and line["agent"] == "default" and line["client"] == "t/1" for line in lines)
    assert all("arguments" not in line for line in lines)
    assert len({line["id"] for line in lines}) == len(lines)


@requirement("SHELL-10", "S3-E09", "T-7.20", "GUARD-05")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_refused_call_never_reaches_its_tool(home: Path, workspace: Path, era: str) -> None:
    async with house(home, workspace) as made:
        if era == "handshake":
            await made.caller.initialize()
        answer = await made.caller.call("demo__echo", modern() if era == "stateless" else None, command="rm -rf /")
        assert answer["result"]["isError"] is True
        assert "destroy-root" in texts(answer)[0]
        assert made.demo.called == []


@requirement("SHELL-11", "T-7.21", "GUARD-08")
async def test_results_and_errors_are_bounded_and_the_rest_can_be_read(home: Path, workspace: Path) -> None:
    async with house(home, workspace, result_limit=101) as made:
        caller = made.caller
        await caller.initialize()
        shown = texts(await caller.call("demo__long"))[0]
        kept, _, note = shown.partition("\n")
        told = json.loads(note[note.index("{") :])
        assert (kept, told["offset"]) == ("é" * 50, 100)
        rest = texts(await caller.call("weft__read_result", **told, limit=90))[0]
        assert rest.startswith("é" * 45)
        failed = await caller.call("demo__fails")
        assert failed["result"]["isError"] is True
        assert texts(failed)[0].startswith("⟨U+202E⟩xxx")
        assert "[truncated]" in texts(failed)[0]
        assert len(texts(failed)[0]) < 400


@requirement("GUARD-06", "T-7.10", "AC-16")
async def test_an_allow_list_leaves_just_these(home: Path, workspace: Path) -> None:
    async with house(home, workspace, allow=("read_file", "write_file")) as made:
        await made.caller.initialize()
        listed = (await made.caller.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["file__read", "file__write"]
        assert (await made.caller.call("demo__echo"))["error"]["code"] == -32602


@requirement("PROV-20", "CRIT-02")
async def test_the_library_takes_the_same_way_as_a_pipe(home: Path, workspace: Path) -> None:
    async with house(home, workspace) as made:
        reply = await made.app.gateway.call(made.app.caller, "demo__echo", b'{"command":"rm -rf /"}')
        assert reply.refused == "destroy-root"
        assert [line["verdict"] for line in await made.lines()] == ["deny:destroy-root"]


@requirement("GUARD-07")
@pytest.mark.parametrize("name", ["demo__echo", "demo__nothing"])
async def test_a_hidden_tool_is_told_of_no_sooner_than_one_that_is_not_there(
    home: Path, workspace: Path, name: str
) -> None:
    async with house(home, workspace) as made:
        gateway = made.app.gateway
        gateway.pending.servers = late = Late()
        with pytest.raises(ToolNotFound, match=f"^unknown tool: {name} "):
            await gateway.call(Caller("eve", grant=Grant(deny=("demo__echo",))), name)
        assert late.waits == 1
    lines = await made.lines()
    assert [(line["caller"], line["outcome"]) for line in lines] == [("eve", "failed:ToolNotFound")]
