"""The way out over HTTP, against real servers on loopback."""

import asyncio
import gzip
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from clawft.errors import InvalidArguments, LinkError, PermissionDenied, RequestTimeout
from clawft.link.http_out import dns
from clawft.link.http_out.dns import Place
from clawft.link.http_out.fetch import BodyDecoder, FetchBounds, FetchedAnswer, FetchRequest, after_redirect, fetch
from tests.requirements import requirement

Answer = bytes | Callable[[bytes], bytes]


def answer(body: bytes = b"hello", status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Site:
    """A server that gives each path its answer and remembers the heads it saw."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[bytes] = []
        self.port = 0

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.seen.append(head)
        found = self.answers.get(head.split()[1].decode(), answer(b"", "404 Not Found"))
        writer.write(found(head) if callable(found) else found)
        try:
            await writer.drain()
            if found != STALLED:
                writer.close()
            await reader.read()
        except ConnectionError:
            pass  # a client that has enough hangs up
        writer.close()


STALLED = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


def anyone(url: str, addresses: Sequence[str]) -> None:
    """A judge who lets everything through."""


class Strict:
    """A judge who remembers what it saw and refuses what contains a word."""

    def __init__(self, word: str = "") -> None:
        self.word = word
        self.seen: list[tuple[str, list[str]]] = []

    def __call__(self, url: str, addresses: Sequence[str]) -> None:
        self.seen.append((url, list(addresses)))
        if self.word and self.word in url:
            raise PermissionDenied("fetch", f"{url} is private")


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        ("iso-8859-1", b"\xe4", "ä"),
        ("Shift_JIS", "日本".encode("shift_jis"), "日本"),
        ("utf-16", "ä".encode("utf-16"), "ä"),
        ("punycode", b"b" * 1_000_000, "b" * 1_000_000),
        ("unicode_escape", b"\\ud800", "\\ud800"),
        ("utf-7", b"+2AA-", "+2AA-"),
        ("undefined", b"x", "x"),
        ("idna", b"x", "x"),
        ("hex", b"00", "00"),
        ("a\0b", b"x", "x"),
        ("\udcff", b"x", "x"),
        ("no-such-thing", b"\xff", "\ufffd"),
    ],
)
def test_only_charsets_of_the_web_are_believed(charset: str, body: bytes, text: str) -> None:
    """Python has decoders that take hours, that raise, and that give halves of characters."""
    assert FetchedAnswer("", 200, (), "text/plain", charset, body).text() == text


async def test_headers_that_are_no_text_become_some(site: Site) -> None:
    odd = b"HTTP/1.1 200 OK\r\nX: \xff\r\nContent-Type: a/\xff; charset=\xfe\r\nContent-Length: 1\r\n\r\nx"
    site.answers["/"] = odd
    found = await fetch(site.url("/"), judge=anyone)
    str((found.headers, found.content_type, found.text())).encode()


@requirement("WEB-02")
async def test_a_document_comes_whole_with_what_is_known_about_it(site: Site) -> None:
    site.answers["/x?q=1"] = answer("grüezi".encode(), Content_Type="text/plain; charset=utf-8")
    found = await fetch(site.url("/x?q=1"), judge=anyone)
    assert (found.status, found.url, found.body.decode()) == (200, site.url("/x?q=1"), "grüezi")
    assert (found.content_type, found.charset, found.truncated) == ("text/plain", "utf-8", False)
    assert (await fetch(site.url("/nope"), judge=anyone)).status == 404


@requirement("WEB-02")
async def test_method_headers_and_body_go_out(site: Site) -> None:
    site.answers["/"] = answer()
    await fetch(site.url("/"), judge=anyone, outgoing=FetchRequest("POST", {"X-Mine": "1"}, b"abc"))
    head = site.seen[0].lower()
    assert head.startswith(b"post / http/1.1")
    assert b"x-mine: 1" in head
    assert b"content-length: 3" in head


@requirement("WEB-02", "GUARD-04")
async def test_a_refused_address_is_never_connected_to(site: Site) -> None:
    with pytest.raises(PermissionDenied, match="is private"):
        await fetch(site.url("/"), judge=Strict("127.0.0.1"))
    assert site.seen == []


@requirement("WEB-02", "GUARD-04")
@pytest.mark.parametrize("target", ["{site}/private", "//127.0.0.1:{port}/private", "/private"])
async def test_each_redirect_is_judged_again(site: Site, target: str) -> None:
    target = target.replace("{site}", site.url("")).replace("{port}", str(site.port))
    site.answers["/"] = answer(b"", "302 Found", Location=target)
    site.answers["/private"] = answer(b"secret")
    judge = Strict("/private")
    with pytest.raises(PermissionDenied):
        await fetch(site.url("/"), judge=judge)
    assert [url for url, _ in judge.seen] == [site.url("/"), site.url("/private")]
    assert len(site.seen) == 1


@requirement("WEB-02")
async def test_redirects_are_followed_and_bounded(site: Site) -> None:
    site.answers["/a"] = answer(b"", "301 Moved Permanently", Location="/b")
    site.answers["/b"] = answer(b"there")
    site.answers["/loop"] = answer(b"", "302 Found", Location="/loop")
    found = await fetch(site.url("/a"), judge=anyone)
    assert (found.url, found.body) == (site.url("/b"), b"there")
    site.seen.clear()
    with pytest.raises(LinkError, match="more than 5 redirects"):
        await fetch(site.url("/loop"), judge=anyone)
    assert len(site.seen) == 6


@requirement("WEB-02")
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://example.org/", "http://a:b/", "javascript:alert(1)", "https://[]@/x"]
)
async def test_redirects_lead_to_http_only(site: Site, target: str) -> None:
    site.answers["/"] = answer(b"", "302 Found", Location=target)
    with pytest.raises(LinkError, match=r"127\.0\.0\.1 redirects elsewhere: not a"):
        await fetch(site.url("/"), judge=anyone)


@pytest.mark.parametrize(
    "url", ["", "x", "file:///etc/passwd", "http://", "http://a:b/", "//host/", "http://[::1", "https://[]@/"]
)
async def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidArguments, match="not a"):
        await fetch(url, judge=anyone)


def test_another_origin_gets_neither_headers_nor_body() -> None:
    sent = FetchRequest("POST", {"Authorization": "Bearer x"}, b"body")
    assert after_redirect(sent, 307, same_origin=True) == sent
    assert after_redirect(sent, 302, same_origin=True) == FetchRequest("GET", sent.headers)
    assert after_redirect(sent, 303, same_origin=False) == FetchRequest("GET")
    assert after_redirect(FetchRequest("HEAD"), 302, same_origin=True) == FetchRequest("HEAD")
    assert after_redirect(FetchRequest("HEAD"), 303, same_origin=False) == FetchRequest("HEAD")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_what_changes_something_stays_what_it_is_or_is_not_sent(method: str) -> None:
    sent = FetchRequest(method, {"X": "y"}, b"body")
    for status in (301, 302, 307, 308):
        assert after_redirect(sent, status, same_origin=True) == sent
        with pytest.raises(LinkError, match=f"a {method} is redirected to another origin and not sent there"):
            after_redirect(sent, status, same_origin=False)
    assert after_redirect(sent, 303, same_origin=True) == FetchRequest("GET", sent.headers)


@requirement("WEB-02", "GUARD-04")
async def test_a_name_is_resolved_once_and_only_its_judged_address_is_used(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/"] = answer()
    asked: list[str] = []

    def rebinding(host: str, port: int | None) -> list[Place]:
        asked.append(host)
        return [(socket.AF_INET, "127.0.0.1" if len(asked) == 1 else "127.0.0.2")]

    monkeypatch.setattr(dns, "system_addresses", rebinding)
    judge = Strict()
    found = await fetch(site.url("/", "rebinding.test"), judge=judge)
    assert found.body == b"hello"
    assert asked == ["rebinding.test"]
    assert judge.seen == [(site.url("/", "rebinding.test"), ["127.0.0.1"])]
    assert f"host: rebinding.test:{site.port}".encode() in site.seen[0].lower()


@requirement("WEB-02", "GUARD-04")
@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost"])
async def test_odd_spellings_are_judged_by_what_they_mean(site: Site, host: str) -> None:
    judge = Strict("http")
    with pytest.raises(PermissionDenied):
        await fetch(site.url("/", host), judge=judge)
    assert "127.0.0.1" in judge.seen[0][1]
    assert site.seen == []


@requirement("WEB-02")
async def test_a_long_answer_is_cut_at_the_bound(site: Site) -> None:
    site.answers["/"] = answer(b"x" * 300_000)
    found = await fetch(site.url("/"), judge=anyone, bounds=FetchBounds(max_bytes=1000))
    assert (found.body, found.truncated) == (b"x" * 1000, True)
    exact = await fetch(site.url("/"), judge=anyone, bounds=FetchBounds(max_bytes=300_000))
    assert (len(exact.body), exact.truncated) == (300_000, False)


@requirement("WEB-02", "QUAL-12")
async def test_bytes_are_counted_after_unpacking(site: Site) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert len(bomb) < 100_000
    site.answers["/bomb"] = answer(bomb, Content_Encoding="gzip")
    site.answers["/fine"] = answer(gzip.compress(b"fine"), Content_Encoding="gzip")
    site.answers["/broken"] = answer(b"not gzip", Content_Encoding="gzip")
    site.answers["/half"] = answer(gzip.compress(b"half " * 1000)[:-20], Content_Encoding="gzip")
    site.answers["/odd"] = answer(b"?", Content_Encoding="br")
    found = await fetch(site.url("/bomb"), judge=anyone, bounds=FetchBounds(max_bytes=1000))
    assert (len(found.body), found.truncated) == (1000, True)
    assert (await fetch(site.url("/fine"), judge=anyone)).body == b"fine"
    for path, said in (
        ("/broken", "not valid gzip"),
        ("/half", "in the middle of its gzip"),
        ("/odd", "packed as 'br'"),
    ):
        with pytest.raises(LinkError, match=said):
            await fetch(site.url(path), judge=anyone)


@requirement("QUAL-12")
def test_unpacking_never_holds_more_than_the_bound() -> None:
    packed = gzip.compress(b"a" * 50_000_000)
    body = BodyDecoder("gzip", 1000)
    tracemalloc.start()
    try:
        body.add(packed)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(body.data), body.full) == (1000, True)
    assert most < 1_000_000


@requirement("QUAL-12")
async def test_what_is_sent_behind_the_end_of_a_gzip_is_not_read(site: Site) -> None:
    """It would be kept, and each piece would cost as much as all before it."""
    packed = gzip.compress(b"fine")
    more = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000\r\n\r\n"
    site.answers["/"] = more + packed
    assert (await fetch(site.url("/"), judge=anyone)).body == b"fine"
    body = BodyDecoder("gzip", 1000)
    body.add(packed)
    assert (body.over, body.full) == (True, False)


@requirement("WEB-02")
async def test_a_server_that_stalls_runs_into_the_deadline(site: Site) -> None:
    site.answers["/"] = STALLED
    with pytest.raises(RequestTimeout, match="no answer within 200 ms"):
        await fetch(site.url("/"), judge=anyone, bounds=FetchBounds(timeout_s=0.2))


async def test_what_cannot_be_reached_is_named(site: Site) -> None:
    with socket.socket() as held:  # bound but not listening: nobody else gets the port, nobody answers on it
        held.bind(("127.0.0.1", 0))
        with pytest.raises(LinkError, match=r"127\.0\.0\.1"):
            await fetch(f"http://127.0.0.1:{held.getsockname()[1]}/", judge=anyone)
    site.answers["/"] = b"this is not HTTP\r\n\r\n"
    with pytest.raises(LinkError):
        await fetch(site.url("/"), judge=anyone)


async def test_cookies_and_proxies_of_ours_are_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    site.answers["/a"] = answer(b"", "302 Found", Location="/b", Set_Cookie="id=1")
    site.answers["/b"] = answer()
    found = await fetch(site.url("/a"), judge=anyone)
    assert isinstance(found, FetchedAnswer)
    assert b"cookie" not in site.seen[1].lower()


@requirement("WEB-02", "OAUTH-01")
@pytest.mark.parametrize(
    "sent",
    [
        b'{"access_token":"canary-token"}\r\n\r\n',
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{" + b'"access_token":"canary-token"}' + b" " * 100,
        b"HTTP/1.1 200 OK\r\ncanary-token\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\ncanary-token\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n5;\r\ncanary-token",
    ],
)
async def test_what_is_wrong_with_an_answer_is_told_in_one_line_without_the_answer(site: Site, sent: bytes) -> None:
    """It may be the answer of a token endpoint that counts wrong."""
    site.answers["/"] = sent
    with pytest.raises(LinkError) as failed:
        await fetch(site.url("/"), judge=anyone)
    assert "canary" not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert len(str(failed.value)) > len("127.0.0.1: ")


@requirement("WEB-02")
@pytest.mark.parametrize("codings", [("gzip", "gzip"), ("identity", "gzip")])
async def test_what_is_packed_twice_is_not_taken_for_a_document(site: Site, codings: tuple[str, str]) -> None:
    packed = gzip.compress(gzip.compress(b"fine"))
    lines = "".join(f"Content-Encoding: {coding}\r\n" for coding in codings)
    site.answers["/"] = f"HTTP/1.1 200 OK\r\n{lines}Content-Length: {len(packed)}\r\n\r\n".encode() + packed
    with pytest.raises(LinkError, match=f"packed as '{codings[0]}, {codings[1]}'"):
        await fetch(site.url("/"), judge=anyone)


@requirement("WEB-02")
async def test_what_is_packed_on_its_way_is_unpacked(site: Site) -> None:
    packed = gzip.compress(b"fine")
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    site.answers["/"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + chunked
    assert (await fetch(site.url("/"), judge=anyone)).body == b"fine"


@requirement("WEB-02")
async def test_a_site_whose_large_documents_hang_comes_last_with_its_others(site: Site) -> None:
    """Each of them was waited for in turn, before those of anybody else."""
    large = b"x" * 3_000_000
    site.answers["/"] = answer(large)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + large)
        await reader.read()  # until it hangs up
        await reader.read()
        writer.close()

    bounds = FetchBounds(max_bytes=10_000_000)
    async with await asyncio.start_server(hang, "127.0.0.1", 0) as slow:
        place = f"http://127.0.0.1:{slow.sockets[0].getsockname()[1]}/"
        hanging = [asyncio.create_task(fetch(place, judge=anyone, bounds=bounds)) for _ in range(4)]
        await asyncio.sleep(0.3)
        assert (await fetch(site.url("/"), judge=anyone, bounds=bounds)).body == large
        assert not all(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        ended = await asyncio.gather(*hanging, return_exceptions=True)
        assert any("did not end a large message" in str(each) for each in ended)
