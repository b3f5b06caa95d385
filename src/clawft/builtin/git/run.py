"""Runs one git process: its output is bounded, and a deadline is an error of the tool."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from clawft.builtin import process
from clawft.builtin.command_places import Turn, place
from clawft.builtin.process import ProcessStart, start_failures
from clawft.builtin.tail import Tail
from clawft.errors import ExecutionFailed
from clawft.sandbox.cell import Cell

PART_MAY_BE_DONE = "what it was to change may be changed, or a part of it: see git__status, and after a push the remote"

Listen = Callable[[bytes], None]
"""Called with git's stderr while it runs."""


class RunPurpose(Struct, frozen=True):
    """The purpose of one run of git."""

    trusted: bool
    write: bool = False
    protocols: Sequence[str] = ()
    users_own: bool = False
    """With the user's own configuration, in runs that only read it."""

    @property
    def only_looks(self) -> bool:
        """Whether the run starts no programs, connects nowhere and writes nothing: git is told so then."""
        return not (self.trusted or self.write or self.protocols)


Hear = Callable[[bytes], bool]
"""Called with git's stdout as it comes. True: that is enough."""


class GitOutput(Struct, frozen=True):
    code: int
    out: bytes
    """Empty if the output was passed on as it came."""
    err: str
    had_enough: bool = False


class RunLimits(Struct, frozen=True):
    """The limits of one run, and its caller's turn."""

    seconds: float
    output_bytes: int
    error_bytes: int
    turn: Turn
    memory_bytes: int = 0
    """0: no limit."""


async def run(  # noqa: PLR0913 - each is another side of one run
    argv: Sequence[str],
    *,
    tool: str,
    folder: str,
    env: Mapping[str, str],
    limits: RunLimits,
    stdin: bytes | None = None,
    listen: Listen | None = None,
    cell: Cell | None = None,
    hear: Hear | None = None,
) -> GitOutput:
    """Run to the end, or until `hear` has enough.

    Raises ExecutionFailed at the deadline, or for too much output without `hear`.
    """
    heard = _Heard(limits, listen)
    async with place(limits.turn, limits.seconds) as seconds:
        start = ProcessStart(
            argv,
            folder,
            env,
            seconds,
            stdin,
            tied=False,  # see `GitProgram.tied`
            cell=cell,
            memory_bytes=limits.memory_bytes,
        )
        with start_failures(tool, "git"):
            ended = await process.run(start, hear or heard.stdout, heard.stderr)
    if ended.had_enough and hear is None:
        raise ExecutionFailed(
            f"{tool}: git gave more than {limits.output_bytes} bytes",
            hint="ask for less: a path, a range, a smaller page",
        )
    if ended.timed_out:
        raise ExecutionFailed(f"{tool}: git took longer than {limits.seconds:g} s and was ended", hint=PART_MAY_BE_DONE)
    return GitOutput(ended.status, bytes(heard.out), heard.err.text(), ended.had_enough)


class _Heard:
    def __init__(self, limits: RunLimits, listen: Listen | None) -> None:
        self.out = bytearray()
        self.err = Tail(limits.error_bytes)
        self._most = limits.output_bytes
        self._listen = listen

    def stdout(self, data: bytes) -> bool:
        """Whether there is too much output, which then counts as none."""
        if len(self.out) + len(data) > self._most:
            return True
        self.out += data
        return False

    def stderr(self, data: bytes) -> None:
        self.err.add(data)
        if self._listen is not None:
            self._listen(data)
