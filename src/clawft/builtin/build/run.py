"""One run of a builder: its lines go to a parser, a log and the result, which is shortened in the end."""

import asyncio
from enum import Enum
from typing import Protocol

import msgspec

from clawft.builtin.build.child import BuilderExit, run_lines
from clawft.builtin.build.log import Log, keep_log
from clawft.builtin.build.output import RunOutput, noted
from clawft.builtin.build.report import BuildReport, summed
from clawft.builtin.build.shortening import fit_diagnostics, fit_tests, last_of
from clawft.builtin.process import ProcessStart
from clawft.errors import ToolError
from clawft.provider.context import ToolContext

MAX_HEARD_BYTES = 256 * 1024
"""Bytes kept of each stream during the run; a result shows less."""


class Keep(Enum):
    """Where a line goes, besides to the parser."""

    SHOWN = "into the result's text and the log"
    LOGGED = "into the log"
    DROPPED = "nowhere"


class OutputParser(Protocol):
    """Gets every line as it comes, and gives the report at the end. Must not raise."""

    def stdout(self, line: str) -> Keep: ...

    def stderr(self, line: str) -> Keep: ...

    def report(self, written: bytes | None) -> BuildReport:
        """`written` is the content of the report file, if the builder was told to write one."""
        ...


class RunRecord:
    """The lines of one run."""

    def __init__(self, parser: OutputParser) -> None:
        self.log = Log()
        self.out, self.err = Log(MAX_HEARD_BYTES), Log(MAX_HEARD_BYTES)
        self.parser = parser

    def stdout(self, line: str) -> None:
        self._keep(self.parser.stdout(line), line, self.out)

    def stderr(self, line: str) -> None:
        self._keep(self.parser.stderr(line), line, self.err)

    def _keep(self, where: Keep, line: str, text: Log) -> None:
        if where is not Keep.DROPPED:
            self.log.add(line)
        if where is Keep.SHOWN:
            text.add(line)


async def listen(start: ProcessStart, parser: OutputParser, secret: str = "") -> tuple[BuilderExit, RunRecord]:
    """Run to the end, with `secret` masked in all output. Raises OSError if it cannot be started."""
    record = RunRecord(parser)
    return await run_lines(start, record.stdout, record.stderr, secret), record


def output_of(
    start: ProcessStart, ended: BuilderExit, record: RunRecord, written: bytes | None = None
) -> tuple[RunOutput, bool]:
    """The result, and whether it is complete. Run it in a thread: a long report takes time."""
    report = record.parser.report(written)
    out, err = record.out.text(), record.err.text()
    tests = None if report.tests is None else summed(report.tests)
    output = RunOutput(
        success=ended.exit_code == 0 and not ended.timed_out,
        exit_code=ended.exit_code,
        stdout=last_of(out),
        stderr=last_of(err),
        diagnostics=fit_diagnostics(report.diagnostics),
        tests=None if tests is None else fit_tests(tests),
        timed_out=ended.timed_out,
        note=_deadline(start) if ended.timed_out else "",
    )
    return output, (output.stdout, output.stderr, output.diagnostics, output.tests) == (
        out,
        err,
        report.diagnostics,
        tests,
    )


async def with_log(told: RunOutput, ctx: ToolContext, name: str, log: Log) -> RunOutput:
    """The result with the path of the log. A log that cannot be written is only noted."""
    try:
        path = await asyncio.to_thread(keep_log, ctx.workspace, name, log)
    except ToolError as failed:
        return noted(told, f"not everything has room here, and the log could not be written: {failed.message}")
    return msgspec.structs.replace(noted(told, f"not everything has room here: file__read {path}"), log=path)


def _deadline(start: ProcessStart) -> str:
    return f"stopped at its deadline of {start.timeout_s:g} s; every process of the run was ended"
