"""Many of the largest texts that our own tools give, asked for at once: few are in memory at a time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import call, mcp_server, request
from tests.servers.weft import RSS_LIMIT

pytestmark = pytest.mark.slow

MANY = 24
LINES = ("x" * 70 + "\n") * (4 * 1024 * 1024 // 71)
FACES = "\N{GRINNING FACE}" * (1024 * 1024 - 10)
URI = "workspace:///big.txt"


def by_tool(id: int) -> bytes:
    return call(id, "file__read", {"path": "big.txt"})


def as_resource(id: int) -> bytes:
    return request(id, "resources/read", {"uri": URI})


@requirement("FILE-01", "QUAL-13")
@pytest.mark.parametrize(("text", "asks"), [(LINES, by_tool), (FACES, as_resource)], ids=["file__read", "resources"])
async def test_many_large_texts_at_once_do_not_fill_the_memory(
    tmp_path: Path, text: str, asks: Callable[[int], bytes]
) -> None:
    """It took 214 and 198 MiB."""
    (tmp_path / "big.txt").write_text(text)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(*(asks(id) for id in range(MANY)))
        for _ in range(MANY):
            assert "result" in await pipe.read()
        assert pipe.peak() < RSS_LIMIT
