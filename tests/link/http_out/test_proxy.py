"""Servers behind a proxy: names that only it can look up, tunnels, and what is told of a proxy in the way."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clawft.errors import InvalidConfig, LinkClosed, LinkError
from clawft.link.base import OutgoingRequest
from clawft.link.http_out.link import HttpLink
from clawft.link.http_out.sse import SseLink
from clawft.upstream.links import links_to
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.jsonrpc.messages import Response
from tests.requirements import requirement
from tests.servers.certificates import Authority
from tests.servers.forward_proxy import forward_proxy
from tests.servers.raw_site import Asked, raw_site

AWAY = "mcp.example.invalid"
"""A name that nobody but the proxy knows."""
CALL = OutgoingRequest("tools/call", b"{}")
LOGIN = "ada:sesame"


async def good(asked: Asked) -> None:
    await asked.answer({})


@asynccontextmanager
async def linked(url: str, proxy: str) -> AsyncGenerator[HttpLink]:
    link = HttpLink(url, proxy=proxy)
    await link.open(lambda message, stream: None, lambda error: None)
    try:
        yield link
    finally:
        await link.close()


@requirement("LINK-12")
async def test_a_server_over_http_is_reached_through_its_proxy() -> None:
    heads: list[bytes] = []

    async def vice(asked: Asked) -> None:
        heads.append(asked.head)
        await asked.answer({})

    async with (
        raw_site(vice) as site,
        linked(f"http://{AWAY}/mcp", site.url.removesuffix("/mcp")) as link,
    ):
        assert isinstance(await link.request(CALL), Response)
    assert heads[0].startswith(f"POST http://{AWAY}/mcp HTTP/1.1\r\n".encode())


@requirement("LINK-12")
async def test_a_server_over_https_is_reached_through_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    trusting = ssl.create_default_context(cafile=authority.file)  # SSL_CERT_FILE counts before aiohttp is loaded only
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusting)
    monkeypatch.setenv("PROXY_LOGIN", LOGIN)
    async with raw_site(good, tls=authority.context("site", host=AWAY)) as site:
        port = urlsplit(site.url).port or 0
        async with forward_proxy(port, LOGIN) as proxy:
            named = proxy.url.replace("http://", "http://${secret://env/PROXY_LOGIN}@")
            spec = UpstreamSpec("wiki", url=f"https://{AWAY}/mcp", proxy=named)
            link = links_to(spec)[0]()
            await link.open(lambda message, stream: None, lambda error: None)
            for _ in range(2):
                assert isinstance(await link.request(CALL), Response)
            await link.close()
            assert proxy.asked == [f"CONNECT {AWAY}:443 HTTP/1.1"]


@requirement("LINK-12", "LINK-16", "CONF-18")
@pytest.mark.parametrize("login", ["ada:ses/qux", "ada:12/qux", "ada:ses#qux", "ada:ses[qux"])
def test_a_login_that_makes_another_address_of_its_proxy_is_told_as_that(
    login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_LOGIN", login)
    proxy = "http://${secret://env/PROXY_LOGIN}@proxy.example.invalid:3128"
    with pytest.raises(InvalidConfig, match="the proxy does not resolve to an http:// address") as told:
        links_to(UpstreamSpec("wiki", url=f"https://{AWAY}/mcp", proxy=proxy))[0]()
    assert "%2F" in told.value.hint
    assert "qux" not in str(told.value)


@requirement("LINK-12")
async def test_what_is_on_this_machine_is_reached_without_the_proxy() -> None:
    async with raw_site(good) as site, forward_proxy(1) as proxy, linked(site.url, proxy.url) as link:
        assert isinstance(await link.request(CALL), Response)
        assert proxy.asked == []


@requirement("LINK-16")
async def test_a_proxy_that_lets_nobody_through_is_told_apart_from_the_server() -> None:
    async with forward_proxy(1, LOGIN) as proxy, linked(f"https://{AWAY}/mcp", proxy.url) as link:
        with pytest.raises(LinkClosed, match="its proxy: it rejects the connection with status 407") as told:
            await link.request(CALL)
        assert "correct `proxy`" in told.value.hint


@requirement("LINK-16")
@pytest.mark.parametrize("proxy", ["http://ada:sesame@127.0.0.1:1", "http://ada:sesame@proxy.example.invalid:3128"])
async def test_a_proxy_that_is_not_there_is_told_apart_from_the_server(proxy: str) -> None:
    async with linked(f"https://{AWAY}/mcp", proxy) as link:
        with pytest.raises(LinkClosed, match=f"https://{AWAY}/mcp cannot be reached: its proxy: ") as told:
            await link.request(CALL)
        assert "sesame" not in str(told.value)


@requirement("LINK-23")
async def test_a_server_of_2024_is_looked_for_through_the_proxy_too() -> None:
    async with forward_proxy(1, LOGIN) as proxy:
        link = SseLink(f"https://{AWAY}/sse", proxy=proxy.url)
        with pytest.raises(LinkError, match="its proxy"):
            await link.open(lambda message, stream: None, lambda error: None)
        await link.close()
