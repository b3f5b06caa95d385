"""The web tools: policy, readable text, search."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from clawft.builtin import families
from clawft.builtin.web import WebSettings, search_address
from clawft.errors import ExecutionFailed, PermissionDenied
from clawft.link.http_out.fetch import FetchBounds
from clawft.policy.url import UrlPolicy
from clawft.provider.base import Provider
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

RESULTS = {
    "results": [
        {"title": "One", "url": "https://one.example/", "content": "first", "engine": "x"},
        {"title": "Two", "url": "https://two.example/", "content": None},
        {"title": "no url"},
    ]
}


class Site:
    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.asked: list[str] = []
        self.redirect = ""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        self.asked.append(target)
        kind, body = self.pages.get(urlsplit(target).path, ("text/plain", b"nothing here"))
        head = f"HTTP/1.1 302 Found\r\nLocation: {self.redirect}" if self.redirect else "HTTP/1.1 200 OK"
        head += f"\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield made


def store_for(agent: str, namespace: str) -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def web(workspace: Path) -> Callable[..., Provider]:
    """The family with some settings."""

    def make(**settings: Any) -> Provider:
        return families(workspace, store_for, settings={"web": WebSettings(**settings)}, only=["web"])[0]

    return make


LOOPBACK = UrlPolicy(allow_networks=("127.0.0.0/8",))


@requirement("WEB-02", "GUARD-04")
async def test_private_addresses_are_refused_by_default(site: Site, providers: Mapping[str, Provider]) -> None:
    for url in (
        f"{site.url}/",
        site.url.replace("127.0.0.1", "localhost"),
        "http://[::1]/",
        "http://169.254.169.254/x",
    ):
        with pytest.raises(PermissionDenied, match="fetch: permission denied"):
            await providers["web"].call_tool("fetch", {"url": url})
    assert site.asked == []


@requirement("WEB-02")
async def test_fetch_gives_readable_text_or_the_source(site: Site, web: Callable[..., Provider]) -> None:
    source = b"<h1>Hi</h1><script>no()</script><p>there <a href='/x'>link</a>"
    site.pages["/"] = ("text/html; charset=utf-8", source)
    page = (await web(url_policy=LOOPBACK).call_tool("fetch", {"url": f"{site.url}/"})).structured_content
    assert page == {
        "url": f"{site.url}/",
        "status": 200,
        "content_type": "text/html",
        "text": f"# Hi\n\nthere [link]({site.url}/x)",
        "truncated": False,
    }
    raw = await web(url_policy=LOOPBACK).call_tool("web_fetch", {"url": f"{site.url}/", "raw": True})
    assert raw.structured_content["text"] == source.decode()


@requirement("WEB-02")
async def test_fetch_has_bounds(site: Site, web: Callable[..., Provider]) -> None:
    site.pages["/"] = ("text/plain", b"x" * 5000)
    page = await web(url_policy=LOOPBACK).call_tool("fetch", {"url": f"{site.url}/", "max_bytes": 100})
    assert (len(page.structured_content["text"]), page.structured_content["truncated"]) == (100, True)


async def test_what_is_no_text_is_refused(site: Site, web: Callable[..., Provider]) -> None:
    site.pages["/"] = ("image/png", b"\x89PNG")
    with pytest.raises(ExecutionFailed, match="is image/png, not text"):
        await web(url_policy=LOOPBACK).call_tool("fetch", {"url": f"{site.url}/"})


@requirement("WEB-02")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"204 No Content\r\n\r\n", (204, "", "text/plain")),
        (b"401 Unauthorized\r\nContent-Length: 0\r\n\r\n", (401, "", "text/plain")),
        (b"503 Busy\r\nContent-Length: 4\r\n\r\nlate", (503, "late", "text/plain")),
        (b"304 Same\r\nContent-Type: image/png\r\n\r\n", (304, "", "image/png")),
    ],
)
async def test_what_has_no_kind_or_no_text_is_told_with_its_status(
    web: Callable[..., Provider], answer: bytes, told: tuple[int, str, str]
) -> None:
    async with answering(b"HTTP/1.1 " + answer) as url:
        page = (await web(url_policy=LOOPBACK).call_tool("fetch", {"url": url})).structured_content
    assert (page["status"], page["text"], page["content_type"]) == told


@requirement("WEB-02")
async def test_bytes_without_a_kind_are_no_text(web: Callable[..., Provider]) -> None:
    async with answering(b"HTTP/1.1 404 Gone\r\nContent-Length: 3\r\n\r\na\0b") as url:
        with pytest.raises(ExecutionFailed, match="is application/octet-stream, not text, and came with status 404"):
            await web(url_policy=LOOPBACK).call_tool("fetch", {"url": url})


@asynccontextmanager
async def answering(answer: bytes) -> AsyncGenerator[str]:
    """A server that says this to whoever asks."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


async def test_failures_of_the_way_are_told_as_failures_of_the_tool(web: Callable[..., Provider]) -> None:
    with pytest.raises(ExecutionFailed, match=r"fetch: 127\.0\.0\.1: "):
        await web(url_policy=LOOPBACK, bounds=FetchBounds(timeout_s=5)).call_tool(
            "fetch", {"url": "http://127.0.0.1:1/"}
        )


@requirement("WEB-02", "GUARD-04")
async def test_a_redirect_to_a_private_address_is_refused(site: Site, web: Callable[..., Provider]) -> None:
    site.redirect = site.url.replace("127.0.0.1", "127.0.0.2")
    only_first = web(url_policy=UrlPolicy(allow_networks=("127.0.0.1/32",)))
    with pytest.raises(PermissionDenied, match=r"127\.0\.0\.2"):
        await only_first.call_tool("fetch", {"url": f"{site.url}/"})
    assert len(site.asked) == 1


@requirement("WEB-01")
async def test_search_asks_the_configured_engine(site: Site, web: Callable[..., Provider]) -> None:
    site.pages["/search"] = ("application/json", msgspec.json.encode(RESULTS))
    provider = web(search_url=f"{site.url}/search")
    assert [each.name for each in provider.list_tools()] == ["fetch", "search"]
    found = (await provider.call_tool("web_search", {"query": "a & b"})).structured_content
    assert found == {
        "result": [
            {"title": "One", "url": "https://one.example/", "snippet": "first"},
            {"title": "Two", "url": "https://two.example/", "snippet": ""},
        ]
    }
    assert parse_qs(urlsplit(site.asked[0]).query) == {"q": ["a & b"], "format": ["json"]}
    one = await provider.call_tool("search", {"query": "x", "limit": 1})
    assert len(one.structured_content["result"]) == 1


@requirement("WEB-01")
async def test_without_an_engine_search_is_not_listed_and_says_why(web: Callable[..., Provider]) -> None:
    provider = web()
    assert [each.name for each in provider.list_tools()] == ["fetch"]
    with pytest.raises(ExecutionFailed, match=r"no search engine is configured .set web\.search_url"):
        await provider.call_tool("search", {"query": "x"})


@requirement("WEB-01", "GUARD-04")
async def test_the_engine_may_be_private_but_not_what_it_redirects_to(site: Site, web: Callable[..., Provider]) -> None:
    site.redirect = site.url.replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(PermissionDenied):
        await web(search_url=f"{site.url}/search").call_tool("search", {"query": "x"})


@requirement("WEB-01")
async def test_an_answer_that_is_none_says_what_to_check(site: Site, web: Callable[..., Provider]) -> None:
    site.pages["/search"] = ("text/html", b"<html>")
    with pytest.raises(ExecutionFailed, match=r"answered 200 and no list of results .*json format"):
        await web(search_url=f"{site.url}/search").call_tool("search", {"query": "x"})


def test_an_endpoint_with_its_own_parameters_keeps_them() -> None:
    assert search_address("https://s.example/?lang=de", "ü") == "https://s.example/?lang=de&q=%C3%BC&format=json"


@requirement("WEB-01")
async def test_the_key_of_a_search_engine_is_told_to_nobody(site: Site, web: Callable[..., Provider]) -> None:
    site.pages["/search"] = ("text/html", b"<html>")
    with pytest.raises(ExecutionFailed) as failed:
        await web(search_url=f"{site.url}/search?key=canary").call_tool("search", {"query": "x"})
    assert "canary" not in str(failed.value)
