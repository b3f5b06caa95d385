"""A list of a server's, read page by page: to its end, but neither for ever nor in circles."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Raw

from clawft.errors import JsonRpcFailure, LinkRefused, MessageTooLong, ProtocolFailure, RequestTimeout
from clawft.upstream.session.peer import read_page

MAX_PAGES = 1_000
MAX_ITEMS = 10_000
MAX_LIST_BYTES = 8 * 1024 * 1024
"""Of all items of one list together: more is neither kept nor asked for."""
MAX_CURSOR_CHARS = 64 * 1024
"""Of the way to the next page; behind a longer one there is nothing for us."""

FAILED_PAGE = (JsonRpcFailure, ProtocolFailure, RequestTimeout, LinkRefused, MessageTooLong)
"""Errors of one page, while the link is as good as before."""

AskPage = Callable[[str | None], Awaitable[bytes]]
"""For a cursor, or None at the beginning: the bare result."""
TakePage = Callable[[Sequence[Raw]], Awaitable[bool]]
"""Called with items; returns whether more are wanted."""


async def read_pages(method: str, member: str, ask: AskPage, take: TakePage) -> str:
    """Every item, raw and in the server's order; back comes why the list was left before its end, if it was."""
    seen: set[str] = set()
    cursor: str | None = None
    count = size = 0
    for _ in range(MAX_PAGES):
        page = read_page(method, await ask(cursor), member)
        items, cursor = page.items, page.cursor
        if items is None:
            return f"(its answer to {method} has no list of them)"
        wants_more = await take(items[: max(MAX_ITEMS - count, 0)])
        count += len(items) + page.unread
        size += sum(map(len, items))
        if not wants_more:
            return ""
        if count > MAX_ITEMS:
            return f"after the first {MAX_ITEMS} ({count - MAX_ITEMS}{' and more' if cursor else ''})"
        if cursor is None:
            return "" if page.cursor_is_text else "after a cursor that is not a text"
        if why := _no_way_on(cursor, size, seen):
            return why
        seen.add(cursor)
        del page, items  # it may be megabytes, and the next one long in coming
    return f"after the first {MAX_PAGES} pages"


def _no_way_on(cursor: str, size: int, seen: set[str]) -> str:
    """Why this cursor is not followed; nothing if it is."""
    if size > MAX_LIST_BYTES:
        return f"after the first {MAX_LIST_BYTES} bytes"
    if cursor in seen:
        return "after a cursor that leads back to an earlier page"
    if len(cursor) > MAX_CURSOR_CHARS:
        return f"after a cursor of more than {MAX_CURSOR_CHARS} characters"
    return ""
