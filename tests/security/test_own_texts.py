"""Many of the largest texts that our own tools give, asked for at once: few are in memory at a time."""

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


@requirement("FILE-01", "QUAL-13")
@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (LINES, lambda id: call(id, "file__read", {"path": "big.txt"})),  # 214 MiB without the bound
        (FACES, lambda id: request(id, "resources/read", {"uri": URI})),  # 198 MiB
    ],
    ids=["file__read", "resources/read"],
)
async def test_many_large_texts_at_once_do_not_fill_the_memory(tmp_path: Path, text: str, asks: object) -> None:
    assert callable(asks)
    (tmp_path / "big.txt").write_text(text)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        await pipe.send(*(asks(id) for id in range(MANY)))
        for _ in range(MANY):
            assert "result" in await pipe.read()
        assert pipe.peak() < RSS_LIMIT
