"""The two ends of a socket: their addresses, and whether the client has disconnected."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Final, cast

from clawft.link.client_networks import LOOPBACK, network_of
from clawft.link.http_in.exchange import Address

ESTABLISHED: Final = 1
"""The state of a TCP connection that neither side has ended."""


def address_of(name: object) -> Address | None:
    """Host and port of a TCP socket; a Unix socket has neither."""
    if not isinstance(name, tuple):
        return None
    host, port, *_ = cast(tuple[str, int], name)
    return host, port


def counted_network(client: Address | None) -> str:
    """The group of addresses that the connection counts for; empty for one from this machine."""
    return "" if client is None or client[0] in LOOPBACK else network_of(client[0])


def has_left(transport: asyncio.Transport) -> bool:
    """Whether the client has disconnected while reading is paused, and nobody tells us. Only Linux knows."""
    if sys.platform != "linux":
        return False
    sock = transport.get_extra_info("socket")
    try:
        state: bytes = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except OSError:  # a Unix socket
        return False
    return state[0] != ESTABLISHED
