"""A contender's process: started in a place of its own, measured from outside, stopped for certain."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.family import Family, bytes_read, cpu_ns, family, rss_mib

STOP_S = 3.0
TAIL_CHARS = 600
BYTECODE = Path(__file__).parents[1] / "out" / "bytecode"
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(BYTECODE)}
"""Every program finds its bytecode ready, as after an installation, whatever the shell we were started from says."""


class DidNotServe(Exception):
    """The contender did not start, fell silent or ended; the last it said on stderr is part of the message."""


class Process:
    """Runs for as long as the block. Pipes are for contenders that serve on stdin and stdout."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], folder: Path, *, pipes: bool) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__; a file never fills up as a pipe does
        self.began = time.perf_counter()
        self._popen = subprocess.Popen(
            list(argv),
            env={**os.environ, **COMPILED, **environment},
            cwd=folder,
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else self._stderr,
            stderr=self._stderr,
            bufsize=0,
            start_new_session=True,  # so that its children can be ended with it
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pipe_fds(self) -> tuple[int, int]:
        """Where to write its input, where to read its output."""
        if self._popen.stdin is None or self._popen.stdout is None:
            raise DidNotServe("started without pipes")
        return self._popen.stdin.fileno(), self._popen.stdout.fileno()

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    @property
    def family(self) -> Family:
        return family(self._popen.pid)

    def cpu_ns(self) -> int:
        """CPU of the contender and its helpers so far; upstream servers, and helpers that ended, are left out."""
        return sum(map(cpu_ns, self.family.own))

    def rss_mib(self) -> float:
        return sum(map(rss_mib, self.family.own))

    def upstream_bytes(self) -> int:
        """What its upstream servers took in so far."""
        return sum(map(bytes_read, self.family.upstreams))

    def stderr(self) -> str:
        """Everything it has said so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode(errors="replace")

    def lost(self, what: str) -> DidNotServe:
        return DidNotServe(f"{what}; stderr: …{self.stderr()[-TAIL_CHARS:].strip()}")

    def close_input(self) -> None:
        if self._popen.stdin is not None:
            self._popen.stdin.close()

    def ended_within(self, seconds: float) -> bool:
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """End of input, then SIGTERM, then SIGKILL to its whole group."""
        self.close_input()
        if self._popen.stdin is None or not self.ended_within(STOP_S):
            self._signal(signal.SIGTERM)
        if not self.ended_within(STOP_S):
            self._signal(signal.SIGKILL)
            self._popen.wait()
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        self._stderr.close()

    def _signal(self, number: signal.Signals) -> None:
        if self.running:
            os.killpg(self._popen.pid, number)
