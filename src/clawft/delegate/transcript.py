"""The record of a run, written line by line as it happens, so that a run that was killed can be continued."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawft.delegate.events import Outcome
from clawft.delegate.loop import MAX_CONVERSATION
from clawft.delegate.turns import HistoryEntry, length_of
from clawft.errors import Busy, ClawftError, InvalidConfig
from clawft.store.file_locks import claimed
from clawft.store.private_files import PRIVATE_FILE, check_plain, open_plain, private_dir, write_all

MAX_KEPT = 200
"""Transcripts of one agent; the oldest go."""
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of a file; a larger one holds more than any conversation that could be continued."""
LEAST_ENTRY = 100
"""The least number of characters an entry counts for when it is read, so that empty entries are bounded as well."""
LAST = "last"
SUFFIX = ".jsonl"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags to open a file without following a link, and without waiting if it is a pipe."""


class TranscriptStart(Struct, frozen=True, tag="start"):
    id: str
    time: str
    about: dict[str, Any] = {}


_line = msgspec.json.Decoder(TranscriptStart | HistoryEntry | Outcome)


class Transcript:
    """One file, readable by its owner only and used by one run at a time. A line is written before the run goes on."""

    def __init__(self, file: Path) -> None:
        """Raises Busy if another run goes on with it."""
        self.id = file.name.removesuffix(SUFFIX)
        self.file = file
        private_dir(file.parent)
        self._descriptor = os.open(file, _NEW, PRIVATE_FILE)
        check_plain(self._descriptor, file)
        if not claimed(self._descriptor):
            os.close(self._descriptor)
            raise Busy(f"another weft is working on the task {self.id}", hint="wait until it ends, or start a new task")
        if _is_torn(file):
            write_all(self._descriptor, b"\n")

    @classmethod
    def begin(cls, folder: Path, about: Mapping[str, Any]) -> Transcript:
        _make_room(folder)
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
        begun = cls(folder / f"{name}{SUFFIX}")
        begun.keep(TranscriptStart(name, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), dict(about)))
        return begun

    def keep(self, line: TranscriptStart | HistoryEntry | Outcome) -> None:
        """Raises OSError, which names the file: it is another disk than that of the output that is full."""
        try:
            write_all(self._descriptor, msgspec.json.encode(line) + b"\n")
        except OSError as failed:
            raise OSError(failed.errno, failed.strerror, str(self.file)) from None

    def close(self) -> None:
        os.close(self._descriptor)


def history_of(file: Path) -> list[HistoryEntry]:
    """The conversation so far. A last line that was cut off counts as never written. Raises InvalidConfig."""
    entries: list[HistoryEntry] = []
    room = MAX_CONVERSATION
    with _opened(file) as lines:
        for line in lines:
            try:
                entry = _line.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if not isinstance(entry, TranscriptStart | Outcome):
                entries.append(entry)
                room -= max(length_of(entry), LEAST_ENTRY)
            if room < 0:
                raise InvalidConfig(f"{file} is longer than a model can read", hint="start a new task")
    return entries


def find(folder: Path, id: str) -> Path:
    """By id, or the newest for `last`. Raises ClawftError, which names some there are."""
    known = _known(folder)
    if id == LAST and known:
        return known[-1]
    for file in known:
        if file.name == f"{id}{SUFFIX}":
            return file
    some = ", ".join(file.name.removesuffix(SUFFIX) for file in known[-3:])
    raise NoTranscript(
        f"there is no transcript {id!r}", hint=f"the newest are {some}" if some else "there are none yet"
    )


class NoTranscript(ClawftError):
    blame = "the caller"


def _known(folder: Path) -> list[Path]:
    """The transcripts in a folder, the oldest first: their names begin with the time."""
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def _make_room(folder: Path) -> None:
    for file in _known(folder)[: -MAX_KEPT + 1]:
        file.unlink(missing_ok=True)


def _opened(file: Path) -> BufferedReader:
    opened = open_plain(file)
    if os.fstat(opened.fileno()).st_size > MAX_BYTES:
        opened.close()
        raise InvalidConfig(f"{file} is larger than {MAX_BYTES} bytes", hint="start a new task")
    return opened


def _is_torn(file: Path) -> bool:
    """Whether the last line has no end: whoever wrote it was killed."""
    with open_plain(file) as opened:
        if opened.seek(0, os.SEEK_END) == 0:
            return False
        opened.seek(-1, os.SEEK_END)
        return opened.read(1) != b"\n"
