"""Those who change a repository take turns, in this weft and with every other one; readers never wait.

To stage and to commit are two steps on one index: what somebody else does between them would be in the commit. The turn
is a lock on a file of ours, which says whose it is, and one on a folder of the repository, for wefts with another home.
Both are free again however their holder ends.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Literal
from weakref import WeakValueDictionary

from clawft.errors import Busy, ExecutionFailed
from clawft.store.home import held, held_folder, home, open_plain, private_dir

Part = Literal["files", "remotes"]
"""What is changed: index, work tree and branches; or what is known of remotes, which may take minutes.

Who needs both takes the turn for remotes first.
"""

LOCKED: Mapping[Part, str] = {"files": ".", "remotes": "objects"}
"""The folder of the repository that is locked for each."""
FOLDER = "git-turns"
SLOTS = 4096
"""Files for all repositories there are. Two that share one wait for each other."""
SIGNATURE_BYTES = 8192

_queues: WeakValueDictionary[tuple[int, Path], asyncio.Lock] = WeakValueDictionary()
"""Of the calls in this process, for as long as there are any: they come in the order they asked."""


@asynccontextmanager
async def alone(tool: str, repository: Path, part: Part, seconds: float) -> AsyncGenerator[None]:
    """Nobody else changes this part meanwhile. ExecutionFailed, naming who does, if the turn does not come in time."""
    end = time.monotonic() + seconds
    file = await asyncio.to_thread(_file_of, repository, part)
    queue = _queues.setdefault((id(asyncio.get_running_loop()), file), asyncio.Lock())
    try:
        async with asyncio.timeout(seconds):
            await queue.acquire()
    except TimeoutError:
        raise _busy(tool, _signed(file), seconds) from None
    try:
        with ExitStack() as locks:
            turn = await _turn(tool, file, max(0.0, end - time.monotonic()), seconds)
            locks.callback(os.close, turn)
            for lock in await _everywhere(tool, repository / LOCKED[part], max(0.0, end - time.monotonic()), seconds):
                locks.callback(os.close, lock)
            _sign(turn, f"{tool} of process {os.getpid()} in '{repository}'")
            yield
    finally:
        queue.release()


async def _turn(tool: str, file: Path, left: float, seconds: float) -> int:
    try:
        return await held(file, left)
    except Busy:
        raise _busy(tool, _signed(file), seconds) from None
    except OSError as failure:
        raise ExecutionFailed(
            f"{tool}: no turn to change the repository can be had: {failure.strerror or failure}: '{file}'",
            hint="our own folder must be writable: weft doctor",
        ) from None


async def _everywhere(tool: str, folder: Path, left: float, seconds: float) -> list[int]:
    """Against wefts that do not see our file. Nothing where the folder is not there or cannot be locked."""
    try:
        return [await held_folder(folder, left)]
    except Busy:
        raise _busy(tool, "a weft with another home", seconds) from None
    except OSError:
        return []


def _file_of(repository: Path, part: Part) -> Path:
    slot = int.from_bytes(hashlib.sha256(os.fsencode(repository)).digest()[:8]) % SLOTS
    with suppress(OSError):  # the lock tells what is wrong
        private_dir(home() / FOLDER)
    return home() / FOLDER / f"{part}-{slot:03x}"


def _sign(turn: int, who: str) -> None:
    """For those who wait for us too long."""
    with suppress(OSError):  # a full disk: the lock is what counts
        os.ftruncate(turn, 0)
        os.pwrite(turn, who.encode("utf-8", "backslashreplace")[:SIGNATURE_BYTES], 0)


def _signed(file: Path) -> str:
    try:
        with open_plain(file) as opened:
            return opened.read(SIGNATURE_BYTES).decode("utf-8", "replace") or "another call"
    except OSError:
        return "another call"


def _busy(tool: str, who: str, seconds: float) -> ExecutionFailed:
    return ExecutionFailed(
        f"{tool}: the repository is busy: it is the turn of {who}, and we waited {seconds:g} s",
        hint="nothing was changed: try again when that has ended; those who only read need not wait",
    )
