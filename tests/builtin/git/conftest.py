"""A repository in a workspace, and the tools on it."""

from pathlib import Path

import pytest

from clawft.builtin.git import GitSettings
from clawft.builtin.git.settings import PEOPLE
from tests.builtin.git.plain import GRANTED, Tools, new, save


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration and no name of the developer's own."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("HOME", str(own))
    for name in (*PEOPLE, "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repo(workspace: Path) -> Path:
    """`r` in the workspace: two commits, a file of three lines."""
    repo = new(workspace / "r")
    save(repo, "first", a_txt="one\ntwo\n", b_txt="b\n")
    save(repo, "second\n\nand its reason", a_txt="one\ntwo\nthree\n")
    return repo


@pytest.fixture
def tools(workspace: Path) -> Tools:
    return Tools(workspace)


@pytest.fixture
def trusting(workspace: Path) -> Tools:
    """The tools where a person approved every repository."""
    return Tools(workspace, GitSettings(trusted=lambda repository: True, granted=GRANTED))
