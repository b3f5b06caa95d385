"""The HTTP client for a vendor's library: it bounds the size of an answer, and takes the key to no other host.

The library alone would read whatever a server sends: endless answers and errors, compressed ones, and those of a host
it is redirected to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clawft.errors import ModelFailed

if TYPE_CHECKING:  # heavy, and comes with an extra
    from httpx2 import AsyncByteStream, AsyncClient, Response

TOKEN_BYTES = 1024
"""Bytes that one token may take on the wire, with the event around it; usually some 150."""
OVERHEAD_BYTES = 1024 * 1024
"""Bytes allowed besides the tokens of an answer: for an error, or the framing of events."""

READ_BYTES = 4 * 1024
"""Bytes read at a time: a server may send `100 Continue` without end, and other tasks wait meanwhile."""


class AnswerLimit:
    """How many bytes of the current answer may still come."""

    def __init__(self) -> None:
        self._most = self._left = OVERHEAD_BYTES

    def allow(self, tokens: int) -> None:
        self._most = self._left = OVERHEAD_BYTES + tokens * TOKEN_BYTES

    def received(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ModelFailed(f"the answer is longer than {self._most} bytes", hint="raise delegation.max_tokens")

    def client(self, library: ModuleType) -> AsyncClient:
        """The library's own HTTP client, with this limit on what it receives."""
        _read_small_pieces()
        return library.DefaultAsyncHttpxClient(
            follow_redirects=False,
            headers={"accept-encoding": "identity"},
            event_hooks={"response": [self._listen]},
        )

    async def _listen(self, response: Response) -> None:
        response.stream = _stream(self, response)


def _read_small_pieces() -> None:
    """Patch the HTTP library, which has no setting for it; all its clients in this process are ours.

    If a later version lacks this attribute, other tasks only wait longer.
    """
    with suppress(ImportError):
        from httpcore2 import AsyncHTTP11Connection  # the library has loaded it

        AsyncHTTP11Connection.READ_NUM_BYTES = READ_BYTES  # pyright: ignore[reportAttributeAccessIssue]  # typed as one number


def _stream(limit: AnswerLimit, response: Response) -> AsyncByteStream:
    from httpx2 import AsyncByteStream  # the library has loaded it

    unlimited: Any = response.stream
    packed = response.headers.get("content-encoding", "identity").lower() not in ("", "identity")

    class Limited(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed:
                raise ModelFailed(
                    "the response is compressed although uncompressed ones were requested",
                    hint="disable compression at the server or its proxy",
                )
            async for piece in unlimited:
                limit.received(len(piece))
                yield piece
                await asyncio.sleep(0)  # a server may send crumbs, and others wait

        async def aclose(self) -> None:
            await unlimited.aclose()

    return Limited()
