"""A repository in use: found, checked, and with a way to run git in it."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.command_places import Turn, place
from clawft.builtin.confine import real_path
from clawft.builtin.git.cell import CellSurroundings, cell_now, looks_without, surroundings_of
from clawft.builtin.git.failure import failed
from clawft.builtin.git.hostile_config import FIXED, ConfigFindings, GitWork, check, find, read_listing, untrusted
from clawft.builtin.git.kept_config import ConfigFiles, KeptConfig, can_be_kept, read_files
from clawft.builtin.git.one_at_a_time import Part, alone
from clawft.builtin.git.program import SHAPE, GitProgram, environment, program
from clawft.builtin.git.repository_paths import RepositoryPaths, check_contents, current_user, find_repository
from clawft.builtin.git.run import GitOutput, Hear, Listen, RunLimits, RunPurpose, run
from clawft.builtin.git.settings import GitSettings
from clawft.builtin.process import path_of, start_failures
from clawft.provider.context import ToolContext
from clawft.provider.manifest import check_path, places
from clawft.sandbox.bounds import is_within

RepoPath = Annotated[str, Meta(description="folder of the repository, relative to the workspace")]

MOST_REMEMBERED = 256
MOST_REMEMBERED_BYTES = 64 * 1024
"""How many configurations are remembered, and how long each may be."""
OF_WORK_TREES = "extensions.worktreeconfig"
NO_TREE = os.devnull
"""The work tree of a bare repository. By default git takes it from the configuration, which can name any folder."""
NOTHING = ConfigFindings({}, {})


class _CheckedConfig(Struct, frozen=True):
    findings: ConfigFindings
    kept: KeptConfig | None
    """The copy that git is given; None where it is given none."""


_known: dict[tuple[Path, ConfigFiles], _CheckedConfig] = {}


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
            try:
                await repo.prepare(work)
                yield repo
            finally:
                repo.leave()
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
        files = ConfigFiles() if trusted else read_files(repository, self.tool)
        return _Found(repository, trusted, git, surroundings_of(git.brief[0], workspace, self.settings), files)

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
    files: ConfigFiles


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
        self._kept: KeptConfig | None = None

    async def prepare(self, work: GitWork) -> None:
        """Check the repository's own configuration, unless the repository is trusted; results are cached."""
        if self.trusted:
            return
        files = self._found.files
        known = _known.get((self.place.common_dir, files))
        if known is None or not self._fits(known.kept):
            known = await self._read(files)
            _remember((self.place.common_dir, files), known)
        self._use(known.kept)
        self._findings = known.findings
        check(self.tool, self._findings, work)

    def _keeps(self) -> bool:
        return looks_without(self.git.settings) and can_be_kept()

    def _fits(self, kept: KeptConfig | None) -> bool:
        return kept.is_whole() if kept is not None and self._keeps() else (kept is not None) is self._keeps()

    def _use(self, kept: KeptConfig | None) -> None:
        if kept is not self._kept and kept is not None:
            self._kept = kept
            kept.enter()

    async def _read(self, files: ConfigFiles) -> _CheckedConfig:
        if not self._keeps():
            return _CheckedConfig(find(await self._keys()), None)
        with start_failures(self.tool, "git"):  # where there is no room for temporary files, say
            kept = KeptConfig(self.place.common_dir)
        self._use(kept)
        kept.put(files.shared)
        keys = await self._keys()
        if OF_WORK_TREES in keys:
            keys = await self._taken_in(kept, files.of_work_tree)
        return _CheckedConfig(find(keys), kept)

    async def _taken_in(self, kept: KeptConfig, of_work_tree: bytes) -> list[str]:
        """Make what a work tree has of its own part of the copy, so that git reads no other file; the keys then."""
        await self.ask("config", "--file", kept.file, "--unset-all", OF_WORK_TREES)
        kept.put(kept.content() + b"\n" + of_work_tree)
        keys = await self._keys()
        if OF_WORK_TREES in keys:
            raise untrusted(self.tool, f"its work tree sets '{OF_WORK_TREES}' again")
        return keys

    async def _keys(self) -> list[str]:
        return read_listing(await self.ask("config", "--list", "-z", "--show-scope", "--no-includes"))

    def leave(self) -> None:
        if self._kept is not None:
            self._kept.leave()

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
        if self._kept is not None and purpose.only_looks:
            where["GIT_COMMON_DIR"] = self._kept.folder
        locks = {} if purpose.write else {"GIT_OPTIONAL_LOCKS": "0"}
        return environment(
            self.git.settings,
            purpose,
            config=SHAPE if self.trusted else {**SHAPE, **FIXED, **self._findings.overridden},
            extra={**where, **locks, **extra},
        )


def _both(repository: RepositoryPaths) -> list[Path]:
    return [repository.top, repository.common_dir]


def _remember(key: tuple[Path, ConfigFiles], known: _CheckedConfig) -> None:
    if len(key[1].shared) + len(key[1].of_work_tree) > MOST_REMEMBERED_BYTES:
        return
    _forget(key)
    if len(_known) >= MOST_REMEMBERED:
        _forget(next(iter(_known)))
    if known.kept is not None:
        known.kept.is_remembered = True
    _known[key] = known


def _forget(key: tuple[Path, ConfigFiles]) -> None:
    before = _known.pop(key, None)
    if before is not None and before.kept is not None:
        before.kept.forget()
