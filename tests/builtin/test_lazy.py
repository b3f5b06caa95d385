"""Families that are listed without being loaded."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

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
