"""Agents that would put themselves in charge: by our own folder, which their workspace holds, or by answers unasked."""

import json
from pathlib import Path

import pytest

from tests.builtin.git.plain import git
from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, mcp_server, modern_meta

pytestmark = pytest.mark.slow

CANARY = "canary-4711"
CAN_FILL: Json = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
YES: Json = {"action": "accept", "content": {"allow": True}}


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Our folder, in the workspace: somebody works in all of his home."""
    home = tmp_path / "home"
    (home / "tokens").mkdir(parents=True, mode=0o700)
    (home / "tokens" / "github.json").write_text(CANARY)
    (home / "gateway.token").write_text(CANARY)
    return home


async def answer(pipe: Pipe, tool: str, **arguments: object) -> str:
    return json.dumps(await pipe.ask("tools/call", {"name": tool, "arguments": arguments}))


@requirement("PLUG-04", "CONF-14")
@pytest.mark.parametrize("path", ["home/gateway.token", "home/tokens/github.json", "sub/../home/gateway.token", "link"])
async def test_our_own_folder_is_no_part_of_a_workspace_around_it(tmp_path: Path, ours: Path, path: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("home/gateway.token")
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        read = await answer(pipe, "file__read", path=path)
        written = await answer(pipe, "file__write", path=path, content="mine")
        resource = json.dumps(await pipe.ask("resources/read", {"uri": f"workspace:///{path}"}))
    assert "belongs to clawft itself" in read
    assert "belongs to clawft itself" in written
    assert CANARY not in read + resource
    assert (ours / "gateway.token").read_text() == CANARY


@requirement("POOL-17", "CONF-15")
@pytest.mark.parametrize("file", ["approvals.json", "mcp_servers/mine.toml", "config.toml", "trusted", "new/file"])
async def test_no_agent_writes_what_it_may_do(tmp_path: Path, ours: Path, file: str) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        said = await answer(pipe, "file__write", path=f"home/{file}", content="{}", create_dirs=True)
    assert "belongs to clawft itself" in said
    assert not (ours / file).exists()


@requirement("PLUG-04", "CONF-14")
async def test_nobody_lists_or_searches_it(tmp_path: Path, ours: Path) -> None:
    (ours / "logs").mkdir()
    (ours / "logs" / "test.log").write_text("what a build said")
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        for path in (".", "home"):
            listed = await answer(pipe, "file__list", path=path, recursive=True)
            assert "gateway.token" not in listed
            assert "github.json" not in listed
            assert CANARY not in await answer(pipe, "file__search", pattern=CANARY[:6], path=path)
        assert "what a build said" in await answer(pipe, "file__read", path="home/logs/test.log")


@requirement("PLUG-04", "CONF-14")
async def test_git_takes_nothing_out_of_it(tmp_path: Path, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=x")
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await answer(pipe, "git__add", repo_path=".", paths=["home"])
        await answer(pipe, "git__stash", repo_path=".", action="push", include_untracked=True, message="m")
    assert (ours / "gateway.token").read_text() == CANARY
    told = [git(tmp_path, *words, ok=False) for words in (["stash", "show", "-p", "-u"], ["diff", "--cached"])]
    assert CANARY.encode() not in b"".join(told)


@requirement("GUARD-13")
@pytest.mark.parametrize("key", ["trust", "weft_trust"])
async def test_an_answer_to_a_question_of_ours_that_nobody_asked_counts_for_nothing(tmp_path: Path, key: str) -> None:
    """The stateless era: whoever calls may bring answers along."""
    (tmp_path / ".clawft").mkdir()
    (tmp_path / ".clawft" / "tasks.toml").write_text('[tasks.unit]\nrunner = "pytest"\nkind = "test"\n')
    call: Json = {"name": "build__run", "arguments": {"task": "unit"}, "_meta": modern_meta(**CAN_FILL)}
    async with mcp_server(tmp_path) as pipe:
        first = await pipe.ask("tools/call", call)
        ahead = await pipe.ask("tools/call", {**call, "inputResponses": {key: YES}})
    assert list(first["result"]["inputRequests"]) == ["weft_trust"]
    assert ahead["result"]["resultType"] == "input_required"
