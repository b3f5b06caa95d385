"""The tool `switch`: checks out a branch."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.log import commit_of, head_of
from clawft.builtin.git.repo import Git, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import InvalidArguments


class SwitchResult(Struct, frozen=True):
    branch: str | None
    """None if a commit is checked out and not a branch."""
    head: str | None

    def text(self) -> str:
        return f"{f'on {self.branch}' if self.branch else 'detached'}, at {(self.head or 'no commit')[:12]}"


@partial_tool(alias="git_switch", title="Git switch", destructive=False, idempotent=True, open_world=False)
async def switch(
    git: Git,
    repo_path: RepoPath,
    branch: Annotated[str, Meta(description="a branch; with `detach` any revision")],
    create: Annotated[bool, Meta(description="make the branch")] = False,
    start: Annotated[str, Meta(description="where a new branch begins; HEAD if left out")] = "",
    detach: Annotated[bool, Meta(description="check out a commit without being on a branch")] = False,
) -> SwitchResult:
    """Check out a branch, new or existing. Changes that would be lost stop it."""
    if create and detach:
        raise InvalidArguments(f"{git.tool}: 'create' and 'detach' exclude each other")
    if start and not create:
        raise InvalidArguments(f"{git.tool}: 'start' is for a new branch", hint="with create=true")
    name = (
        argument_checks.revision(git.tool, "branch", branch)
        if detach
        else argument_checks.ref_name(git.tool, "branch", branch)
    )
    begin = argument_checks.revision(git.tool, "start", start) if start else ""
    async with git.open(repo_path) as repo, repo.alone():
        if detach:
            how = ["--detach", await commit_of(repo, name)]
        elif create:
            how = ["--no-track", f"--create={name}", *([await commit_of(repo, begin)] if begin else [])]
        else:
            how = [name]
        await repo.ask("switch", "--quiet", "--no-guess", "--no-progress", "--no-recurse-submodules", *how, write=True)
        return SwitchResult(None if detach else name, await head_of(repo))
