"""Lists of tools, prompts and resources as encoded pages, rendered once per catalog and audience and then reused."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import BadParams

DEFAULT_PAGE = 2_500
MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Size of one page, however many items it could have."""
MAX_READY = 512
MAX_READY_BYTES = 6 * 1024 * 1024
"""Size of all cached pages of all audiences together."""


class _ListParams(Struct):
    cursor: str | None = None


_params = msgspec.json.Decoder(_ListParams)


def read_cursor(params: bytes) -> str | None:
    try:
        return _params.decode(params).cursor if params else None
    except msgspec.DecodeError as wrong:
        raise BadParams(f"cursor: {wrong}") from None


def _fitting(items: Iterator[bytes]) -> Iterator[bytes]:
    """The items of one page; the last may go a little beyond the limit."""
    size = 0
    for item in items:
        yield item
        size += len(item)
        if size > MAX_PAGE_BYTES:
            return


def strange_cursor() -> BadParams:
    return BadParams("this cursor is not one of ours", hint="begin the list again without a cursor")


class Listed(Struct, frozen=True):
    """A whole list, of which no more is made than the pages that are asked for."""

    items: Callable[[int], Iterator[bytes]]
    """The encoded items from an index on, made one by one as a page takes them."""
    owners: Callable[[], Sequence[str]] = tuple
    """The owner of each item; asked for only where there are several pages."""


class Pages:
    """Cuts lists into pages, with signed cursors that only we can make."""

    def __init__(self, key: bytes, size: int = DEFAULT_PAGE) -> None:
        self._key = key
        self._size = size
        self._ready: dict[tuple[Any, ...], bytes] = {}
        self._ready_bytes = 0

    def forget(self) -> None:
        self._ready.clear()
        self._ready_bytes = 0

    def page(
        self,
        member: str,
        audience: tuple[Any, ...],
        cursor: str | None,
        listed: Callable[[], Listed],
        finish: Callable[[bytes], bytes],
    ) -> bytes:
        """The finished result for one page. `audience` is everything that the list, or its form, depends on."""
        key = (member, audience, cursor)
        ready = self._ready.get(key)
        if ready is None:
            ready = finish(self._render(member, cursor, listed()))
            self._keep(key, ready)
        return ready

    def _keep(self, key: tuple[Any, ...], ready: bytes) -> None:
        if len(self._ready) >= MAX_READY or self._ready_bytes + len(ready) > MAX_READY_BYTES:
            self.forget()
        if len(ready) <= MAX_READY_BYTES:
            self._ready[key] = ready
            self._ready_bytes += len(ready)

    def _render(self, member: str, cursor: str | None, listed: Listed) -> bytes:
        start = 0 if cursor is None else self._start(member, cursor, listed)
        left = listed.items(start)
        page = list(_fitting(islice(left, self._size)))
        more = next(left, None) is not None
        end = self._end(member, listed, start + len(page)) if more else b""
        return b'{"%s":[' % member.encode() + b",".join(page) + b"]" + end + b"}"

    def _end(self, member: str, listed: Listed, passed: int) -> bytes:
        from clawft.gateway.offer.bookmark import bookmark  # most lists have one page

        body = member.encode() + b":" + msgspec.json.encode(bookmark(listed.owners(), passed))
        return b',"nextCursor":"%s"' % base64.urlsafe_b64encode(self._sign(body) + body)

    def _start(self, member: str, cursor: str, listed: Listed) -> int:
        from clawft.gateway.offer.bookmark import Bookmark, reading_on  # most lists have one page

        try:
            mark = msgspec.json.decode(self._open(member, cursor), type=Bookmark)
        except msgspec.DecodeError:  # of an earlier version of ours
            raise strange_cursor() from None
        return reading_on(listed.owners(), mark)

    def _open(self, member: str, cursor: str) -> bytes:
        """The bookmark that we wrote into this cursor."""
        try:
            raw = base64.urlsafe_b64decode(cursor.encode())
        except ValueError:
            raw = b""
        from hmac import compare_digest  # loads OpenSSL

        signature, body = raw[:16], raw[16:]
        name, _, mark = body.partition(b":")
        if not compare_digest(signature, self._sign(body)) or name != member.encode():
            raise strange_cursor()
        return mark

    def _sign(self, body: bytes) -> bytes:
        import hmac  # loads OpenSSL

        return hmac.digest(self._key, body, "sha256")[:16]
