"""The examples, run for real: as a process behind pipes, over HTTP, as an installed package."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from clawft.config.load import load
from clawft.link.http_in.server import HttpServer, of_asgi
from tests.docs.pages import ROOT
from tests.requirements import requirement
from tests.servers.pipe import PATIENCE_S, Pipe, call, modern_meta, request, text_of
from tests.servers.weft import STOP_S

EXAMPLES = ROOT / "examples"
PACKAGE = EXAMPLES / "provider_package"
STATELESS_ELICIT: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}


@asynccontextmanager
async def started(folder: Path, *argv: str, **environment: str) -> AsyncGenerator[Pipe]:
    """Python with these words, as an agent would start it; killed at the end if it still runs."""
    with (folder / "stderr").open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *argv,
            cwd=folder,
            env={**os.environ, "CLAWFT_HOME": str(folder / "home"), **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
    pipe = Pipe(process, folder)
    try:
        yield pipe
        assert await pipe.end() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.wait_for(process.wait(), STOP_S)
        await pipe.stdout.read()


@requirement("QUAL-14", "PROV-21")
@pytest.mark.slow
async def test_two_functions_are_a_server(tmp_path: Path) -> None:
    async with started(tmp_path, str(EXAMPLES / "two_functions.py")) as pipe:
        await pipe.open()
        listed = (await pipe.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["add", "shout"]
        await pipe.send(call(1, "add", {"a": 2, "b": 40}), call(2, "shout", {"text": "hello"}))
        assert (await pipe.answer(1))["result"]["structuredContent"] == {"result": 42}
        assert text_of(await pipe.answer(2)) == "HELLO!"


NAMES_A_SERVER = """
import os, sys
from pathlib import Path
from clawft import Gateway
from clawft.config.settings import Settings
told = Settings(Path(os.environ["CLAWFT_HOME"]), Path.cwd(), builtin=False, mcp_config=tuple(sys.argv[1:]))
Gateway(settings=told).run()
"""


@requirement("QUAL-14", "CONF-15")
@pytest.mark.slow
async def test_a_program_of_its_own_starts_the_servers_it_names_and_no_other(tmp_path: Path) -> None:
    """Those of the user's files, and of a workspace that it happens to run in, are not its business."""
    tiny = {"command": sys.executable, "args": [str(ROOT / "tests" / "servers" / "tiny.py")]}
    servers = tmp_path / "home" / "mcp_servers"
    servers.mkdir(parents=True)
    (servers / "users.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in tiny.items()))
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": tiny}}))
    for given, owners in (([], set[str]()), ([json.dumps({"mcpServers": {"own": tiny}})], {"own"})):
        async with started(tmp_path, "-c", NAMES_A_SERVER, *given) as pipe:
            await pipe.open()
            listed = (await pipe.ask("tools/list"))["result"]["tools"]
            assert {tool["name"].partition("__")[0] for tool in listed} == owners
            assert (tmp_path / "stderr").read_text() == ""


READS_STDIN = """
import select
from clawft import Gateway, tool
@tool
async def curious() -> str:
    select.select([0], [], [])
    return input()
Gateway(curious).run()
"""


@requirement("QUAL-14", "SHELL-15")
@pytest.mark.slow
async def test_who_else_reads_stdin_finds_its_end_and_not_the_next_request(tmp_path: Path) -> None:
    async with started(tmp_path, "-c", READS_STDIN) as pipe:
        await pipe.open()
        await pipe.send(call(1, "curious"))
        assert "EOFError" in text_of(await pipe.answer(1))
        assert (await pipe.ask("ping"))["result"] == {}


# ── asking, in both eras ─────────────────────────────────────────────────────────────────────────────────────────────

WISH = {"action": "accept", "content": {"size": "large", "gift": True}}


@requirement("QUAL-14", "RES-10")
@pytest.mark.slow
async def test_asking_in_the_handshake_era(tmp_path: Path) -> None:
    async with started(tmp_path, str(EXAMPLES / "asking.py")) as pipe:
        await pipe.open(elicitation={})
        await pipe.send(call(1, "order", {"tea": "sencha"}))
        question = await pipe.read()
        assert question["method"] == "elicitation/create"
        await pipe.send(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": WISH}).encode() + b"\n")
        assert text_of(await pipe.answer(1)) == "ordered: one large sencha, wrapped"


@requirement("QUAL-14", "RES-10")
@pytest.mark.slow
async def test_asking_in_the_stateless_era(tmp_path: Path) -> None:
    tea = {"name": "order", "arguments": {"tea": "sencha"}, "_meta": modern_meta(**STATELESS_ELICIT)}
    async with started(tmp_path, str(EXAMPLES / "asking.py")) as pipe:
        asked = (await pipe.ask("tools/call", tea))["result"]
        assert asked["resultType"] == "input_required"
        assert list(asked["inputRequests"]) == ["size"]
        again = {**tea, "requestState": asked["requestState"], "inputResponses": {"size": WISH}}
        assert text_of(await pipe.ask("tools/call", again)) == "ordered: one large sencha, wrapped"
        declined = {**tea, "inputResponses": {"size": {"action": "decline"}}}
        assert text_of(await pipe.ask("tools/call", declined)) == "nothing was ordered"


# ── mounted ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@requirement("QUAL-14")
async def test_mounted_serves_both_applications(home: Path) -> None:
    example = imported(EXAMPLES / "mounted.py")
    server = HttpServer(of_asgi(example.app))
    host, port = await server.start()
    body = json.loads(request(1, "tools/call", {"name": "stock", "arguments": {"item": "tea"}, "_meta": modern_meta()}))
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "stock"}
    try:
        async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession(f"http://{host}:{port}") as client:
            async with client.get("/") as page:
                assert await page.text() == "the application that was here before"
            async with client.post("/mcp", json=body, headers=headers) as answer:
                assert (await answer.json())["result"]["structuredContent"] == {"left": 21}
            async with client.post("/mcp", json=body, headers={**headers, "Host": "evil.example"}) as refused:
                assert refused.status == 421
    finally:
        await server.stop(1.0)
        await shut_down(example.app)
    assert b'"tool":"tools__stock"' in (home / "audit" / "audit.jsonl").read_bytes()


async def shut_down(app: Any) -> None:
    """The end of an ASGI server's life, as far as the application hears of it."""
    said: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.shutdown"}

    async def send(message: dict[str, str]) -> None:
        said.append(message["type"])

    await asyncio.wait_for(app({"type": "lifespan"}, receive, send), PATIENCE_S)
    assert said == ["lifespan.shutdown.complete"]


# ── the package ──────────────────────────────────────────────────────────────────────────────────────────────────────


def installed(folder: Path) -> str:
    """A PYTHONPATH on which the package is installed: what pip writes beside it is its metadata."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    metadata = folder / "site" / "clawft_notes-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    points = project["entry-points"]["clawft.providers"]
    lines = ["[clawft.providers]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return os.pathsep.join([str(metadata.parent), str(PACKAGE)])


@requirement("QUAL-14", "PROV-22", "PROV-04")
@pytest.mark.slow
async def test_the_package_is_offered_and_tells_what_changes(tmp_path: Path) -> None:
    async with started(tmp_path, "-m", "clawft", "mcp-server", PYTHONPATH=installed(tmp_path)) as pipe:
        await pipe.open()
        await pipe.send(call(1, "notes__keep", {"title": "milk", "text": "two bottles"}))
        assert text_of(await pipe.answer(1)) == "kept 'milk'"
        assert [news["method"] for news in pipe.others] == ["notifications/resources/list_changed"]
        read = await pipe.ask("resources/read", {"uri": "note:///milk"})
        assert read["result"]["contents"][0]["text"] == "two bottles"
        prompt = await pipe.ask("prompts/get", {"name": "notes__sum_up", "arguments": {"title": "milk"}})
        assert "two bottles" in prompt["result"]["messages"][0]["content"]["text"]
        reference = {"type": "ref/prompt", "name": "notes__sum_up"}
        asked = {"ref": reference, "argument": {"name": "title", "value": "mi"}}
        assert (await pipe.ask("completion/complete", asked))["result"]["completion"]["values"] == ["milk"]
        await pipe.send(call(2, "notes__drop", {"title": "eggs"}))
        assert (await pipe.answer(2))["result"]["isError"] is True


# ── configuration ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-14", "GUARD-14")
def test_the_configuration_example_is_loaded(home: Path, workspace: Path) -> None:
    (home / "config.toml").write_bytes((EXAMPLES / "config.toml").read_bytes())
    settings = load(home, workspace, "default").settings
    assert settings.deny == ("file__write",)
    assert settings.command_policy.allow == ("privilege",)
    assert settings.url_policy.schemes == ("https",)
    assert settings.result_limit == 32768


@requirement("QUAL-14", "AGENT-09")
@pytest.mark.slow
def test_a_scripted_model_greets(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    argv = ["-m", "clawft", "agent", "-p", "try it", "--scenario", str(EXAMPLES / "hello.toml")]
    done = subprocess.run(
        [sys.executable, *argv],
        cwd=tmp_path,
        env={**os.environ, "CLAWFT_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "[tool] file__list" in done.stdout
    assert "note.txt" in done.stdout
