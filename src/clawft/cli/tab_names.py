"""What Tab offers: names that are known without starting anything, and that no shell can take for something else.

The completion scripts ask `weft tools list` and `weft servers list` with this variable set, and get one name a line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # which starts without it
    from clawft.app import App

COMPLETING = "WEFT_COMPLETING"
"""Set by the completion scripts: pressing Tab must not start a program."""

_HARMLESS = re.compile(r"[A-Za-z0-9_.-]+")
"""bash expands what it is offered: a tool, or a server of a workspace, that is called `$(rm -rf ~)` would be run."""


def is_completing() -> bool:
    return COMPLETING in os.environ


def print_names(names: Iterable[str]) -> int:
    for name in names:
        if _HARMLESS.fullmatch(name):
            print(name)
    return 0


def remembered(app: App) -> Iterator[str]:
    """Tools of servers, as they were listed last."""
    if not app.files.name_any:
        return
    from clawft.upstream.offer.cache import SchemaCache, folder  # only where there are servers

    cache = SchemaCache(folder(app.settings.home))
    for server, found in app.servers.found.items():
        known = cache.get(found.spec) if found.spec.enabled else None
        for tool in known.tools if known is not None else ():
            yield f"{server}__{msgspec.json.decode(tool, type=_Named).name}"


class _Named(msgspec.Struct):
    name: str
