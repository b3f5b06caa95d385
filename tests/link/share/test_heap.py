"""Large messages keep their memory: asked for once, where the C library knows how."""

import asyncio
import subprocess
import sys

import pytest

from clawft.link import line_reader
from clawft.link.line_reader import LARGE_READ, LineReader
from tests.requirements import requirement

PROGRAM = """
import sys
from clawft.link.share import heap
if sys.argv[1] == "foreign":
    sys.platform = "win32"
heap.keep_large_blocks()
print("ctypes" in sys.modules)
"""


@requirement("QUAL-05")
async def test_only_a_large_read_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(line_reader, "_expect_large_lines", lambda: asked.append(1))
    taken: asyncio.Queue[object] = asyncio.Queue()
    reader = LineReader(taken.put_nowait)
    reader.data_received(b'{"small":1}\n')
    assert asked == []
    reader.data_received(b"x" * LARGE_READ)
    assert asked == [1]


@requirement("QUAL-05")
@pytest.mark.parametrize(("system", "loaded"), [("this", sys.platform == "linux"), ("foreign", False)])
def test_it_works_on_this_system_and_is_nothing_on_others(system: str, loaded: bool) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, system], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == str(loaded)
