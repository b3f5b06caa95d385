"""Lists as ready-made bytes: rendered once per catalog, audience and revision, then served as they are."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import BadParams

DEFAULT_PAGE = 2_500
MAX_PAGE_BYTES = 2 * 1024 * 1024
"""Of one page, however many items it could have."""
MAX_READY = 512
MAX_READY_BYTES = 6 * 1024 * 1024
"""Of all pages that are kept ready, for all audiences together."""


class _ListParams(Struct):
    cursor: str | None = None


_params = msgspec.json.Decoder(_ListParams)


def read_cursor(params: bytes) -> str | None:
    try:
        return _params.decode(params).cursor if params else None
    except msgspec.DecodeError as wrong:
        raise BadParams(f"cursor: {wrong}") from None


def _fitting(items: Iterator[bytes]) -> Iterator[bytes]:
    """Until the page is full; the last of them may go a little beyond."""
    size = 0
    for item in items:
        yield item
        size += len(item)
        if size > MAX_PAGE_BYTES:
            return


class Pages:
    """Cuts lists into pages under cursors that only we can make."""

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
        items: Callable[[int], Iterator[bytes]],
        finish: Callable[[bytes], bytes],
    ) -> bytes:
        """The finished result for this page. `audience` is all that the list, or its form, depends on.

        `items` gives those from there on; no more of them are made than the page has.
        """
        key = (member, audience, cursor)
        ready = self._ready.get(key)
        if ready is None:
            ready = finish(self._render(member, cursor, items))
            self._keep(key, ready)
        return ready

    def _keep(self, key: tuple[Any, ...], ready: bytes) -> None:
        if len(self._ready) >= MAX_READY or self._ready_bytes + len(ready) > MAX_READY_BYTES:
            self.forget()
        if len(ready) <= MAX_READY_BYTES:
            self._ready[key] = ready
            self._ready_bytes += len(ready)

    def _render(self, member: str, cursor: str | None, items: Callable[[int], Iterator[bytes]]) -> bytes:
        start = 0 if cursor is None else self._open(member, cursor)
        left = items(start)
        page = list(_fitting(islice(left, self._size)))
        more = next(left, None) is not None
        end = b',"nextCursor":"%s"' % self._close(member, start + len(page)).encode() if more else b""
        return b'{"%s":[' % member.encode() + b",".join(page) + b"]" + end + b"}"

    def _close(self, member: str, start: int) -> str:
        body = f"{member}:{start}".encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode()

    def _open(self, member: str, cursor: str) -> int:
        try:
            raw = base64.urlsafe_b64decode(cursor.encode())
        except ValueError:
            raw = b""
        from hmac import compare_digest  # loads OpenSSL; most lists have one page

        signature, body = raw[:16], raw[16:]
        name, _, start = body.partition(b":")
        if not compare_digest(signature, self._sign(body)) or name != member.encode():
            raise BadParams("this cursor is not one of ours", hint="begin the list again without a cursor")
        return int(start)

    def _sign(self, body: bytes) -> bytes:
        import hmac  # as above

        return hmac.digest(self._key, body, "sha256")[:16]
