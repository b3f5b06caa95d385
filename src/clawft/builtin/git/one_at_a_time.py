"""Locks a repository while it is changed, against calls in this weft and in others; readers never wait.

Staging and committing are two steps on one index: what another call stages in between would be in the commit. A turn is
a lock on a file of ours, which names its holder, and one on a folder of the repository, for wefts with another home.
Both locks are released however their holder ends.
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
from clawft.store.file_locks import held, held_folder
from clawft.store.home import home
from clawft.store.private_files import open_plain, private_dir

Part = Literal["files", "remotes"]
"""The part that is locked: index, work tree and branches; or the state of remotes, which may take minutes.

A call that needs both locks the remotes first.
"""

LOCKED: Mapping[Part, str] = {"files": ".", "remotes": "objects"}
"""Part → the folder of the repository that is locked for it."""
FOLDER = "git-turns"
SLOTS = 4096
"""How many lock files there are for all repositories; two that share one wait for each other."""
SIGNATURE_BYTES = 8192

_queues: WeakValueDictionary[tuple[int, Path], asyncio.Lock] = WeakValueDictionary()
"""The locks that queue the calls of this process in the order they asked; kept while any call uses them."""


@asynccontextmanager
async def alone(tool: str, repository: Path, part: Part, seconds: float) -> AsyncGenerator[None]:
    """Hold the lock on this part. Raises ExecutionFailed, naming the holder, if it does not come free in time."""
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
    """Lock the folder, against wefts that do not see our file; no lock if it is missing or cannot be locked."""
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
    """Write who holds the lock, for the error of those who wait too long."""
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
