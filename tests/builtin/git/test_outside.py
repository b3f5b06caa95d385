"""From outside: the command line has the same tools, behind the same guards."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builtin.git.plain import EMAIL, NAME, new, said, save
from tests.requirements import requirement

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(weft: list[str], workspace: Path, home: Path) -> Run:
    def run(*words: str, own: Path = home) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*weft, *words],
            cwd=workspace,
            env={**os.environ, "CLAWFT_HOME": str(own)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@requirement("GIT-01", "GIT-09", "test_git_status_tool_execute")
def test_status_by_the_command_line(run: Run, workspace: Path) -> None:
    new(workspace)
    (workspace / "a.txt").write_text("x\n")
    done = run("tools", "call", "git__status", "repo_path=.")
    assert (done.returncode, done.stderr) == (0, "")
    assert "a.txt" in done.stdout
    told = json.loads(run("tools", "call", "git_status", "repo_path=.", "--json").stdout)
    assert told["structuredContent"]["result"] == [{"path": "a.txt", "status": "untracked"}]


@requirement("GIT-01", "GIT-03")
def test_from_commit_to_log_by_the_command_line(run: Run, workspace: Path) -> None:
    new(workspace)
    (workspace / "a.txt").write_text("x\n")
    who = (f"author_name={NAME}", f"author_email={EMAIL}")
    assert run("tools", "call", "git__commit", "repo_path=.", "message=first", *who).returncode == 0
    assert said(workspace, "log", "--format=%an %s") == f"{NAME} first"
    done = run("tools", "call", "git__log", "repo_path=.", "revision=nope")
    assert done.returncode != 0
    assert "unknown revision 'nope'" in done.stdout + done.stderr


@requirement("GIT-12")
def test_a_way_out_is_refused_by_the_command_line(run: Run, workspace: Path) -> None:
    save(new(workspace / "r"), a_txt="x\n")
    done = run("tools", "call", "git__clone", "url=ext::sh -c evil", "target_path=x")
    assert done.returncode != 0
    assert "permission denied" in done.stdout + done.stderr
    assert [path.name for path in workspace.iterdir()] == ["r"]


@requirement("PLUG-09", "GIT-13", "QUAL-16", "F1-A01")
def test_the_family_is_imported_only_where_it_is_wanted() -> None:
    code = (
        "import sys, pathlib; from clawft.builtin import families\n"
        "families(pathlib.Path('.'), lambda agent, name: None, only=['file'])\n"
        "print('clawft.builtin.git' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def with_a_hook(repo: Path) -> Path:
    """A repository whose hook leaves a mark at each commit."""
    new(repo)
    (repo / "a.txt").write_text("x\n")
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho ran > .git/mark\n")
    hook.chmod(0o700)
    return repo / ".git" / "mark"


@pytest.mark.parametrize("trusted", [False, True])
@requirement("GIT-12", "GIT-03")
def test_hooks_run_where_the_user_trusts_the_folder(run: Run, workspace: Path, home: Path, trusted: bool) -> None:
    mark = with_a_hook(workspace)
    if trusted:
        (home / "trusted").write_text(f"{workspace.resolve()}\n")
        (home / "trusted").chmod(0o600)
    who = (f"author_name={NAME}", f"author_email={EMAIL}")
    assert run("tools", "call", "git__commit", "repo_path=.", "message=first", *who).returncode == 0
    assert mark.exists() is trusted


@requirement("GIT-12")
def test_a_list_inside_the_workspace_trusts_nothing(run: Run, workspace: Path, home: Path) -> None:
    mark = with_a_hook(workspace)
    inside = workspace / "home"
    inside.mkdir(mode=0o700)
    (inside / "trusted").write_text(f"{workspace.resolve()}\n")
    (inside / "trusted").chmod(0o600)
    who = (f"author_name={NAME}", f"author_email={EMAIL}")
    done = run("tools", "call", "git__commit", "repo_path=.", "message=first", 'paths=["a.txt"]', *who, own=inside)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()


@requirement("GIT-12", "CONF-01")
def test_hosts_and_local_repositories_are_settings(run: Run, workspace: Path, home: Path) -> None:
    save(new(workspace / "r"), a_txt="x\n")
    far = ("tools", "call", "git__clone", "url=https://git.example.invalid/x", "target_path=far")
    near = ("tools", "call", "git__clone", "url=r", "target_path=near")
    assert "may not use the network to reach 'git.example.invalid'" in run(*far).stderr
    (home / "config.toml").write_text('[git]\nhosts = ["*.example.invalid"]\nlocal = false\n')
    (home / "config.toml").chmod(0o600)
    assert "may not use the network" not in run(*far).stderr
    assert run(*near).returncode != 0
    (home / "config.toml").write_text('[git]\nvariables = ["not a name"]\n')
    assert "git.variables" in run(*near).stderr
