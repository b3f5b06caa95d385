"""Cuts long results into pages, bounded in items and bytes, with a cursor for the next. Pure."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from clawft.builtin.git.settings import BOUNDS
from clawft.errors import InvalidArguments

S = TypeVar("S")
T = TypeVar("T")

Limit = Annotated[int, Meta(ge=1, le=BOUNDS.page_items, description="most items of one page")]
Cursor = Annotated[str, Meta(max_length=BOUNDS.word_chars, description="next_cursor of the page before")]
NextCursor = Annotated[str | None, Meta(description="there is more: call again with this cursor")]


def offset_of(tool: str, cursor: str) -> int:
    """Where the page begins; without a cursor at the start."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise no_cursor(tool, cursor)
    return int(cursor)


def no_cursor(tool: str, cursor: str) -> InvalidArguments:
    return InvalidArguments(f"{tool}: {cursor[:40]!r} is no cursor of ours", hint="use next_cursor as it came")


def fitting(items: Sequence[T], limit: int, room: int = BOUNDS.page_bytes) -> int:
    """How many of the first items make one page: at least one, if there is any."""
    count = 0
    for item in islice(items, limit):
        room -= len(msgspec.json.encode(item)) + 1
        if room < 0 and count:
            break
        count += 1
    return count


def page(items: Sequence[T], offset: int, limit: int) -> tuple[list[T], str | None]:
    """The items of one page, and the cursor of the next."""
    return page_of(items, lambda item: item, offset, limit)


def page_of(items: Sequence[S], tell: Callable[[S], T], offset: int, limit: int) -> tuple[list[T], str | None]:
    """One page of `tell(item)`, and the cursor of the next; computed for this page only, of perhaps a million items."""
    rest = [tell(item) for item in items[offset : offset + limit]]
    count = fitting(rest, limit)
    end = offset + count
    return rest[:count], str(end) if end < len(items) else None


def shorten(line: str, most: int = BOUNDS.line_chars) -> str:
    """The line, cut if it is long, with a note about that."""
    return line if len(line) <= most else f"{line[:most]} [… {len(line) - most} more characters]"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 commit`, `2 commits`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def lines_of(head: str, lines: Sequence[str], next_cursor: str | None) -> str:
    """The short text for a structured result."""
    shown = [head, *lines[: BOUNDS.shown_lines]]
    if len(lines) > BOUNDS.shown_lines:
        shown.append(f"… {len(lines) - BOUNDS.shown_lines} more in the structured result")
    if next_cursor is not None:
        shown.append(f"there is more: cursor={next_cursor}")
    return "\n".join(shown)
