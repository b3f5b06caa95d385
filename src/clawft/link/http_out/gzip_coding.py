"""Answers and streams with the content coding `x-gzip`, the old name of gzip, which aiohttp does not know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from clawft.errors import LinkClosed
from clawft.link.base import too_long

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse

READ_AHEAD = 64 * 1024
"""Bytes of an answer that wait to be read, about; there may be many answers at a time."""
_GZIP = 16 | 15
"""For zlib: with the head of gzip, and the largest window."""


def is_x_gzip(response: ClientResponse) -> bool:
    return response.headers.get("Content-Encoding", "").lower() == "x-gzip"


def decompressed(url: str, body: bytes, limit: int) -> bytes:
    """The whole of a body. Raises MessageTooLong."""
    import zlib  # loaded with aiohttp

    try:
        decoded = zlib.decompressobj(_GZIP).decompress(body, limit + 1)
    except zlib.error as wrong:
        raise LinkClosed(f"{url} sent a response that is not compressed as it says: {wrong}", is_garbled=True) from None
    if len(decoded) > limit:
        raise too_long(url, limit)
    return decoded


async def decompressed_parts(response: ClientResponse) -> AsyncIterator[bytes]:
    """The parts of a stream, decompressed as they come, never much at once. Raises GarbledBody."""
    import zlib  # loaded with aiohttp

    from clawft.link.http_out.connect_failure import GarbledBody  # as aiohttp

    unpacking = zlib.decompressobj(_GZIP)
    async for chunk in response.content.iter_any():
        try:
            piece = unpacking.decompress(chunk, READ_AHEAD)
            while piece:
                yield piece
                piece = unpacking.decompress(unpacking.unconsumed_tail, READ_AHEAD)
        except zlib.error as wrong:
            raise GarbledBody(f"it is not compressed as it says: {wrong}") from None
        if unpacking.eof:  # which keeps whatever else comes
            return
