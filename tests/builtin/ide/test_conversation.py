"""A whole conversation: an agent, a real `weft mcp-server`, and a window of an editor that registers at it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.builtin.ide.agent import agent, write_project
from tests.builtin.ide.fake_window import FakeWindow, invitation, post, register, window
from tests.requirements import requirement
from tests.servers.pipe import Pipe, mcp_server, notification

pytestmark = pytest.mark.slow


@pytest.fixture
def project(workspace: Path) -> Path:
    return write_project(workspace)


def state(params: dict[str, Any]) -> dict[str, Any]:
    return {"path": params["path"], "version": 1}


def capable(fake: FakeWindow) -> FakeWindow:
    fake.handlers["open_file"] = state
    fake.handlers["hover"] = lambda params: {"contents": "from the window"}
    fake.handlers["selection"] = lambda params: {"path": f"{fake.folders[0]}/main.py", "text": "picked"}
    return fake


@requirement("F8-T13", "F8-A07", "IDE-16", "IDE-17", "SHELL-05", "SHELL-06")
async def test_an_agent_reaches_a_window(project: Path, home: Path) -> None:
    async with agent(project, home) as ours, window(project) as fake:
        names = [tool.name for tool in (await ours.client.list_tools()).tools]
        assert [name for name in names if name.startswith("ide__")][:2] == ["ide__open_file", "ide__edit"]
        assert "no editor is connected" in await ours.refused("open_file", path="main.py")
        capable(fake)
        assert (await register(await invitation(home), fake))[0] == 200
        opened = await ours.ide("open_file", path="main.py", line=3)
        assert (opened["texts"], opened["window"]) == (["Opened main.py"], "vscode-abcdef123456")
        assert fake.asked[-1][1] == {"path": str(project / "main.py"), "position": {"line": 3, "character": 0}}
        assert (await ours.ide("hover", path="main.py", line=0, character=0))["result"]["contents"] == "from the window"


@requirement("IDE-15", "IDE-17")
async def test_a_window_comes_back_after_the_gateway_was_away(project: Path, home: Path) -> None:
    async with window(project) as fake:
        capable(fake)
        for _ in range(2):
            async with agent(project, home) as ours:
                assert (await register(await invitation(home), fake))[0] == 200
                assert (await ours.ide("open_file", path="main.py"))["window"] == "vscode-abcdef123456"
            assert list((home / "ide").iterdir()) == []


@requirement("IDE-15")
async def test_two_windows_are_told_apart(project: Path, home: Path) -> None:
    (project / "pkg").mkdir()
    (project / "pkg" / "deep.py").write_text("")
    async with (
        agent(project, home) as ours,
        window(project, id="whole-window") as whole,
        window(project / "pkg", id="inner-window") as inner,
    ):
        told = await invitation(home)
        for fake in (capable(whole), capable(inner)):
            await register(told, fake)
        assert (await ours.ide("open_file", path="pkg/deep.py"))["window"] == "vscode-inner-window"
        assert (await ours.ide("open_file", path="main.py"))["window"] == "vscode-whole-window"
        chosen = await ours.ide("open_file", path="pkg/deep.py", window="vscode-whole-window")
        assert chosen["window"] == "vscode-whole-window"
        assert "inner-window" in await ours.refused("open_file", path="main.py", window="nobody")


@requirement("IDE-15")
async def test_what_happens_in_a_window_reaches_those_who_subscribed(project: Path, home: Path) -> None:
    async with mcp_server(project.parent) as pipe, window(project.parent) as fake:
        capable(fake)
        await pipe.open()
        await pipe.ask("resources/subscribe", {"uri": "ide://selection"})
        told = await invitation(project.parent / "home")
        await register(told, fake)
        assert await updated(pipe) == "ide://selection", "a window has come"
        read = await pipe.ask("resources/read", {"uri": "ide://selection"})
        assert "picked" in read["result"]["contents"][0]["text"]
        beat = {"connectionId": fake.connection_id, "events": ["selection", "editors"]}
        await post(told, "/ide/heartbeat", fake.secret, beat)
        assert await updated(pipe) == "ide://selection"
        assert not [each for each in pipe.others if "list_changed" in json.dumps(each)]
        await pipe.send(notification("notifications/cancelled", {"requestId": 0}))


async def updated(pipe: Pipe) -> str:
    """The next resource we are told of."""
    async with asyncio.timeout(20):
        while True:
            found = [each for each in pipe.others if each.get("method") == "notifications/resources/updated"]
            if found:
                pipe.others.remove(found[0])
                return found[0]["params"]["uri"]
            pipe.others.append(await pipe.read())


@requirement("IDE-17")
async def test_without_an_editor_no_port_is_opened(project: Path, home: Path) -> None:
    async with agent(project, home) as ours:
        await ours.call("file__read", path="main.py")
        await asyncio.sleep(2.5)  # longer than it takes to notice a folder
        assert not (home / "ide").exists()
