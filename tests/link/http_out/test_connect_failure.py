"""What is advised where a place cannot be reached."""

import errno
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from clawft.link.http_out.connect_failure import advice
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
