"""The pure layers need neither a loop nor a network nor a process to be imported."""

import subprocess
import sys

import pytest

from tests.requirements import requirement

LOOK = """
import importlib, pkgutil, sys
for name in {names!r}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
        importlib.import_module(module.name)
print(*sorted({{"asyncio", "socket", "ssl", "subprocess", "aiohttp", "uvloop"}} & set(sys.modules)))
"""


@requirement("QUAL-04", "NFR-006", "AC-7")
@pytest.mark.parametrize("names", [["clawft.errors", "clawft.model"], ["clawft.wire"], ["clawft.catalog"]])
def test_importing_it_brings_nothing_that_touches_the_world(names: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-c", LOOK.format(names=names)], capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout.split() == []
