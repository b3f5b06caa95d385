"""A word of megabytes in every place of every tool of ours: refused at once, and nobody else waits for it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, mcp_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SIZE = 2_800_000
BOUND_MB = 150
PLACES = {"path": "notes.txt", "file_path": "notes.txt", "repo_path": ".", "working_dir": "."}
OWN = ("file__", "shell__", "memory__", "web__", "git__", "cargo__", "build__", "rest__", "oauth2__", "ide__", "weft__")


def words(tool: Json) -> Iterator[str]:
    """Its arguments that are texts."""
    for name, schema in tool["inputSchema"].get("properties", {}).items():
        if "string" in {each.get("type") for each in (schema, *schema.get("anyOf", ()))}:
            yield name


def arguments(tool: Json, at: str, word: str) -> dict[str, Any]:
    needed = {name: PLACES.get(name, "x") for name in tool["inputSchema"].get("required", ())}
    return {**needed, at: word}


async def answered(pipe: Pipe, method: str, params: Json) -> str:
    """What an answer says; PATIENCE_S at most."""
    answer = await pipe.ask(method, params)
    return answer["error"]["message"] if "error" in answer else str(answer["result"])


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("word", ["/a", "../"])
async def test_a_path_of_megabytes_anywhere_holds_up_nobody(tmp_path: Path, word: str) -> None:
    """An editor is asked first: what it holds is looked for beneath the paths of later calls."""
    (tmp_path / "notes.txt").write_text("a note\n")
    long = word * (SIZE // len(word))
    async with asyncio.timeout(250), mcp_server(tmp_path) as pipe:
        await pipe.open()
        await answered(
            pipe, "tools/call", {"name": "ide__diagnostics", "arguments": {"path": "notes.txt", "wait_ms": 0}}
        )
        tools = [tool for tool in (await pipe.ask("tools/list"))["result"]["tools"] if tool["name"].startswith(OWN)]
        tried = [(tool, at) for tool in tools for at in words(tool)]
        for tool, at in tried:
            told = await answered(pipe, "tools/call", {"name": tool["name"], "arguments": arguments(tool, at, long)})
            assert len(told) < SIZE / 10, (tool["name"], at)
        assert len(tried) > 100
        assert pipe.peak() < BOUND_MB * 2**20


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("word", ["/a", "../", "\\"])
async def test_nor_does_one_in_any_other_request(tmp_path: Path, word: str) -> None:
    long = word * (SIZE // len(word))
    asked: list[tuple[str, Json]] = [
        (long, {}),
        ("tools/call", {"name": long, "arguments": {}}),
        ("tools/list", {"cursor": long}),
        ("resources/read", {"uri": long}),
        ("resources/read", {"uri": f"file:///{long}"}),
        ("resources/subscribe", {"uri": f"file:///{long}"}),
        ("prompts/get", {"name": long}),
        ("logging/setLevel", {"level": long}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": long}, "argument": {"name": "a", "value": "x"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": long}, "argument": {"name": "a", "value": ""}}),
    ]
    async with asyncio.timeout(100), mcp_server(tmp_path) as pipe:
        await pipe.open()
        for method, params in asked:
            await answered(pipe, method, params)
        await pipe.is_well()
        assert pipe.peak() < BOUND_MB * 2**20
