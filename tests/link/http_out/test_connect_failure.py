"""What is told, and advised, where a place cannot be reached."""

import asyncio
import errno
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from clawft.errors import LinkClosed
from clawft.link.base import OutgoingRequest
from clawft.link.http_out.connect_failure import advice
from clawft.link.http_out.link import HttpLink
from clawft.link.http_out.sse import SseLink
from tests.requirements import requirement


def unreachable(host: str) -> aiohttp.ClientConnectorError:
    key = SimpleNamespace(host=host, port=443, is_ssl=True, ssl=True)
    return aiohttp.ClientConnectorError(cast("Any", key), OSError(errno.ENETUNREACH, "Network is unreachable"))


@requirement("MGR-19")
def test_whoever_has_a_proxy_is_told_that_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    assert advice(unreachable("mcp.example")) == ""
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    assert advice(unreachable("mcp.example")).startswith("https_proxy is set, which weft does not use")
    assert advice(unreachable("127.0.0.1")) == ""


@requirement("LINK-16")
@pytest.mark.parametrize("kind", [HttpLink, SseLink])
@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/mcp", "http://127.0.0.1:port/mcp", "http://[broken/mcp"])
async def test_what_is_no_address_is_told_as_that_at_once(kind: type[HttpLink | SseLink], url: str) -> None:
    """What a variable stands for is known only now."""
    link = kind(url)

    async def call() -> None:
        await link.open(lambda message, stream: None, lambda error: None)
        await link.request(OutgoingRequest("tools/call", b"{}"))

    try:
        with pytest.raises(LinkClosed, match="cannot be reached: it is not an address"):
            await asyncio.wait_for(call(), 5)
    finally:
        await link.close()
