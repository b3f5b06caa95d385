"""Files that change while we run: a look at their stamps now and then, and a word when something differs.

Nothing is read here. A change counts once it has stood still for one round, so that a file is not read half-written;
one that never stands still does not hold up the others.
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
    """When each was written, its size and which file it is. One that is not there has no stamp."""
    return {str(file): stamp for file in files if (stamp := _stamp(file)) is not None}


def _stamp(file: Path) -> Stamp | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def folder_stamps(folder: Path) -> Stamps:
    """Of every file in it, by name alone. A hidden one is on its way in, or was left by somebody who was killed."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return {}
    return {Path(name).name: stamp for name, stamp in stamps(folder / name for name in names).items()}


def renewed(before: Stamps, now: Stamps) -> list[str]:
    """What is new or was written again."""
    return sorted(name for name, stamp in now.items() if before.get(name) != stamp)


async def watch(
    look: Look,
    since: Stamps,
    changed: Callable[[Stamps, Stamps], Awaitable[None]],
    seconds: float = POLL_SECONDS,
) -> None:
    """Until cancelled: tell, with the stamps before and now, whenever the files differ from `since`."""
    told = seen = since
    while True:
        await asyncio.sleep(seconds)
        now = look()
        settled = _settled(told, seen, now)
        if settled != told:
            before, told = told, settled
            await changed(before, settled)
        seen = now


def _settled(told: Stamps, seen: Stamps, now: Stamps) -> Stamps:
    """Files as they are now where they were so a round ago, the others as they were told of last."""
    stamps = {name: (now if now.get(name) == seen.get(name) else told).get(name) for name in {*told, *now}}
    return {name: stamp for name, stamp in stamps.items() if stamp is not None}
