"""The tool `worktree`: lists, adds and removes work trees of a repository."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from clawft.builtin.git import argument_checks
from clawft.builtin.git.clone import target_of
from clawft.builtin.git.destructive_grant import ensure_granted
from clawft.builtin.git.log import commit_of
from clawft.builtin.git.page import counted, lines_of
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments

Action = Literal["list", "add", "remove"]


class Worktree(Struct, frozen=True, omit_defaults=True):
    path: str
    """Relative to the workspace; absolute if it lies outside."""
    head: str | None = None
    branch: str | None = None
    bare: bool = False
    locked: bool = False
    prunable: bool = False


class WorktreeResult(Struct, frozen=True):
    result: list[Worktree]

    def text(self) -> str:
        lines = [f"{each.path} {each.branch or 'detached'} {(each.head or '')[:12]}" for each in self.result]
        return lines_of(counted(len(lines), "work tree"), lines, None)


@partial_tool(alias="git_worktree", title="Git work trees", destructive=True, open_world=False)
async def worktree(
    git: Git,
    repo_path: RepoPath,
    action: Annotated[Action, Meta(description="a removed one loses what was not committed only with force")] = "list",
    path: Annotated[str, Meta(description="folder of the work tree, relative to the workspace")] = "",
    branch: Annotated[str, Meta(description="to check out in a new work tree; it is made if there is none")] = "",
    start: Annotated[str, Meta(description="where a branch that is made begins; HEAD if left out")] = "",
    force: Annotated[bool, Meta(description="remove it although it has changes")] = False,
) -> WorktreeResult:
    """List, add or remove work trees: further folders with other branches of the same repository."""
    if action != "list" and not path:
        raise InvalidArguments(f"{git.tool}: missing 'path'")
    root = git.ctx.workspace.resolve()
    place = await asyncio.to_thread(_place, git, path, action) if path else root
    name = argument_checks.ref_name(git.tool, "branch", branch) if branch else ""
    begin = argument_checks.revision(git.tool, "start", start) if start else "HEAD"
    async with git.open(repo_path) as repo:
        if action == "add":
            async with repo.alone():
                await _add(repo, place, name, begin)
        elif action == "remove":
            if force:
                await ensure_granted(git, "force", f"removes '{path}' with what was not committed in it")
            async with repo.alone():
                await repo.ask("worktree", "remove", *(["--force"] if force else []), str(place), write=True)
        listed = await repo.ask(
            "worktree", "list", "--porcelain", "-z", write=True
        )  # it tells where the real folder is
    return WorktreeResult([_relative(each, root) for each in parse_trees(listed)])


async def _add(repo: Repo, place: Path, name: str, begin: str) -> None:
    known = await repo.attempt("rev-parse", "--verify", "--quiet", f"refs/heads/{name}") if name else None
    commit = await commit_of(repo, begin)
    how = [str(place), name] if known and known.code == 0 else _new(place, name, commit)
    await repo.ask("worktree", "add", "--quiet", *how, write=True)


def parse_trees(said: bytes) -> list[Worktree]:
    """Parse `git worktree list --porcelain -z`: one record per tree, of lines `key value`."""
    records = (dict(_pair(line) for line in record.split("\0")) for record in decoded(said).split("\0\0") if record)
    return [
        Worktree(
            path=record["worktree"],
            head=record.get("HEAD"),
            branch=record["branch"].removeprefix("refs/heads/") if "branch" in record else None,
            bare="bare" in record,
            locked="locked" in record,
            prunable="prunable" in record,
        )
        for record in records
    ]


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(" ")
    return key, value


def _new(place: Path, name: str, commit: str) -> list[str]:
    return ["--no-track", "-b", name, str(place), commit] if name else ["--detach", str(place), commit]


def _place(git: Git, path: str, action: Action) -> Path:
    argument_checks.word(git.tool, "path", path)
    found = target_of(git, path, "path")
    if action == "add" and found.exists():
        raise ExecutionFailed(f"{git.tool}: '{path}' exists", hint="choose another path")
    return found


def _relative(tree: Worktree, root: Path) -> Worktree:
    if not Path(tree.path).is_relative_to(root):
        return tree
    return replace(tree, path=str(Path(tree.path).relative_to(root)))
