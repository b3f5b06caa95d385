"""Where a serving weft is asked how its servers are, and how others find it.

A socket in a folder of the home that is closed to other users. One line asks, one document answers. It tells and does
nothing: whatever changes a running weft is a file that the person owns. A key lies beside it: a server that Landlock
holds reaches a socket by its name, which the kernel tells everybody, but reads nothing of the home.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from clawft.app.server_rows import ServerRow, server_rows
from clawft.config.places import is_json, running_folder
from clawft.store.home import PRIVATE_FILE, private_dir, write_private

if TYPE_CHECKING:
    from clawft.app.house import App

ANSWER_SECONDS = 5.0
OTHERS_SECONDS = 1.0
"""So long the others have, once one has answered: one that was stopped answers nobody."""
MAX_QUESTION_BYTES = 16 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
READ_BYTES = 64 * 1024
MAX_ASKING = 4
"""At a time; one more is sent away."""
MAX_WEFTS = 100
"""Looked at, of those that left a socket."""

PLACE_DIGITS = 16

FrontName = Literal["mcp-server", "gateway"]

log = logging.getLogger("clawft")


class StatusQuestion(Struct, frozen=True):
    here: str
    """Where the person is."""
    key: str = ""


class RunningWeft(Struct, frozen=True):
    """A weft that serves, and how its servers are."""

    pid: int
    front: FrontName
    workspace: str
    agent: str
    started: float
    given: str = ""
    """A mark of the servers that its command line brought; the words may hold secrets."""
    servers: tuple[ServerRow, ...] = ()


class Wefts(Struct, frozen=True):
    """Those that answered, in the order they began, and the processes that serve in the place asked for and did not."""

    answering: tuple[RunningWeft, ...] = ()
    silent: tuple[int, ...] = ()


def mark_of_place(workspace: str, agent: str) -> str:
    """Stands in the name of a socket: so one that says nothing is known to be of this place, or of another."""
    return sha256(f"{workspace}\0{agent}".encode()).hexdigest()[:PLACE_DIGITS]


def mark_of(mcp_config: Sequence[str]) -> str:
    """Stands for these words of `--mcp-config`, whatever folder they were typed in; empty for none."""
    whole = [text if is_json(text) else str(Path(text).expanduser().absolute()) for text in mcp_config]
    return sha256("\0".join(whole).encode()).hexdigest() if whole else ""


class StatusSocket:
    def __init__(self, app: App, front: FrontName) -> None:
        self._app = app
        self._front: FrontName = front
        self._started = time.time()
        self._asking = 0
        self._server: asyncio.Server | None = None
        place = mark_of_place(str(app.settings.workspace), app.settings.agent)
        name = f"{os.getpid()}-{os.urandom(4).hex()}-{place}.sock"
        self._path = running_folder(app.settings.home) / name
        self._key = os.urandom(16).hex()
        self._opening = asyncio.get_running_loop().create_task(self._open(), name="status socket")

    async def _open(self) -> None:
        """Nothing depends on it: where it cannot be had, nobody is told how our servers are."""
        try:
            folder = private_dir(self._path.parent)
            _remove_abandoned(folder)
            write_private(key_beside(self._path), self._key.encode(), sync=False)
            self._server = await asyncio.start_unix_server(
                self._answer, sock=_listening(self._path), limit=MAX_QUESTION_BYTES
            )
        except (OSError, AttributeError, NotImplementedError) as failed:  # Windows has none
            log.info("nobody can ask how our servers are: %s", failed)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._asking += 1
        try:
            if self._asking <= MAX_ASKING:
                async with asyncio.timeout(ANSWER_SECONDS):
                    question = msgspec.json.decode(await reader.readuntil(), type=StatusQuestion)
                    if compare_digest(question.key.encode(), self._key.encode()):
                        writer.write(msgspec.json.encode(await self._status(question)))
                        await writer.drain()
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError) as failed:
            log.debug("a question about our servers was not answered: %s", failed)
        finally:
            self._asking -= 1
            writer.close()

    async def _status(self, question: StatusQuestion) -> RunningWeft:
        settings = self._app.settings
        rows = await server_rows(self._app, Path(question.here))
        return RunningWeft(
            os.getpid(),
            self._front,
            str(settings.workspace),
            settings.agent,
            self._started,
            mark_of(settings.mcp_config),
            tuple(msgspec.structs.replace(row, weft=os.getpid()) for row in rows),
        )

    async def close(self) -> None:
        self._opening.cancel()
        await asyncio.gather(self._opening, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            _remove(self._path)


# ── finding them ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def running_wefts(home: Path, question: StatusQuestion, place: str = "") -> Wefts:
    """Those of this home that answer, and those of this place, if one is named, that listen and do not."""
    loop = asyncio.get_running_loop()
    asked = {loop.create_task(_ask(path, question)): path for path in _sockets(running_folder(home))}
    waiting, ends = set(asked), loop.time() + ANSWER_SECONDS
    while waiting:
        done, waiting = await asyncio.wait(waiting, timeout=ends - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            break
        if any(task.exception() is None and task.result() for task in done):
            ends = min(ends, loop.time() + OTHERS_SECONDS)
    for task in waiting:
        task.cancel()
    told = await asyncio.gather(*asked, return_exceptions=True)
    answers = sorted((each for each in told if isinstance(each, RunningWeft)), key=lambda weft: weft.started)
    silent = [path for path, each in zip(asked.values(), told, strict=True) if isinstance(each, BaseException)]
    return Wefts(tuple(answers), tuple(_pid(path) for path in silent if _place(path) == place))


async def _ask(path: Path, question: StatusQuestion) -> RunningWeft | None:
    """None if nobody listens there. Raises ValueError or BlockingIOError if somebody does, and says nothing of use."""
    try:
        keyed = msgspec.structs.replace(question, key=key_beside(path).read_text())
        reader, writer = await asyncio.open_unix_connection(sock=_connected(path))
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    try:
        writer.write(msgspec.json.encode(keyed) + b"\n")
        return msgspec.json.decode(await _read_all(reader), type=RunningWeft)
    except ConnectionError:  # it has just ended
        return None
    finally:
        writer.close()


def _pid(path: Path) -> int:
    return int(path.name.partition("-")[0])


def _place(path: Path) -> str:
    return path.stem.rpartition("-")[2]


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while chunk := await reader.read(READ_BYTES):
        answer += chunk
        if len(answer) > MAX_ANSWER_BYTES:
            raise ValueError(f"more than {MAX_ANSWER_BYTES} bytes about servers")
    return bytes(answer)


def _sockets(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.sock"))[:MAX_WEFTS]
    except OSError:
        return []


def _remove_abandoned(folder: Path) -> None:
    """Left by those that were killed: nobody listens there any more."""
    for path in _sockets(folder):
        try:
            _connected(path).close()
        except ConnectionRefusedError:
            _remove(path)
        except OSError:
            continue


def key_beside(path: Path) -> Path:
    return path.with_suffix(".key")


def _remove(path: Path) -> None:
    for each in (path, key_beside(path)):
        each.unlink(missing_ok=True)


def _listening(path: Path) -> socket.socket:
    ours = socket.socket(socket.AF_UNIX)
    try:
        with _reachable(path) as short:
            ours.bind(short)
        path.chmod(PRIVATE_FILE)
        ours.listen(MAX_ASKING)
    except OSError:
        ours.close()
        raise
    return ours


def _connected(path: Path) -> socket.socket:
    """At once or not at all: who does not take in those that wait is not waited for."""
    ours = socket.socket(socket.AF_UNIX)
    ours.setblocking(False)
    try:
        with _reachable(path) as short:
            ours.connect(short)
    except OSError:
        ours.close()
        raise
    return ours


@contextmanager
def _reachable(path: Path) -> Generator[str]:
    """A short path to this place: the kernel takes about a hundred characters, and homes may have more."""
    if sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
