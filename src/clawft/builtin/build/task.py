"""Runs a declared task."""

import asyncio
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from clawft.builtin.build.family import MANIFEST, BuildOutput, BuildSettings
from clawft.builtin.build.output import fields_of, noted
from clawft.builtin.build.run import listen, output_of, with_log
from clawft.builtin.build.run_place import OpenFolder, find_program, open_where
from clawft.builtin.build.runner import Runner, runner_named
from clawft.builtin.build.tasks import DeclaredTask
from clawft.builtin.cells import cell_for, worked_on
from clawft.builtin.command_places import Turn, place
from clawft.builtin.confine import check_regular
from clawft.builtin.process import ProcessStart, clear_environment, start_failures
from clawft.builtin.trust import ensure_trusted
from clawft.errors import ExecutionFailed
from clawft.provider.context import ToolContext
from clawft.provider.manifest import check_path, check_process, places
from clawft.sandbox.bounds import PathRule

MAX_REPORT_BYTES = 16 * 1024 * 1024


def environment(task: DeclaredTask, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that the manifest grants, and those of the task."""
    return {**clear_environment(environ, MANIFEST.permissions.env_vars), "NO_COLOR": "1", **task.env}


async def run_task(
    tool: str, name: str, task: DeclaredTask, timeout_s: int | None, ctx: ToolContext, settings: BuildSettings
) -> BuildOutput:
    """Raises ExecutionFailed or PermissionDenied if it may not or cannot run; a failing builder gives a result."""
    check_process(MANIFEST, tool)
    runner = runner_named(task.runner)
    where = await asyncio.to_thread(open_where, ctx.workspace, task.working_dir, tool)
    try:
        check_path(MANIFEST, tool, where.path, places(ctx.workspace))
        await ensure_trusted(tool, ctx.workspace.resolve(), ctx)  # whose file names what is run
        async with place(Turn(ctx.caller), timeout_s or task.timeout_s) as seconds:
            with _scratch() as scratch:
                run = _Run(name, task, runner, where, scratch, ctx.workspace)
                start = await asyncio.to_thread(_start, run, seconds, settings)
                return await _heard(run, start, ctx)
    finally:
        os.close(where.folder)


class _Run(Struct, frozen=True):
    """A task about to run, with its caller and folder, and a temporary folder for its report."""

    name: str
    task: DeclaredTask
    runner: Runner
    where: OpenFolder
    scratch: Path
    workspace: Path

    @property
    def report(self) -> Path:
        return self.scratch / self.runner.report


def _start(run: _Run, timeout_s: float, settings: BuildSettings) -> ProcessStart:
    """The start, in a cell that may write the report. Run it in a thread, as it searches programs."""
    env = environment(run.task)
    program = find_program(run.runner.programs, run.where.path, run.workspace, env["PATH"])
    if program is None:
        tried = f"nothing to run {run.task.runner} with: tried {', '.join(run.runner.programs)}"
        raise ExecutionFailed(f"{run.name}: {tried}", hint="install one of these")
    argv = [program, *run.runner.argv(run.task.target, run.task.args, str(run.report))]
    also = (*worked_on(run.where.path), PathRule(os.path.realpath(run.scratch), "write"))
    cell = cell_for(MANIFEST, settings.sandbox, run.workspace, argv, str(run.where.path), also=also)
    return ProcessStart(argv, run.where.folder, env, timeout_s, cell=cell)


async def _heard(run: _Run, start: ProcessStart, ctx: ToolContext) -> BuildOutput:
    name = run.name
    with start_failures(name, start.argv[0]):
        ended, heard = await listen(start, run.runner.parser(ctx.progress))
    written = await asyncio.to_thread(_read_report, run.report) if run.runner.report else None
    too_large = written is not None and len(written) > MAX_REPORT_BYTES
    output, is_whole = await asyncio.to_thread(output_of, start, ended, heard, None if too_large else written)
    if too_large:
        output = noted(output, f"its report has more than {MAX_REPORT_BYTES} bytes and was not read")
    if not is_whole:
        output = await with_log(output, ctx, f"build-{name}", heard.log)
    return BuildOutput(**fields_of(output), task=name)


def _read_report(file: Path) -> bytes | None:
    """The report; None if there is no regular file: the run may have put anything in its place."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as written:
            check_regular(os.fstat(descriptor).st_mode)
            return written.read(MAX_REPORT_BYTES + 1)
    except OSError:
        return None


@contextmanager
def _scratch() -> Generator[Path]:
    """A temporary folder for the report, outside the workspace."""
    import tempfile  # brings shutil and random; only where something is built

    with tempfile.TemporaryDirectory(prefix="weft-build-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
