"""The HTTP client below a vendor's library: it hears no more than an answer can be, and takes the key nowhere else.

A library reads whatever a server sends: answers and errors without end, packed ones, and those of whoever it is sent on
to.
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
"""What one token may take on the wire, with the event around it; it usually takes some 150."""
BESIDE_BYTES = 1024 * 1024
"""What may come beside the tokens of an answer: an error, the marks of events."""

READ_BYTES = 4 * 1024
"""That are taken in one go: a server may send `100 Continue` without end, and others wait as long."""


class Hearing:
    """How much may still come of the answer that is awaited."""

    def __init__(self) -> None:
        self._most = self._left = BESIDE_BYTES

    def await_answer(self, tokens: int) -> None:
        self._most = self._left = BESIDE_BYTES + tokens * TOKEN_BYTES

    def came(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ModelFailed(f"the answer is longer than {self._most} bytes", hint="raise delegation.max_tokens")

    def client(self, library: ModuleType) -> AsyncClient:
        """The library's own, that listens as we do."""
        _take_little_in_one_go()
        return library.DefaultAsyncHttpxClient(
            follow_redirects=False,
            headers={"accept-encoding": "identity"},
            event_hooks={"response": [self._listen]},
        )

    async def _listen(self, response: Response) -> None:
        response.stream = _stream(self, response)


def _take_little_in_one_go() -> None:
    """There is no setting for it. It holds for all clients of that library in this process, which are ours alone.

    Without it, as in a later version that knows no such number, only others wait longer.
    """
    with suppress(ImportError):
        from httpcore2 import AsyncHTTP11Connection  # the library has loaded it

        AsyncHTTP11Connection.READ_NUM_BYTES = READ_BYTES  # pyright: ignore[reportAttributeAccessIssue]  # typed as one number


def _stream(hearing: Hearing, response: Response) -> AsyncByteStream:
    from httpx2 import AsyncByteStream  # the library has loaded it

    heard: Any = response.stream
    packed = response.headers.get("content-encoding", "identity").lower() not in ("", "identity")

    class Heard(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if packed:
                raise ModelFailed(
                    "the answer is packed although we ask for plain ones",
                    hint="have the server, or its proxy, not pack it",
                )
            async for piece in heard:
                hearing.came(len(piece))
                yield piece
                await asyncio.sleep(0)  # a server may send crumbs, and others wait

        async def aclose(self) -> None:
            await heard.aclose()

    return Heard()
