"""Lists as ready-made bytes: rendered once per catalog, audience and revision, then served as they are."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import BadParams

DEFAULT_PAGE = 2_500
_MAX_REMEMBERED = 512


class _ListParams(Struct):
    cursor: str | None = None


_params = msgspec.json.Decoder(_ListParams)


def read_cursor(params: bytes) -> str | None:
    try:
        return _params.decode(params).cursor if params else None
    except msgspec.DecodeError as wrong:
        raise BadParams(f"cursor: {wrong}") from None


class Pages:
    """Cuts lists into pages under cursors that only we can make."""

    def __init__(self, key: bytes, size: int = DEFAULT_PAGE) -> None:
        self._key = key
        self._size = size
        self._ready: dict[tuple[Any, ...], bytes] = {}

    def forget(self) -> None:
        self._ready.clear()

    def page(
        self,
        member: str,
        audience: tuple[Any, ...],
        cursor: str | None,
        items: Callable[[], Sequence[bytes]],
        finish: Callable[[bytes], bytes],
    ) -> bytes:
        """The finished result for this page. `audience` is all that the list, or its form, depends on."""
        key = (member, audience, cursor)
        ready = self._ready.get(key)
        if ready is None:
            if len(self._ready) >= _MAX_REMEMBERED:
                self._ready.clear()
            ready = self._ready[key] = finish(self._render(member, cursor, items()))
        return ready

    def _render(self, member: str, cursor: str | None, items: Sequence[bytes]) -> bytes:
        start = 0 if cursor is None else self._open(member, cursor)
        end = start + self._size
        more = b',"nextCursor":"%s"' % self._close(member, end).encode() if end < len(items) else b""
        return b'{"%s":[' % member.encode() + b",".join(items[start:end]) + b"]" + more + b"}"

    def _close(self, member: str, start: int) -> str:
        body = f"{member}:{start}".encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode()

    def _open(self, member: str, cursor: str) -> int:
        try:
            raw = base64.urlsafe_b64decode(cursor.encode())
        except ValueError:
            raw = b""
        signature, body = raw[:16], raw[16:]
        name, _, start = body.partition(b":")
        if not hmac.compare_digest(signature, self._sign(body)) or name != member.encode():
            raise BadParams("this cursor is not one of ours", hint="begin the list again without a cursor")
        return int(start)

    def _sign(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")[:16]
