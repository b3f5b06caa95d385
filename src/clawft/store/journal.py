"""An append-only file of JSON lines, each sealed to the one before it by a hash.

Several processes may append to one journal. A changed, removed, inserted or reordered line breaks the chain; a tail cut
off shows against the head file beside it. It proves what happened to the file, not who did it.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from clawft.store.home import locked, private_dir, write_private

GENESIS = "0" * 64
ROTATE_BYTES = 64 * 1024 * 1024
_TAIL_BYTES = 256 * 1024
_SEAL = b',"hash":"'


class _Link(Struct):
    seq: int
    prev: str
    hash: str


class Intact(Struct, frozen=True):
    lines: int


class Broken(Struct, frozen=True):
    """The first line that is not as it was written (0: the head file says that lines are missing at the end)."""

    file: str
    line: int
    reason: str


_link = msgspec.json.Decoder(_Link)
_head = msgspec.json.Decoder(_Link)


class Journal:
    def __init__(self, path: Path, rotate_bytes: int = ROTATE_BYTES) -> None:
        self._path = path
        self._rotate_bytes = rotate_bytes
        self._last = _Link(0, "", GENESIS)
        self._seen: tuple[int, int] | None = None

    def append(self, entries: Sequence[bytes]) -> None:
        """Write JSON objects as one batch, behind whatever others have written meanwhile."""
        private_dir(self._path.parent)
        with locked(self._path.with_suffix(".lock")):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab", 0) as file:
                self._catch_up(file.fileno())
                file.write(b"".join(self._seal(entry) for entry in entries))
                status = os.fstat(file.fileno())
                self._seen = (status.st_ino, status.st_size)
            write_private(self._path.with_suffix(".head"), msgspec.json.encode(self._last), sync=False)
            if status.st_size > self._rotate_bytes:
                self._rotate()

    def _catch_up(self, descriptor: int) -> None:
        """Continue from the real last line; what nobody else has touched need not be read again."""
        status = os.fstat(descriptor)
        if self._seen == (status.st_ino, status.st_size):
            return
        self._last = _last_link(self._path) or _read_head(self._path) or _Link(0, "", GENESIS)

    def _seal(self, entry: bytes) -> bytes:
        last = self._last
        body = b'{"seq":%d,' % (last.seq + 1) + entry[1:-1] + b',"prev":"%s"' % last.hash.encode()
        seal = hashlib.sha256(body).hexdigest()
        self._last = _Link(last.seq + 1, last.hash, seal)
        return body + _SEAL + seal.encode() + b'"}\n'

    def _rotate(self) -> None:
        """The chain goes on in a new file."""
        self._path.rename(self._path.with_name(f"{self._path.stem}-{self._last.seq:012d}{self._path.suffix}"))
        self._seen = None


def files(path: Path) -> list[Path]:
    """The journal's files, oldest first."""
    older = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"))
    return [*older, path] if path.exists() else older


def verify(path: Path) -> Intact | Broken:
    """Follow the chain from its first line to its last."""
    expected: _Link | None = None
    count = 0
    for file in files(path):
        for number, line in enumerate(_lines(file), 1):
            found = _read_sealed(line, expected)
            if isinstance(found, str):
                return Broken(file.name, number, found)
            expected = found
            count += 1
    head = _read_head(path)
    if head is not None and (expected is None or head.seq > expected.seq):
        return Broken(path.name, 0, f"lines after {expected.seq if expected else 0} are missing; there were {head.seq}")
    return Intact(count)


def _read_sealed(line: bytes, before: _Link | None) -> _Link | str:
    """The link of a line, or what is wrong with it."""
    body, found, seal = line.rpartition(_SEAL)
    try:
        link = _link.decode(line)
    except msgspec.DecodeError as wrong:
        return f"not a sealed line: {wrong}"
    if not found or hashlib.sha256(body).hexdigest() != link.hash or seal != link.hash.encode() + b'"}':
        return "the line was changed"
    if before is not None and (link.prev != before.hash or link.seq != before.seq + 1):
        return f"expected line {before.seq + 1} here, found {link.seq}: lines were removed, inserted or moved"
    if before is None and link.seq != 1:
        return f"the journal begins with line {link.seq}: lines before it are missing"
    return link


def tail(path: Path, count: int) -> list[Raw]:
    """The last lines, oldest first."""
    last: deque[Raw] = deque(maxlen=count)
    for file in files(path):
        last.extend(Raw(line) for line in _lines(file))
    return list(last)


def find(path: Path, id: str) -> Raw | None:
    """The line of this call, by its id or its number."""
    wanted = (b'"id":"%s"' % id.encode(), b'{"seq":%s,' % id.encode())
    for file in files(path):
        for line in _lines(file):
            if wanted[0] in line or line.startswith(wanted[1]):
                return Raw(line)
    return None


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        for line in stream:
            yield line.rstrip(b"\n")


def _last_link(path: Path) -> _Link | None:
    """The link of the last whole line. A torn one (a crash in the middle of a write) is closed off, and so shows."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        data = file.read()
        if data and not data.endswith(b"\n"):
            file.write(b"\n")
    for line in reversed(data.splitlines()):
        try:
            return _link.decode(line)
        except msgspec.DecodeError:
            continue
    return None


def _read_head(path: Path) -> _Link | None:
    try:
        return _head.decode(path.with_suffix(".head").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None
