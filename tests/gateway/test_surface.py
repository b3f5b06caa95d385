"""The search surface: few tools are listed, all can be found and called, and every guard still stands before them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clawft.app import App
from clawft.catalog.search import Index
from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.surface import FINDERS, Surface, SurfaceForm
from clawft.config.settings import Settings
from clawft.errors import ToolNotFound
from clawft.gateway.offer import indexes
from clawft.gateway.offer.indexes import Indexes
from clawft.model import Caller, Grant
from tests.catalog import recall
from tests.delegate.support import scripted_api
from tests.requirements import requirement
from tests.servers.pipe import Pipe, call, cancelled, mcp_server, modern_meta, request, text_of


def app_with(home: Path, workspace: Path, form: SurfaceForm, **more: Any) -> App:
    return App(Settings(home=home, workspace=workspace, surface=Surface(form, **more)), outside=False)


def listed(app: App) -> set[str]:
    return {entry.canonical for entry in app.gateway.tools.listed(app.caller)}


async def asked(app: App, tool: str, /, caller: Caller | None = None, **given: Any) -> tuple[bool, Any]:
    reply = await app.gateway.call(caller or app.caller, tool, json.dumps(given).encode())
    result = json.loads(reply.result)
    return reply.is_error, result.get("structuredContent") or result["content"][0]["text"]


async def test_only_the_pair_and_what_is_pinned_is_listed(home: Path, workspace: Path) -> None:
    assert listed(app_with(home, workspace, SurfaceForm.SEARCH)) == FINDERS
    pinned = app_with(home, workspace, SurfaceForm.SEARCH, pinned=("git__*",))
    assert {"git__status", *FINDERS} <= listed(pinned)
    assert "file__read" not in listed(pinned)


async def test_auto_searches_only_where_the_list_would_be_too_long(home: Path, workspace: Path) -> None:
    assert not listed(app_with(home, workspace, SurfaceForm.AUTO, tokens=1_000_000)) & FINDERS
    assert listed(app_with(home, workspace, SurfaceForm.AUTO, tokens=100)) == FINDERS
    assert not listed(app_with(home, workspace, SurfaceForm.FULL)) & FINDERS


@requirement("GUARD-06")
@pytest.mark.parametrize("form", [SurfaceForm.SEARCH, SurfaceForm.AUTO])
@pytest.mark.parametrize("allowed", [("file__read", "git__log"), ("file__read", "git__log", "weft__search_tools")])
async def test_who_may_not_use_the_pair_is_listed_everything(
    home: Path, workspace: Path, form: SurfaceForm, allowed: tuple[str, ...]
) -> None:
    tools = app_with(home, workspace, form, tokens=10).gateway.tools
    listed = {entry.canonical for entry in tools.listed(Caller(grant=Grant(allowed)))}
    assert listed == {"file__read", "git__log"}


async def test_without_built_ins_the_pair_is_still_there(home: Path, workspace: Path) -> None:
    settings = Settings(home=home, workspace=workspace, builtin=False, surface=Surface(SurfaceForm.SEARCH))
    assert listed(App(settings, outside=False)) == FINDERS


async def test_a_tool_is_found_with_its_schema_and_called(home: Path, workspace: Path) -> None:
    (workspace / "note.txt").write_text("hello")
    app = app_with(home, workspace, SurfaceForm.SEARCH)
    _, found = await asked(app, "weft__search_tools", query="read a text file", limit=3)
    assert len(found["tools"]) == 3
    assert found["tools"][0]["name"] == "file__read"
    assert "path" in found["tools"][0]["inputSchema"]["properties"]
    assert await asked(app, "weft__call_tool", name="file__read", arguments={"path": "note.txt"}) == (False, "hello")


async def test_what_is_hidden_is_neither_found_nor_called(home: Path, workspace: Path) -> None:
    app = app_with(home, workspace, SurfaceForm.SEARCH)
    blind = Caller(grant=Grant(deny=("file__read",)))
    _, found = await asked(app, "weft__search_tools", blind, query="read a text file", limit=20)
    assert "file__read" not in {tool["name"] for tool in found["tools"]}
    is_error, said = await asked(app, "weft__call_tool", blind, name="file__read", arguments={"path": "x"})
    assert is_error
    assert said.startswith("unknown tool: file__read")
    with pytest.raises(ToolNotFound):
        await app.gateway.call(blind, "file__read", b"{}")


async def test_rules_judge_the_inner_call(home: Path, workspace: Path) -> None:
    app = app_with(home, workspace, SurfaceForm.SEARCH)
    given = {"command": "rm -rf /"}
    is_error, said = await asked(app, "weft__call_tool", name="shell__exec", arguments=given)
    assert is_error
    assert "destroy-root" in said


async def test_the_pair_does_not_call_itself(home: Path, workspace: Path) -> None:
    app = app_with(home, workspace, SurfaceForm.SEARCH)
    for name in ("weft__call_tool", "mcp__weft__call_tool", "mcp:weft:call_tool"):
        is_error, said = await asked(app, "weft__call_tool", name=name, arguments={"name": name})
        assert is_error, name
        assert "directly" in said


async def test_an_unknown_tool_names_the_nearest(home: Path, workspace: Path) -> None:
    is_error, said = await asked(app_with(home, workspace, SurfaceForm.SEARCH), "weft__call_tool", name="git_commits")
    assert is_error
    assert "git__commit" in said


async def test_people_who_see_the_same_share_one_index(
    home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a tenth of a second for a thousand tools, in which nobody else is answered."""
    made: list[int] = []
    make = Index.__init__

    def counted(index: Index, entries: Sequence[CatalogEntry]) -> None:
        made.append(len(entries))
        make(index, entries)

    monkeypatch.setattr(Index, "__init__", counted)
    app = app_with(home, workspace, SurfaceForm.SEARCH)
    few = Grant(("git__*", "weft__*"))
    people = [Caller(f"person-{number}", grant=few if number % 2 else Grant()) for number in range(20)]
    for _ in range(2):
        for person in people:
            _, found = await asked(app, "weft__search_tools", person, query="read a text file", limit=20)
            names = {tool["name"] for tool in found["tools"]}
            assert ("file__read" in names) is (person.grant is not few)
    assert len(made) == 2


async def test_no_more_indexes_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "KEPT_TOOLS", 10)
    entries = recall.entries()
    kept, made = Indexes(), list[int]()

    def look(first: int) -> Sequence[CatalogEntry]:
        made.append(first)
        return entries[first : first + 3]

    for first in (0, 1, 2, 3, 4, 4, 0, 4):
        kept.of((Grant(), "", str(first), ""), partial(look, first))
    assert made == [0, 1, 2, 3, 4, 0]


# ── over the wire ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_any_client_finds_and_calls(tmp_path: Path, era: str) -> None:
    meta: Mapping[str, Any] = {} if era == "handshake" else {"_meta": modern_meta()}
    async with mcp_server(tmp_path, "--surface", "search") as pipe:
        if era == "handshake":
            await pipe.open()
        tools = (await pipe.ask("tools/list", meta))["result"]["tools"]
        assert {tool["name"] for tool in tools} == FINDERS
        await pipe.send(call(1, "weft__search_tools", {"query": "echo a token back"}, **meta))
        assert "probe__echo" in text_of(await pipe.answer(1))
        inner = {"name": "probe__echo", "arguments": {"token": "xyz"}}
        await pipe.send(call(2, "weft__call_tool", inner, **meta))
        assert "xyz" in text_of(await pipe.answer(2))


DELEGATED = """
[[turns]]
text = "I will look."
calls = [{ tool = "probe__echo", input = { token = "abc" } }]
[[turns]]
when = "abc"
text = "The token came back."
"""


def configured(folder: Path, url: str) -> None:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    table = f'[delegation]\nopenai_enabled = true\nopenai_model = "m"\nopenai_url = "{url}/v1"\n'
    (home / "config.toml").write_text(table)


async def delegated(pipe: Pipe, **meta: Any) -> Any:
    given = {"task": "check the token", "target": "openai"}
    await pipe.send(request(7, "tools/call", {"name": "delegate__task", "arguments": given, "_meta": meta}))
    return (await pipe.answer(7))["result"]


@pytest.mark.slow
@requirement("DELEG-20", "DELEG-21", "DELEG-14", "T-12.4", "NFR-003")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_task_is_delegated_with_progress_and_audited(tmp_path: Path, era: str) -> None:
    async with scripted_api(DELEGATED) as (url, _):
        configured(tmp_path, url)
        async with mcp_server(tmp_path) as pipe:
            if era == "handshake":
                await pipe.open()
            meta = {"progressToken": "p", **(modern_meta() if era == "stateless" else {})}
            result = await delegated(pipe, **meta)
            assert await pipe.end() == 0
    told = result["structuredContent"]
    assert (told["target"], told["output"], told["turns"], told["calls"]) == ("openai", "The token came back.", 2, 1)
    progress = [said["params"] for said in pipe.others if said["method"] == "notifications/progress"]
    assert [each["progress"] for each in progress] == sorted({each["progress"] for each in progress})
    assert any(each["message"].startswith("probe__echo ok") for each in progress)
    lines = [json.loads(line) for line in (tmp_path / "home" / "audit" / "audit.jsonl").read_text().splitlines()]
    inner = next(line for line in lines if line.get("tool") == "probe__echo")
    assert (inner["caller"], inner["client"]) == ("local/openai", "delegate/openai")


@pytest.mark.slow
async def test_a_delegated_task_can_be_cancelled(tmp_path: Path) -> None:
    script = '[[turns]]\nwait_ms = 600000\ntext = "too late"\n'
    async with scripted_api(script) as (url, requests):
        configured(tmp_path, url)
        async with mcp_server(tmp_path) as pipe:
            await pipe.open()
            given = {"task": "wait", "target": "openai"}
            params = {"name": "delegate__task", "arguments": given, "_meta": {"progressToken": 1}}
            await pipe.send(request(1, "tools/call", params))
            while not requests:
                await pipe.ask("ping")
            await pipe.send(cancelled(1))
            await pipe.is_well()
            assert await pipe.end() == 0
