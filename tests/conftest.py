"""Fixtures everyone needs."""

import gc
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no reason to fail: bounds on time are tested where they are promised.
settings.register_profile("house", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)  # `make check`: all of them are tried by `make test`
settings.load_profile("house")

# A suite that a shell runs in the background ignores Ctrl-C, and so would everything it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A crowd of a thousand clients needs as many files; most systems begin with 1,024 and allow far more.
if sys.platform != "win32":
    import resource

    _, MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are collected and stay to the end: nobody need look for garbage there, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts real processes may be in each other's way, and has a second try. The summary names who needed it."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh CLAWFT_HOME, set in the environment, so that no test reads or writes the developer's own."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("CLAWFT_HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty folder to work in, beside `home`, never inside it."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def weft() -> list[str]:
    """The command as argv, run from the sources under test rather than from whatever is on PATH."""
    return [sys.executable, "-m", "clawft"]
