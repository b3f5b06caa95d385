"""The plain git command, as a person would use it: what the tools are compared with."""

import os
import subprocess
from pathlib import Path
from typing import Any

from clawft.builtin.git import GitSettings, git_tools
from clawft.model import CallToolResult
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore

PATIENCE_S = 60
NAME, EMAIL = "Ada", "ada@example.org"


def environment(**more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": NAME,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": NAME,
        "GIT_COMMITTER_EMAIL": EMAIL,
        "LC_ALL": "C.UTF-8",
        **more,
    }


def git(folder: Path, *args: str, stdin: bytes = b"", ok: bool = True, **more: str) -> bytes:
    """What plain git prints in `folder`."""
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *args],
        env=environment(**more),
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert not ok or done.returncode == 0, (args, done.stderr)
    return done.stdout


def said(folder: Path, *args: str) -> str:
    return git(folder, *args).decode().strip()


def new(folder: Path, *options: str) -> Path:
    """An empty repository."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    return folder


def save(repo: Path, message: str = "more", **files: str) -> str:
    """Write files (`a_txt` is a.txt), commit everything; the id of the commit."""
    for name, content in files.items():
        (repo / name.replace("_", ".")).write_text(content)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--allow-empty", "--message", message)
    return said(repo, "rev-parse", "HEAD")


GRANTED = ("push", "force")


class Tools:
    """`await tools("status", repo_path="r")`: the structured result, as a caller gets it."""

    def __init__(self, workspace: Path, settings: GitSettings | None = None) -> None:
        self.provider = FunctionProvider(
            "git", git_tools(settings or GitSettings(granted=GRANTED)), workspace=workspace, store=MemoryStore()
        )

    async def whole(self, name: str, /, **arguments: Any) -> CallToolResult:
        return await self.provider.call_tool(name, arguments)

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        return (await self.whole(name, **arguments)).structured_content


def fingerprint(folder: Path) -> dict[str, bytes]:
    """Every file below, to see that nothing changed."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return b"link " + os.fsencode(os.readlink(path))
    return path.read_bytes() if path.is_file() else b"folder"
