"""The shell family: runs a command in the workspace, without a shell; shell syntax is refused, with an alternative.

The command policy in the guard decides which commands may run. Here they run in a sandbox that shows them no secrets
and lets them write to the workspace and to caches.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from clawft.builtin.cells import cell_for, note_on_kept
from clawft.builtin.command_places import Turn, place
from clawft.builtin.command_words import CommandWord, check_globs, read_command
from clawft.builtin.confine import open_folder, real_path
from clawft.builtin.process import ProcessStart, clear_environment, path_of, run, start_failures
from clawft.builtin.tail import Tail
from clawft.errors import ExecutionFailed
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.provider.keeps import LAST
from clawft.provider.manifest import Manifest, Permissions, check_process

MAX_COMMAND_CHARS = 32_768
MAX_TIMEOUT_S = 3600
MAX_OUTPUT_BYTES = 256 * 1024
"""The end of each stream that is kept."""

MANIFEST = Manifest(
    id="com.clawft.plugin-shell",
    name="Shell Commands",
    permissions=Permissions(filesystem=("$WORKSPACE",), network=("*",), env_vars=("PATH", "HOME", "LANG"), shell=True),
)


class ShellSettings(Struct, frozen=True):
    sandbox: str = "auto"
    """The sandbox of a command: `auto`, `strict` (no home, no network), `require` or `off`."""


class CommandResult(Struct, frozen=True):
    exit_code: int
    """Negative: ended by that signal."""
    stdout: Annotated[str, LAST]
    stderr: Annotated[str, LAST]
    timed_out: bool = False
    truncated: bool = False


def tools_with(settings: ShellSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    return [(shell_tool(settings or ShellSettings()), True)]


def shell_tool(settings: ShellSettings) -> Callable[..., Any]:
    """`exec`, bound to these settings."""

    @tool(name="exec", alias="exec_shell", title="Run command")
    async def execute(
        command: Annotated[str, Meta(min_length=1, max_length=MAX_COMMAND_CHARS, description="program and arguments")],
        ctx: ToolContext,
        cwd: Annotated[str, Meta(description="folder to run in, relative to the workspace")] = ".",
        timeout_s: Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S)] = 120,
    ) -> CommandResult:
        """Run one program in the workspace and return its exit code and output.

        Quotes work as in a shell; pipes, redirects, variables, globs and `&&` do not (`bash -c '…'` has them). It may
        write to the workspace and to temporary files of its own; most of what lies outside is read-only to it. At the
        deadline the program and all it started are ended and the output so far is returned. Of each stream the last
        256 KB are kept.
        """
        check_process(MANIFEST, "exec")
        words = read_command(command)
        async with place(Turn(ctx.caller), timeout_s) as seconds:
            folder = await asyncio.to_thread(open_folder, ctx.workspace, real_path(cwd, "exec"), "exec")
            try:
                with start_failures("exec", f"'{words[0].text}'"):
                    start = await asyncio.to_thread(_start, words, folder, seconds, settings, ctx.workspace)
                    return await _finish(start)
            finally:
                os.close(folder)

    return execute


def _start(
    words: Sequence[CommandWord], folder: int, timeout_s: float, settings: ShellSettings, workspace: Path
) -> ProcessStart:
    check_globs(words, path_of(folder))
    env = clear_environment()
    found = [find_program(words[0].text, folder, env["PATH"]), *(each.text for each in words[1:])]
    cell = cell_for(MANIFEST, settings.sandbox, workspace, found, os.path.realpath(path_of(folder)))
    return ProcessStart(found, folder, env, timeout_s, cell=cell)


async def _finish(start: ProcessStart) -> CommandResult:
    out, err = Tail(MAX_OUTPUT_BYTES), Tail(MAX_OUTPUT_BYTES)
    ended = await run(start, out.add, err.add)
    complaints = err.text()
    note = "" if start.cell is None else note_on_kept(start.cell, complaints)
    return CommandResult(
        ended.status, out.text(), complaints + note, ended.timed_out, truncated=bool(out.lost or err.lost)
    )


def find_program(name: str, folder: int, path: str) -> str:
    """The program's path: from PATH, or, if it has a slash, relative to the folder of the command."""
    import shutil  # only where a command is run

    if os.sep in name:
        if not os.access(name, os.X_OK, dir_fd=folder):
            raise ExecutionFailed(f"exec: '{name}' does not exist or cannot be executed")
        return name
    found = shutil.which(name, path=path)
    if found is None:
        raise ExecutionFailed(f"exec: command not found: '{name}'", hint="is it installed and in PATH?")
    return found
