"""Polls files for changes by their stamps, and reports them.

Files are not read here. A change counts once it is stable for one round, so that no file is read half-written; one that
keeps changing does not hold up the others.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path

POLL_SECONDS = 0.5

Stamp = tuple[int, int, int]
Stamps = Mapping[str, Stamp]
Look = Callable[[], Stamps]


def stamps(files: Iterable[Path]) -> Stamps:
    """The time, size and identity of each file; none for missing ones."""
    return {str(file): stamp for file in files if (stamp := _stamp(file)) is not None}


def _stamp(file: Path) -> Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def folder_stamps(folder: Path) -> Stamps:
    """The stamps of a folder's files, by name. Hidden ones are incomplete, or left by a killed process."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return {}
    return {Path(name).name: stamp for name, stamp in stamps(folder / name for name in names).items()}


def renewed(before: Stamps, now: Stamps) -> list[str]:
    """Names that are new or were written again."""
    return sorted(name for name, stamp in now.items() if before.get(name) != stamp)


async def watch(
    look: Look,
    since: Stamps,
    changed: Callable[[Stamps, Stamps], Awaitable[None]],
    seconds: float = POLL_SECONDS,
) -> None:
    """Until cancelled, report the stamps before and now, whenever the files differ from `since`."""
    seen_before = seen = since
    while True:
        await asyncio.sleep(seconds)
        now = look()
        settled = _settled(seen_before, seen, now)
        if settled != seen_before:
            before, seen_before = seen_before, settled
            await changed(before, settled)
        seen = now


def _settled(told: Stamps, seen: Stamps, now: Stamps) -> Stamps:
    """The new stamps of files that were stable for a round; for others those reported last."""
    stamps = {name: (now if now.get(name) == seen.get(name) else told).get(name) for name in {*told, *now}}
    return {name: stamp for name, stamp in stamps.items() if stamp is not None}
