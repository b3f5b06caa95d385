"""Families that are listed without being loaded."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from clawft.builtin import lazy
from clawft.model import Tool
from clawft.provider.base import Provider
from tests.requirements import requirement


def offered(providers: list[Provider]) -> Mapping[str, list[Tool]]:
    return {provider.namespace: list(provider.list_tools()) for provider in providers}


@requirement("QUAL-16", "PLUG-09")
def test_the_file_says_what_the_code_says() -> None:
    assert lazy.FILE.read_bytes() == lazy.made(lazy.everything()), "run `python -m clawft.builtin.lazy`"


@requirement("QUAL-16")
def test_what_is_listed_without_loading_is_what_loading_gives() -> None:
    loaded = {provider.namespace: provider for provider in lazy.everything()}
    listed = offered(lazy.lazily(tuple(loaded), loaded.__getitem__))
    assert listed == offered(list(loaded.values()))


@requirement("QUAL-16", "WEB-01")
def test_a_tool_can_be_left_out() -> None:
    (web,) = lazy.lazily(["web"], lambda name: lazy.everything()[0], frozenset({"web__search"}))
    assert [tool.name for tool in web.list_tools()] == ["fetch"]


@requirement("QUAL-16")
def test_a_start_loads_no_family_that_nobody_calls(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from clawft.app import App; from clawft.config.settings import Settings; "
        f"home = pathlib.Path({str(tmp_path)!r}); App(Settings(home=home, workspace=home)); "
        "print([name for name in sys.modules if name.startswith('clawft.builtin.git')])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "[]"


class _Slow:
    """A family whose loading takes until it is told to go on, and fails the first time."""

    def __init__(self, *fails: bool) -> None:
        self.loads = 0
        self.go_on = threading.Event()
        self._fails = list(fails)

    def load(self, namespace: str) -> Provider:
        self.loads += 1
        assert self.go_on.wait(10)
        if self._fails and self._fails.pop():
            raise RuntimeError("a part is missing")
        return next(each for each in lazy.everything() if each.namespace == namespace)


@requirement("QUAL-16")
async def test_loading_keeps_nobody_else_waiting_and_happens_once() -> None:
    slow = _Slow()
    (family,) = lazy.lazily(["memory"], slow.load)
    calls = [asyncio.ensure_future(family.call_tool("list", {})) for _ in range(3)]
    await asyncio.sleep(0)
    calls.pop().cancel()
    slow.go_on.set()
    assert [result.is_error for result in await asyncio.gather(*calls)] == [False, False]
    assert slow.loads == 1


@requirement("QUAL-16")
async def test_a_family_that_could_not_be_loaded_is_tried_again() -> None:
    slow = _Slow(True)
    slow.go_on.set()
    (family,) = lazy.lazily(["memory"], slow.load)
    with pytest.raises(RuntimeError, match="a part is missing"):
        await family.call_tool("list", {})
    assert not (await family.call_tool("list", {})).is_error
