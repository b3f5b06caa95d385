"""Callers on a pipe whose messages are large where nobody looks, or who do not read: memory holds, all is noted."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import PATIENCE_S, Pipe, call, mcp_server, modern_meta, request
from tests.servers.weft import RSS_LIMIT

pytestmark = pytest.mark.slow

FAT = "x" * 1_000_000
MANY = 250
SLOW = {"token": "t", "seconds": 3}


def in_meta(number: int) -> bytes:
    return call(f"{number}", "probe__wait", SLOW, _meta={"fat": FAT})


def in_stateless_meta(number: int) -> bytes:
    return call(f"{number}", "probe__wait", SLOW, _meta=modern_meta(fat=FAT))


def in_batch(number: int) -> bytes:
    return b"[" + call(f"{number}", "probe__wait", {**SLOW, "token": FAT}).strip() + b"]\n"


async def push(pipe: Pipe, data: bytes, seconds: float = PATIENCE_S) -> bool:
    """Whether all of it was taken in time."""
    pipe.stdin.write(data)
    try:
        async with asyncio.timeout(seconds):
            await pipe.stdin.drain()
    except TimeoutError:
        return False
    return True


@requirement("QUAL-12")
@pytest.mark.parametrize(
    ("revision", "make"),
    [("2025-11-25", in_meta), ("", in_stateless_meta), ("2025-03-26", in_batch)],
    ids=["_meta", "stateless _meta", "batch"],
)
async def test_all_of_a_request_counts(tmp_path: Path, revision: str, make: Callable[[int], bytes]) -> None:
    """Each is within every bound of its own; a hundred in flight would be too much."""
    async with mcp_server(tmp_path) as pipe:
        if revision:
            await pipe.open(revision)
        reading = asyncio.create_task(pipe.stdout.read())
        for number in range(MANY):
            await push(pipe, make(number))
        assert pipe.peak() < RSS_LIMIT, f"{pipe.peak() // 1024**2} MiB"
        pipe.stdin.close()
        said = await reading
    assert b"busy" in said


@requirement("QUAL-12")
async def test_lists_that_nobody_reads_are_not_made(tmp_path: Path) -> None:
    """Thousands of requests come in one read; each answer is a thousand times as long."""
    async with mcp_server(tmp_path, longest=1024) as pipe:
        await pipe.open()
        await push(pipe, b"".join(request(number, "tools/list") for number in range(5_000)), 3)
        await asyncio.sleep(1)  # nothing tells us that they were read
        assert pipe.peak() < RSS_LIMIT, f"{pipe.peak() // 1024**2} MiB"
        pipe.process.kill()


@requirement("GUARD-11", "QUAL-12")
async def test_a_name_of_megabytes_takes_no_line_of_the_audit_away(tmp_path: Path) -> None:
    """Lines are written together: one that is too long must not keep its neighbours from being written."""
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(call("before", "probe__echo", {"token": "a"}), call("fat", "probe__" + FAT * 2, {}))
        refused = await pipe.answer("fat")
        assert len(json.dumps(refused)) < 1_000
        await pipe.is_well()
        assert await pipe.end() == 0
        noted = [json.loads(line) for file in (tmp_path / "home").rglob("*audit*") for line in _lines(file)]
    assert [note["tool"][:12] for note in noted] == ["probe__echo", "probe__xxxxx", "probe__echo"]


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.suffix == ".jsonl" else []
