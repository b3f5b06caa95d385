"""The socket on which a serving weft reports its servers, and the search for such wefts.

It lies in a folder of the home that is closed to other users. One line asks, one document answers. It changes nothing:
a running weft is changed only by files of the user. A key lies beside it, as a server held by Landlock may connect to a
socket whose name it sees, but cannot read files in the home.
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
from clawft.store.private_files import PRIVATE_FILE, private_dir, write_private

if TYPE_CHECKING:
    from clawft.app.application import App

ANSWER_SECONDS = 5.0
OTHERS_SECONDS = 1.0
"""How long to wait for other wefts once one has answered: a stopped process never does."""
MAX_QUESTION_BYTES = 16 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
READ_BYTES = 64 * 1024
MAX_ASKING = 4
"""Connections at a time; further ones are closed."""
MAX_WEFTS = 100
"""How many sockets are looked at."""

PLACE_DIGITS = 16

FrontName = Literal["mcp-server", "gateway"]

log = logging.getLogger("clawft")


class StatusQuestion(Struct, frozen=True):
    here: str
    """The folder the person is in."""
    key: str = ""


class RunningWeft(Struct, frozen=True):
    """A serving weft and its servers."""

    pid: int
    front: FrontName
    workspace: str
    agent: str
    started: float
    given: str = ""
    """A digest of the servers from its command line, which may hold secrets."""
    servers: tuple[ServerRow, ...] = ()


class Wefts(Struct, frozen=True):
    """The wefts that answered, in the order they started, and the processes of the asked place that did not."""

    answering: tuple[RunningWeft, ...] = ()
    silent: tuple[int, ...] = ()


def mark_of_place(workspace: str, agent: str) -> str:
    """Part of a socket's name, so that the place of a silent weft is known."""
    return sha256(f"{workspace}\0{agent}".encode()).hexdigest()[:PLACE_DIGITS]


def mark_of(mcp_config: Sequence[str]) -> str:
    """A digest of `--mcp-config`, independent of the current folder; empty for none."""
    configs = [text if is_json(text) else str(Path(text).expanduser().absolute()) for text in mcp_config]
    return sha256("\0".join(configs).encode()).hexdigest() if configs else ""


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
        """Open the socket. If that fails, only the status is missing."""
        try:
            folder = private_dir(self._path.parent)
            _remove_abandoned(folder)
            write_private(key_beside(self._path), self._key.encode(), sync=False)
            self._server = await asyncio.start_unix_server(
                self._answer, sock=_listening(self._path), limit=MAX_QUESTION_BYTES
            )
        except (OSError, AttributeError, NotImplementedError) as failed:  # Windows has none
            log.info("weft servers status does not work for this process: %s", failed)

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
            log.debug("a status request was not answered: %s", failed)
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
    """The wefts of this home that answer, and those of this place, if one is named, that do not."""
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
    """The answer; None if nobody listens. Raises ValueError or BlockingIOError if somebody does but gives no answer."""
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
    """Remove sockets of killed processes, where nobody listens any more."""
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
    """Connect at once or fail: a process that does not accept connections is not waited for."""
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
    """A short path to the socket: the kernel takes about a hundred characters, and homes may have more."""
    if sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
