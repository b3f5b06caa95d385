"""Descriptors of pipes are closed once: a second close by number may hit a file that somebody else has just opened."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.link.pipe_ends import handed_over
from tests import system
from tests.requirements import requirement
from tests.servers.weft import ROOT

TINY = ROOT / "tests" / "servers" / "tiny.py"
LIFE = """
import asyncio, os, sys, uvloop
from clawft.link.process import Launch
from clawft.link.stream import StreamLink

async def live():
    for _ in range(3):
        link = StreamLink(Launch(sys.executable, ("-S", sys.argv[1])))
        await link.open(lambda message, stream: None, lambda error: None)
        os.write(2, b"opened\\n")
        await link.close()

uvloop.run(live())
"""


@requirement("LINK-09", "POOL-22")
@pytest.mark.slow
def test_no_pipe_of_a_server_is_closed_twice(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    calls = tmp_path / "calls"
    traced = ["strace", "-f", "-e", "trace=close", "-o", str(calls)]
    ran = subprocess.run(
        [*traced, sys.executable, "-c", LIFE, str(TINY)], capture_output=True, timeout=60, check=True, text=True
    )
    assert ran.stderr.count("opened") == 3
    closed = calls.read_text()
    assert re.search(r"close\(\d+\) += 0", closed)
    assert re.findall(r"close\(\d+\) += -1 EBADF.*", closed) == []


@requirement("LINK-09")
def test_what_the_loop_of_python_gets_closes_itself() -> None:
    read, write = os.pipe()
    loop = asyncio.SelectorEventLoop()
    try:
        with open(write, "wb", 0) as end:
            assert handed_over(end, loop) is end
    finally:
        loop.close()
        os.close(read)
