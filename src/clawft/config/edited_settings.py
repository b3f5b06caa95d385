"""Warns when settings are edited while we run, as they apply only from the next start on.

Servers in the same files are followed at once, by `config.follow`; so are the rules for people.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from clawft.config.keys import OPEN_TABLES, WHOLE
from clawft.config.load import files, problems, read_bytes
from clawft.config.watch import Stamps, stamps, watch
from clawft.errors import ConfigError, InvalidConfig
from clawft.store.document import leaves, parse

FOLLOWED = frozenset({"gateway.auth.grants"})
"""Keys that are applied at once, by `app.access`."""

log = logging.getLogger("clawft")


class EditedSettings:
    def __init__(self, home: Path, agent: str) -> None:
        self._home, self._agent = home, agent
        self._known = {file: _content(file) for file in files(home, agent)}
        self._watching = asyncio.create_task(watch(self._look, self._look(), self._changed), name="settings")

    def _look(self) -> Stamps:
        return stamps(self._known)

    async def _changed(self, before: Stamps, now: Stamps) -> None:
        """Log the changed keys. A file that cannot be read is reported by `config.follow`."""
        for file, known in self._known.items():
            content = _content(file)
            try:
                keys = differing(known, content, str(file))
            except ConfigError:
                continue
            self._known[file] = content
            if keys:
                log.warning("%s: the change of %s takes effect when weft is started again", file, ", ".join(keys))
        for wrong in problems(self._home, self._agent):
            if isinstance(wrong, InvalidConfig):
                log.warning("%s", wrong)

    async def close(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)


def differing(before: bytes, now: bytes, file: str) -> list[str]:
    """The keys whose values have changed and are not applied. Raises ConfigUnparsable."""
    old, new = _values(before, file), _values(now, file)
    changed = [".".join(path) for path in {**old, **new} if old.get(path) != new.get(path)]
    return [key for key in changed if key not in FOLLOWED]


def _values(content: bytes, file: str) -> dict[tuple[str, ...], Any]:
    return dict(leaves(parse(content, file).tables, OPEN_TABLES, WHOLE))


def _content(file: Path) -> bytes:
    try:
        return read_bytes(file) or b""
    except ConfigError:
        return b""
