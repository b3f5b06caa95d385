"""The cursor of a diff: where a page begins, and the totals, so that only the first page counts them. Pure."""

import re
from typing import Annotated
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Meta, Struct

from clawft.builtin.git.page import no_cursor

LONGEST = 16 * 1024
"""Room for a name of 4096 bytes, each spelled with three letters, and four numbers."""
_CURSOR = re.compile(r"(\d{1,9}):(\d{1,18}):(\d{1,18}):(\d{1,18}):([!-~]+)", re.ASCII)

DiffCursor = Annotated[str, Meta(max_length=LONGEST, description="next_cursor of the page before")]


class DiffTotals(Struct, frozen=True):
    files: int
    additions: int
    deletions: int


class DiffStart(Struct, frozen=True):
    """A page begins so many pieces behind the start of this file; the first page has no name and no totals."""

    name: bytes = b""
    skip: int = 0
    totals: DiffTotals | None = None


def read_start(tool: str, cursor: str) -> DiffStart:
    if not cursor:
        return DiffStart()
    found = _CURSOR.fullmatch(cursor)
    name = unquote_to_bytes(found[5]) if found else b""
    if found is None or b"\0" in name:
        raise no_cursor(tool, cursor)
    return DiffStart(name, int(found[1]), DiffTotals(int(found[2]), int(found[3]), int(found[4])))


def cursor_of(name: bytes, skip: int, totals: DiffTotals) -> str:
    return f"{skip}:{totals.files}:{totals.additions}:{totals.deletions}:{quote_from_bytes(name)}"
