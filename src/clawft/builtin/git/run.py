"""One git process from its start to its end: what it says is bounded, and how it ends badly is an error of the tool."""

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
"""Gets what git says on stderr while it runs."""


class RunPurpose(Struct, frozen=True):
    """What one run of git is for."""

    trusted: bool
    write: bool = False
    protocols: Sequence[str] = ()
    users_own: bool = False
    """With the user's own configuration, where nothing is done but reading it."""

    @property
    def only_looks(self) -> bool:
        """In a repository that is not trusted git is told to start nothing, and no way to speak to others."""
        return not (self.trusted or self.write or self.protocols)


Hear = Callable[[bytes], bool]
"""Gets what git says on stdout as it comes. True: that is enough."""


class GitOutput(Struct, frozen=True):
    code: int
    out: bytes
    """Nothing if somebody heard it as it came."""
    err: str
    had_enough: bool = False


class RunLimits(Struct, frozen=True):
    """Of one run, and whose it is."""

    seconds: float
    output_bytes: int
    error_bytes: int
    turn: Turn
    memory_bytes: int = 0
    """0: as much as it likes."""


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
    """Run to the end, or until who hears it has enough. ExecutionFailed at the deadline, or if there is more output
    than the bound and nobody hears it.
    """
    heard = _Heard(limits, listen)
    async with place(limits.turn, limits.seconds) as seconds:
        start = ProcessStart(
            argv,
            folder,
            env,
            seconds,
            stdin,
            tied=False,  # who is: `GitProgram.tied`
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
        """Whether it is too much: then none of it counts."""
        if len(self.out) + len(data) > self._most:
            return True
        self.out += data
        return False

    def stderr(self, data: bytes) -> None:
        self.err.add(data)
        if self._listen is not None:
            self._listen(data)
