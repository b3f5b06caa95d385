"""The tool `clone`."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.autorun_refusal import refuse_autorun_folder
from clawft.builtin.confine import confined, resolve
from clawft.builtin.git import argument_checks
from clawft.builtin.git.address import RemoteAddress, check_address, read_address
from clawft.builtin.git.cell import cell_now, surroundings_of
from clawft.builtin.git.failure import failed
from clawft.builtin.git.hostile_config import FIXED
from clawft.builtin.git.log import head_of
from clawft.builtin.git.program import SHAPE, environment, program
from clawft.builtin.git.progress import GitProgress
from clawft.builtin.git.repo import Git
from clawft.builtin.git.repository_paths import check_contents, current_user, find_repository
from clawft.builtin.git.run import RunPurpose, run
from clawft.builtin.git.settings import DRAFT
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed
from clawft.provider.manifest import check_path, places


class CloneResult(Struct, frozen=True):
    path: str
    head_commit: str | None
    """None if the repository is empty."""

    def text(self) -> str:
        return f"cloned into {self.path}, at {self.head_commit or 'no commit: it is empty'}"


@partial_tool(alias="git_clone", title="Git clone", destructive=False)
async def clone(
    git: Git,
    url: Annotated[str, Meta(description="https or ssh address, or a repository inside the workspace")],
    target_path: Annotated[str, Meta(description="folder to make, relative to the workspace")],
    branch: Annotated[str, Meta(description="check out this branch or tag")] = "",
    depth: Annotated[int, Meta(ge=0, le=1_000_000, description="only the newest commits; 0 is all")] = 0,
) -> CloneResult:
    """Clone a repository into a new folder of the workspace. Submodules are not cloned."""
    address = read_address(git.tool, url)
    argument_checks.word(git.tool, "target_path", target_path)
    options = [f"--branch={argument_checks.ref_name(git.tool, 'branch', branch)}"] if branch else []
    options += [f"--depth={depth}"] if depth else []
    check_address(git.tool, address, git.settings.manifest(), local=git.settings.local)
    source = str(await asyncio.to_thread(local_source, git, address)) if address.protocol == "file" else url
    target = await asyncio.to_thread(_vacant, git, target_path)
    draft = target.workspace / f"{DRAFT}clone-{os.urandom(8).hex()}"
    try:
        await _clone(git, address, [*options, "--", source, str(draft)], trusted=target.trusted)
        path = await asyncio.to_thread(_put, git, draft, target_path)
    finally:
        await asyncio.to_thread(_remove, draft)
    async with git.open(path) as repo:
        return CloneResult(path, await head_of(repo))


class _Target(Struct, frozen=True):
    workspace: Path
    trusted: bool


async def _clone(git: Git, address: RemoteAddress, args: list[str], *, trusted: bool) -> None:
    """Clone into a temporary folder, so that the target appears complete or not at all."""
    how = [] if trusted else ["--template="]
    if address.protocol == "file":
        how.append("--no-local")  # copying files would also copy links and other things that lie there
    git_program = await asyncio.to_thread(program)
    known = await asyncio.to_thread(surroundings_of, git_program.brief[0], git.ctx.workspace, git.settings)
    purpose = RunPurpose(trusted, write=True, protocols=[address.protocol])
    cell = await cell_now(known, purpose, git.settings)
    ran = await run(
        [*(git_program.brief if cell else git_program.tied), "clone", "--progress", *how, *args],
        tool=git.tool,
        folder=str(git.ctx.workspace),
        env=environment(git.settings, purpose, config=SHAPE if trusted else {**SHAPE, **FIXED}),
        limits=git.limits(purpose),
        listen=GitProgress(git.ctx.progress).feed,
        cell=cell,
    )
    if ran.code != 0:
        raise failed(git.tool, ran)


def local_source(git: Git, address: RemoteAddress, base: Path | None = None) -> Path:
    """The real path of a repository in the workspace. Git will run in it, so it is checked like any other."""
    path = str(base / address.place) if base else address.place
    repository = find_repository(git.ctx.workspace, path, git.tool)
    if repository.top != resolve(git.ctx.workspace, path, git.tool):
        raise ExecutionFailed(f"{git.tool}: '{path}' is not the top of a repository")
    check_contents(repository, git.ctx.workspace, git.tool, current_user())
    return repository.top


def _vacant(git: Git, path: str) -> _Target:
    """The place of the clone. Raises ExecutionFailed if it is taken."""
    workspace = git.ctx.workspace
    check_path(git.settings.manifest(), git.tool, workspace.resolve(), places(workspace))
    target = target_of(git, path)
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise ExecutionFailed(f"{git.tool}: '{path}' exists and is not an empty folder", hint="choose another target")
    return _Target(workspace.resolve(), git.settings.trusted(target))


def target_of(git: Git, path: str, name: str = "target_path") -> Path:
    """The real path of the target; parents may be missing, links may not lead out."""
    try:
        with confined(git.ctx.workspace, path, git.tool) as found:
            path = found.relative
    except ExecutionFailed:
        pass  # a folder on the way is missing, and will be made
    workspace = git.ctx.workspace.resolve()
    target = Path(
        os.path.realpath(workspace / argument_checks.path(git.tool, name, argument_checks.word(git.tool, name, path)))
    )
    refuse_autorun_folder(git.tool, os.path.relpath(target, workspace))
    return target


def _put(git: Git, draft: Path, path: str) -> str:
    with confined(git.ctx.workspace, path, git.tool, create=True) as found:
        refuse_autorun_folder(git.tool, found.relative)
        os.rename(draft, found.name, dst_dir_fd=found.folder)
        return found.relative


def _remove(draft: Path) -> None:
    from clawft.sandbox.removal import remove  # only after a clone

    remove(draft)
