"""Clients that come from other addresses than the one all programs of this machine have."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.servers.raw_http import LONGEST, LOOPBACK, Line

NEIGHBOUR = "127.0.0.2"


@asynccontextmanager
async def from_neighbour(port: int, address: str = NEIGHBOUR) -> AsyncGenerator[Line]:
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port, local_addr=(address, 0), limit=LONGEST)
    except OSError:
        pytest.skip(f"this machine cannot connect from {address}")
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()
