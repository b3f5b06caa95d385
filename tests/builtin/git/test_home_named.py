"""Where a message tells a person to write something, it names the file that is read, wherever CLAWFT_HOME put it."""

import re
from pathlib import Path

import pytest

from clawft.builtin.git import GitSettings, hostile_config
from clawft.builtin.git.failure import failed
from clawft.builtin.git.repository_paths import RepositoryPaths, check_contents
from clawft.builtin.git.run import GitOutput
from clawft.errors import PermissionDenied
from tests.builtin.git.plain import Tools, git
from tests.requirements import requirement

SOURCES = Path(hostile_config.__file__).parents[2]


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "moved"
    monkeypatch.setenv("CLAWFT_HOME", str(folder))
    return folder


@requirement("CONF-23")
@pytest.mark.parametrize("said", ["fatal: Out of memory, malloc failed", "fatal: Authentication failed for 'x'"])
def test_a_failure_names_the_list_that_is_read(moved: Path, said: str) -> None:
    assert str(moved / "trusted") in failed("fetch", GitOutput(128, b"", said)).hint


@requirement("CONF-23")
def test_a_refusal_names_the_list_that_is_read(moved: Path, workspace: Path, repo: Path) -> None:
    assert str(moved / "trusted") in hostile_config.untrusted("diff", "it is odd").hint
    place = RepositoryPaths(repo, repo / ".git", repo / ".git")
    with pytest.raises(PermissionDenied, match="another user") as refused:
        check_contents(place, workspace, "diff", repo.stat().st_uid + 1)
    assert str(moved / "trusted") in refused.value.hint


@requirement("CONF-23")
async def test_what_is_not_granted_names_the_settings_that_are_read(moved: Path, workspace: Path, repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "-b", "topic", str(workspace / "w"))
    with pytest.raises(PermissionDenied, match="nobody has allowed") as refused:
        await Tools(workspace, GitSettings())("worktree", repo_path="r", action="remove", path="w", force=True)
    assert str(moved / "config.toml") in refused.value.hint


@requirement("CONF-23")
def test_no_message_names_a_place_that_can_be_elsewhere() -> None:
    """Messages stand in quotes; what is told between three of them, or behind a #, is for those who read the code."""
    told = re.compile(r'"""[\s\S]*?"""|#.*')
    known = {"store/home.py", "builtin/oauth2.py"}  # what it is without CLAWFT_HOME, and a pattern of permissions
    naming = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if "~/.clawft" in told.sub("", file.read_text())
    }
    assert naming == known
