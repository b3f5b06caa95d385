"""Runs cargo for a call: checks it, runs it, and makes the result."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from clawft.builtin.build.output import fields_of
from clawft.builtin.build.run import listen, output_of, with_log
from clawft.builtin.build.run_place import OpenFolder, find_above, find_program, highest, open_where
from clawft.builtin.build.shortening import first_of
from clawft.builtin.cargo.arguments import MANIFEST_PATH, WITH_JSON, argv_of, invalid
from clawft.builtin.cargo.cell import cargo_cell
from clawft.builtin.cargo.family import MANIFEST, Cargo, CargoOutput, CargoRequest
from clawft.builtin.cargo.parser import CargoParser
from clawft.builtin.command_places import Turn, place
from clawft.builtin.confine import resolve
from clawft.builtin.process import ProcessStart, clear_environment
from clawft.builtin.trust import ensure_trusted
from clawft.errors import ExecutionFailed, SpawnFailed
from clawft.provider.context import ToolContext
from clawft.provider.manifest import check_path, check_process, places

CARGO_TOML = "Cargo.toml"
RULES = (CARGO_TOML, ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
"""Files that affect what is run, in the folder of a crate and in every folder above it."""
MAX_MESSAGES_BYTES = 8 * 1024
"""Size of cargo's own messages in a result. `diagnostics` has the compiler's findings in a shorter form."""

Complete = Callable[[CargoRequest], CargoRequest]

ALWAYS_KEPT = ("PATH", "HOME")
FIXED = {
    "CARGO_TERM_COLOR": "never",
    "CARGO_TERM_PROGRESS_WHEN": "always",  # only the bar has the total
    "CARGO_TERM_PROGRESS_WIDTH": "80",
    "RUST_BACKTRACE": "0",
}


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of every run: those the manifest grants, and those that set the form of the output."""
    return {**clear_environment(environ, (*ALWAYS_KEPT, *MANIFEST.permissions.env_vars)), **FIXED}


async def run_cargo(
    cargo: Cargo, request: CargoRequest, ctx: ToolContext, complete: Complete | None = None
) -> CargoOutput:
    """Raises ExecutionFailed or PermissionDenied if it may not or cannot run; a failing cargo gives a result.

    `complete` adds to the request, in a thread, once it is certain that it may run.
    """
    tool = cargo.subcommand
    check_process(MANIFEST, tool)
    argv = argv_of(cargo)
    where = await asyncio.to_thread(open_where, ctx.workspace, request.working_dir, tool)
    try:
        argv, ruling = await asyncio.to_thread(with_manifest_inside, argv, where.path, ctx.workspace)
        await ensure_trusted(tool, ruling, ctx)
        async with place(Turn(ctx.caller), request.timeout_s) as seconds:
            request = await asyncio.to_thread(complete, request) if complete else request
            start = await asyncio.to_thread(_start, argv, where, ruling, request, ctx.workspace)
            parser = CargoParser(ctx.progress, json=tool in WITH_JSON)
            return await _run(replace(start, timeout_s=seconds), parser, request.secret, f"cargo-{tool}", ctx)
    finally:
        os.close(where.folder)


def with_manifest_inside(argv: Sequence[str], where: Path, workspace: Path) -> tuple[list[str], Path]:
    """The arguments, if cargo will find its manifest inside the workspace; and the folder that has to be trusted."""
    tool, known = argv[0], places(workspace)
    check_path(MANIFEST, tool, where, known)
    if argv.count(MANIFEST_PATH) > 1:
        raise invalid(f"{MANIFEST_PATH} is given twice")
    if MANIFEST_PATH in argv:
        at = argv.index(MANIFEST_PATH) + 1
        manifest = resolve(workspace, str(where / argv[at]), tool)
        argv = [*argv[:at], str(manifest), *argv[at + 1 :]]
    else:
        manifest = find_above(where, CARGO_TOML, workspace)
    if manifest is None:
        raise invalid(f"there is no {CARGO_TOML} in '{where}' or above it", "working_dir is the folder of a crate")
    check_path(MANIFEST, tool, manifest, known)
    return list(argv), highest((where, manifest.parent), RULES, workspace)


async def _run(start: ProcessStart, parser: CargoParser, secret: str, name: str, ctx: ToolContext) -> CargoOutput:
    try:
        ended, heard = await listen(start, parser, secret)
    except OSError as failure:
        raise cannot_start(failure.strerror or str(failure)) from None
    except SpawnFailed as refused:
        raise ExecutionFailed(f"failed to execute cargo: {refused.message}", hint=refused.hint) from None
    output, is_whole = await asyncio.to_thread(output_of, start, ended, heard)
    messages = first_of(parser.messages, MAX_MESSAGES_BYTES)
    if not is_whole or len(messages) < len(parser.messages):
        output = await with_log(output, ctx, name, heard.log)
    return CargoOutput(**fields_of(output), messages=messages)


def _start(
    argv: Sequence[str], where: OpenFolder, ruling: Path, request: CargoRequest, workspace: Path
) -> ProcessStart:
    env = {**environment(), **request.env}
    cargo = find_program(("cargo",), where.path, workspace, env["PATH"])
    if cargo is None:
        raise cannot_start("it is not on the PATH")
    cell = cargo_cell([cargo], where.path, ruling, request, workspace)
    return ProcessStart([cargo, argv[0], *request.more, *argv[1:]], where.folder, env, request.timeout_s, cell=cell)


def cannot_start(reason: str) -> ExecutionFailed:
    return ExecutionFailed(f"failed to execute cargo: {reason}", hint="install Rust, or add cargo to the PATH of weft")
