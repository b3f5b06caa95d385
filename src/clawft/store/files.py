"""A store in a folder: one private file per key, written whole, one writer at a time across processes.

A file is one line of JSON (`key`, `expires`) and then the value as it is. The name only has to be found again; what the
file says about itself is what counts.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from clawft.errors import Busy, ExecutionFailed
from clawft.store.entry import (
    MAX_KEYS,
    MAX_VALUE_BYTES,
    Clock,
    StoredValue,
    check_key,
    check_value,
    expiry,
    is_live,
    too_many,
)
from clawft.store.file_locks import LOCK_SECONDS, locked, pauses
from clawft.store.home import home
from clawft.store.names import HASHED_KEY, KEY, folder_name, key_name
from clawft.store.private_files import open_plain, private_dir, sweep, write_private

LOCK = ".lock"
MAX_HEAD_BYTES = 8_192

T = TypeVar("T")


class _Head(Struct, frozen=True):
    key: str
    expires: float | None


def state_folder(agent: str, plugin: str) -> Path:
    """Where a plugin keeps what it has to remember for an agent."""
    return home() / "agents" / folder_name(agent) / "tool_state" / folder_name(plugin)


class FileStore:
    """A KeyValueStore. The folder is made on the first write. File work runs in threads, never on the loop."""

    def __init__(self, folder: Path, clock: Clock = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._is_swept = False
        self._turn = asyncio.Lock()
        self._given_up = float("-inf")
        """When somebody last waited for the lock in vain."""

    async def get(self, key: str) -> str | None:
        return await asyncio.to_thread(self._get, check_key(key))

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        expires = expiry(ttl, self._clock())
        await self._alone(partial(self._write, check_key(key), check_value(value), expires))

    async def delete(self, key: str) -> bool:
        return await self._alone(partial(self._delete, check_key(key))) if self._folder.exists() else False

    async def list_keys(self, prefix: str | None = None) -> list[str]:
        return await asyncio.to_thread(self._list_keys, prefix or "")

    async def compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        return await self._alone(partial(self._compare_and_set, check_key(key), old, check_value(new)))

    # ── one writer at a time ─────────────────────────────────────────────────────────────────────────────────────────

    async def _alone(self, work: Callable[[], T]) -> T:
        """In a thread, under the lock. Whoever waits for that takes no thread: others need them for other work."""
        began = time.monotonic()
        async with self._turn:
            waited = began < self._given_up  # as long as somebody before us, and for the same
            try:
                return await self._within(0.0 if waited else LOCK_SECONDS, work)
            except Busy:
                self._given_up = time.monotonic()
                raise

    async def _within(self, seconds: float, work: Callable[[], T]) -> T:
        waits = pauses(self._folder / LOCK, seconds)
        while True:
            with suppress(Busy):
                return await asyncio.to_thread(self._at_once, work)
            await asyncio.sleep(next(waits))

    def _at_once(self, work: Callable[[], T]) -> T:
        """Raises Busy if somebody else holds the lock now; what the disk refuses is told to whoever asked for it."""
        try:
            private_dir(self._folder)
            with locked(self._folder / LOCK, 0.0):
                return work()
        except OSError as failed:
            place = failed.filename or self._folder
            raise ExecutionFailed(f"{place} cannot be written: {failed.strerror}", hint="weft doctor") from None

    # ── in a thread ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _get(self, key: str) -> str | None:
        kept = self._read(key)
        if kept is None or is_live(kept.expires, self._clock()):
            return kept.value if kept else None
        with suppress(Busy, ExecutionFailed):  # it is over, whether its file can go or not
            self._at_once(partial(self._drop_expired, key))
        return None

    def _list_keys(self, prefix: str) -> list[str]:
        now = self._clock()
        heads = [head for path in self._paths() if (head := _read_head(path)) and is_live(head.expires, now)]
        return sorted(head.key for head in heads if head.key.startswith(prefix))

    # ── in a thread, under the lock ──────────────────────────────────────────────────────────────────────────────────

    def _drop_expired(self, key: str) -> None:
        """Drop the value if it has expired, as it may be a secret. A value written meanwhile stays."""
        kept = self._read(key)
        if kept is not None and not is_live(kept.expires, self._clock()):
            self._path(key).unlink(missing_ok=True)

    def _delete(self, key: str) -> bool:
        kept = self._read(key)
        self._path(key).unlink(missing_ok=True)
        return kept is not None and is_live(kept.expires, self._clock())

    def _compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        kept = self._read(key)
        live = kept if kept and is_live(kept.expires, self._clock()) else None
        if (live.value if live else None) != old:
            return False
        self._write(key, new, live.expires if live else None)
        return True

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _path(self, key: str) -> Path:
        return self._folder / key_name(key)

    def _paths(self) -> Iterator[Path]:
        if not self._folder.exists():
            return
        with os.scandir(self._folder) as entries:
            yield from (Path(entry.path) for entry in entries if entry.name.startswith((KEY, HASHED_KEY)))

    def _read(self, key: str) -> StoredValue | None:
        path = self._path(key)
        try:
            with open_plain(path) as file:
                content = file.read(MAX_HEAD_BYTES + MAX_VALUE_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as failed:
            raise ExecutionFailed(
                f"{path} cannot be read: {failed.strerror}", hint="check that it is your own file"
            ) from None
        line, _, value = content.partition(b"\n")
        head = _decoded(line)
        if head is None or head.key != key or len(value) > MAX_VALUE_BYTES:
            raise _damaged(path)
        try:
            return StoredValue(value.decode(), head.expires)
        except UnicodeDecodeError:
            raise _damaged(path) from None

    def _write(self, key: str, value: str, expires: float | None) -> None:
        self._sweep()
        path = self._path(key)
        if not path.exists():
            self._make_room()
        write_private(path, msgspec.json.encode(_Head(key, expires)) + b"\n" + value.encode())

    def _sweep(self) -> None:
        if not self._is_swept:
            sweep(self._folder)
            self._is_swept = True

    def _make_room(self) -> None:
        paths = list(self._paths())
        if len(paths) < MAX_KEYS:
            return
        now = self._clock()
        expired = [path for path in paths if (head := _read_head(path)) and not is_live(head.expires, now)]
        if not expired:
            raise too_many()
        for path in expired:
            path.unlink(missing_ok=True)


def _read_head(path: Path) -> _Head | None:
    """None if the file has gone meanwhile, or is damaged: that is told when its key is asked for."""
    try:
        with open_plain(path) as file:
            return _decoded(file.readline(MAX_HEAD_BYTES))
    except OSError:
        return None


def _decoded(line: bytes) -> _Head | None:
    try:
        return msgspec.json.decode(line, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _damaged(path: Path) -> ExecutionFailed:
    return ExecutionFailed(f"the stored value in {path} is damaged", hint="delete that file; its value is lost")
