"""A repository in use: found, checked, and with a way to run git in it."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.command_places import Turn, place
from clawft.builtin.confine import real_path
from clawft.builtin.git.cell import CellSurroundings, cell_now, surroundings_of
from clawft.builtin.git.failure import failed
from clawft.builtin.git.hostile_config import FIXED, ConfigFindings, GitWork, check, find, read_listing
from clawft.builtin.git.one_at_a_time import Part, alone
from clawft.builtin.git.program import SHAPE, GitProgram, environment, program
from clawft.builtin.git.repository_paths import RepositoryPaths, check_contents, current_user, find_repository
from clawft.builtin.git.run import GitOutput, Hear, Listen, RunLimits, RunPurpose, run
from clawft.builtin.git.settings import GitSettings
from clawft.builtin.process import path_of
from clawft.provider.context import ToolContext
from clawft.provider.manifest import check_path, places
from clawft.sandbox.bounds import is_within

RepoPath = Annotated[str, Meta(description="folder of the repository, relative to the workspace")]

MOST_REMEMBERED = 256
NO_TREE = os.devnull
"""The work tree of a bare repository. By default git takes it from the configuration, which can name any folder."""
NOTHING = ConfigFindings({}, {})

Stamp = tuple[tuple[int, ...] | None, ...]
_known: dict[RepositoryPaths, tuple[Stamp, ConfigFindings]] = {}


class Git(Struct, frozen=True):
    """The context of one call: its tool, its caller, and the settings."""

    tool: str
    settings: GitSettings
    ctx: ToolContext
    turn: Turn

    @asynccontextmanager
    async def open(self, path: str, work: GitWork = GitWork.LOOK) -> AsyncGenerator["Repo"]:
        """The repository around `path`, checked for this work. Raises a ToolError that says what is wrong."""
        async with place(self.turn, self.settings.bounds.seconds):  # finding it takes a place, too
            found = await asyncio.to_thread(self._find, path)
        # Opened here and not in the thread: that goes on when the call is cancelled, and would leave it open.
        folder = os.open(found.repository.top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            repo = Repo(self, found, path_of(folder))
            await repo.prepare(work)
            yield repo
        finally:
            os.close(folder)

    def _find(self, path: str) -> "_Found":
        workspace = self.ctx.workspace
        repository = find_repository(workspace, real_path(path, self.tool), self.tool)
        check_path(self.settings.manifest(), self.tool, repository.top, places(workspace))
        trusted = self._trusts(repository)
        if not trusted:
            check_contents(repository, workspace, self.tool, current_user())
        git = program()
        return _Found(
            repository, trusted, git, surroundings_of(git.brief[0], workspace, self.settings), _stamp(repository)
        )

    def _trusts(self, repository: RepositoryPaths) -> bool:
        asked = [repository.top] if repository.bare or repository.has_own_folder() else _both(repository)
        return all(self.settings.trusted(place) for place in asked)

    def limits(self, purpose: RunPurpose) -> RunLimits:
        bounds = self.settings.bounds
        seconds = bounds.network_seconds if purpose.protocols else bounds.seconds
        memory = 0 if purpose.trusted else bounds.memory_bytes
        return RunLimits(seconds, bounds.output_bytes, bounds.error_bytes, self.turn, memory)


class _Found(Struct, frozen=True):
    repository: RepositoryPaths
    trusted: bool
    program: GitProgram
    surroundings: CellSurroundings
    stamp: Stamp


class Repo:
    """Runs git in one repository; in an untrusted one with everything it could start switched off."""

    def __init__(self, git: Git, found: _Found, folder: str) -> None:
        self.git = git
        self.tool = git.tool
        self.place = found.repository
        self.trusted = found.trusted
        self._found = found
        self._folder = folder
        self._findings = NOTHING

    async def prepare(self, work: GitWork) -> None:
        """Check the repository's own configuration, unless the repository is trusted; results are cached."""
        if self.trusted:
            return
        known = _known.get(self.place)
        if known is None or known[0] != self._found.stamp:
            listing = await self.ask("config", "--list", "-z", "--show-scope", "--no-includes")
            known = (self._found.stamp, find(read_listing(listing)))
            self._remember(known)
        self._findings = known[1]
        check(self.tool, self._findings, work)

    def alone(self, part: Part = "files") -> AbstractAsyncContextManager[None]:
        """Lock a part of the repository to change it. Do not hold it while asking a person, nor lock the part again."""
        return alone(self.tool, self.place.common_dir, part, self.git.settings.bounds.turn_seconds)

    def is_ours(self, path: str) -> bool:
        """Whether the path is in our own folder, which git does not see in a cell."""
        return is_within(os.path.join(self.place.top, path), self._found.surroundings.around.state)

    async def ask(self, *args: str, stdin: bytes | None = None, write: bool = False) -> bytes:
        """The output of git; raises ExecutionFailed if it fails."""
        return self.check(await self.attempt(*args, stdin=stdin, write=write))

    def check(self, said: GitOutput) -> bytes:
        """The output, if git succeeded."""
        if said.code != 0:
            raise failed(self.tool, said)
        return said.out

    async def attempt(
        self,
        *args: str,
        stdin: bytes | None = None,
        write: bool = False,
        protocols: Sequence[str] = (),
        listen: Listen | None = None,
        extra: Mapping[str, str] | None = None,
        users_own: bool = False,
        hear: Hear | None = None,
    ) -> GitOutput:
        """Run git, whatever its exit code. `write`: it may change the index; else it only looks."""
        purpose = RunPurpose(self.trusted, write, protocols, users_own)
        cell = await cell_now(self._found.surroundings, purpose, self.git.settings)
        git = self._found.program
        argv = git.tied if cell is None and not purpose.only_looks else git.brief
        return await run(
            [*argv, *args],
            tool=self.tool,
            folder=self._folder,
            env=self._environment(purpose, extra or {}),
            limits=self.git.limits(purpose),
            stdin=stdin,
            listen=listen,
            cell=cell,
            hear=hear,
        )

    def _environment(self, purpose: RunPurpose, extra: Mapping[str, str]) -> dict[str, str]:
        place = self.place
        where = {"GIT_DIR": ".git" if place.has_own_folder() else str(place.git_dir), "GIT_WORK_TREE": "."}
        if place.bare:
            where = {"GIT_DIR": ".", "GIT_WORK_TREE": NO_TREE, "GIT_COMMON_DIR": str(place.common_dir)}
        locks = {} if purpose.write else {"GIT_OPTIONAL_LOCKS": "0"}
        return environment(
            self.git.settings,
            purpose,
            config=SHAPE if self.trusted else {**SHAPE, **FIXED, **self._findings.overridden},
            extra={**where, **locks, **extra},
        )

    def _remember(self, known: tuple[Stamp, ConfigFindings]) -> None:
        newest = max((each[0] for each in known[0] if each), default=0)
        if time.time_ns() - newest < self.git.settings.bounds.settled_seconds * 1e9:
            return
        if len(_known) >= MOST_REMEMBERED:
            _known.clear()
        _known[self.place] = known


def _both(repository: RepositoryPaths) -> list[Path]:
    return [repository.top, repository.common_dir]


def _stamp(repository: RepositoryPaths) -> Stamp:
    """Changes whenever the repository's own configuration does."""
    return tuple(_stat(file) for file in (repository.common_dir / "config", repository.git_dir / "config.worktree"))


def _stat(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino
