"""A store in files: one per key, private, atomic, safe against other processes. Odd keys cannot leave the folder."""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from clawft.errors import InvalidArguments
from clawft.store.home import home, locked, private_dir, write_private

MAX_KEY = 1_024
MAX_VALUE = 4 * 1024 * 1024
_MAX_FILE_NAME = 180
_LOCK = ".lock"


class _Kept(Struct):
    key: str
    value: str
    expires: float | None = None


_kept = msgspec.json.Decoder(_Kept)


class FileStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, key: str) -> str | None:
        found = await asyncio.to_thread(self._read, self._path(key))
        return found.value if found else None

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        await asyncio.to_thread(self._set, key, value, ttl)

    async def delete(self, key: str) -> bool:
        return await asyncio.to_thread(self._delete, key)

    async def list_keys(self, prefix: str | None = None) -> list[str]:
        return await asyncio.to_thread(self._list, prefix or "")

    async def compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        return await asyncio.to_thread(self._compare_and_set, key, old, new)

    # ── blocking, in a thread ────────────────────────────────────────────────────────────────────────────────────────

    def _set(self, key: str, value: str, ttl: float | None) -> None:
        path = self._path(key)
        with self._locked():
            self._write(path, key, value, ttl)

    def _delete(self, key: str) -> bool:
        path = self._path(key)
        with self._locked():
            there = self._read(path) is not None
            path.unlink(missing_ok=True)
        return there

    def _list(self, prefix: str) -> list[str]:
        if not self._folder.is_dir():
            return []
        found = [self._read(path) for path in self._folder.iterdir() if not path.name.startswith(".")]
        return sorted(kept.key for kept in found if kept is not None and kept.key.startswith(prefix))

    def _compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        path = self._path(key)
        with self._locked():
            found = self._read(path)
            if (found.value if found else None) != old:
                return False
            self._write(path, key, new, None)
        return True

    def _write(self, path: Path, key: str, value: str, ttl: float | None) -> None:
        if len(value) > MAX_VALUE:
            raise InvalidArguments(f"a value may have {MAX_VALUE} characters at most, this has {len(value)}")
        expires = None if ttl is None else time.time() + ttl
        write_private(path, msgspec.json.encode(_Kept(key, value, expires)))

    def _read(self, path: Path) -> _Kept | None:
        try:
            found = _kept.decode(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None
        if found.expires is not None and found.expires <= time.time():
            return None
        return found

    def _path(self, key: str) -> Path:
        if not key or len(key) > MAX_KEY:
            raise InvalidArguments(f"a key has 1 to {MAX_KEY} characters")
        return self._folder / safe_name(key)

    def _locked(self):
        private_dir(self._folder)
        return locked(self._folder / _LOCK)


def safe_name(text: str) -> str:
    """A file name for any text: reversible where it is short, a hash where it is not; never hidden, never a path."""
    name = quote(text, safe="").replace(".", "%2E").replace("~", "%7E")
    if len(name) <= _MAX_FILE_NAME:
        return name
    return name[:60] + "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def original_name(name: str) -> str:
    """What `safe_name` was given, for names that were short enough."""
    return unquote(name)


def state_folder(agent: str, plugin: str) -> Path:
    """Where a family keeps what it remembers for an agent."""
    return home() / "agents" / safe_name(agent) / "tool_state" / safe_name(plugin)
