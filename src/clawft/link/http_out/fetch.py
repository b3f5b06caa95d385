"""The one way out over HTTP: every address is judged before it is used, and only judged addresses are connected to.

A name is resolved once per hop, the judge sees all its addresses, and the connection goes to these and no others, so a
name that changes its mind between check and use gains nothing. Redirects are hops like the first. Bytes are counted
after unpacking, and a large answer takes turns with the large messages of servers: many at once are not in memory at
once.
"""

import asyncio
import codecs
import socket
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.errors import Busy, InvalidArguments, LinkError, RequestTimeout
from clawft.link.http_out.dns import LOOKUPS
from clawft.link.share.turns import ALONE_FROM, AwaitedTurn, LinkSender
from clawft.wire.headers import as_text
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:  # aiohttp and yarl cost some 100 ms to import: only when something is fetched
    from aiohttp import ClientResponse
    from yarl import URL

CHUNK_BYTES = 65_536
DECODED_BYTES = 262_144
"""The bytes that are decoded at once: gzip makes them of a thousandth of their size."""
TURN_SECONDS = 10.0
"""How long a large answer waits for those of others."""
MAX_SENDERS = 256
"""Sites of which we know whether their large answers come."""
ELSEWHERE = "nothing was changed; call the new address directly if you trust it"
PROBE_BYTES = 8192
"""A null byte among the first of these means: not a text."""
AGENT = "clawft"

MAX_CHARSET = 40
CHARSETS = (
    frozenset(
        "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be big5 big5hkscs cp866 cp874 cp932 cp949 euc_jp euc_kr gb18030 "
        "gb2312 gbk iso2022_jp johab koi8-r koi8-u mac-cyrillic mac-roman shift_jis tis-620".split()
    )
    | {f"cp{page}" for page in range(1250, 1259)}
    | {f"iso8859-{part}" for part in range(1, 17)}
)
"""The character sets that pages are written in. Python knows more: some take hours for a megabyte, some give something
other than text.
"""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER = 303
_BECOMES_GET = frozenset({301, 302})
"""Of a POST, as everybody does it; other methods stay what they are."""
_ONLY_LOOK = frozenset({"GET", "HEAD", "OPTIONS"})
_GZIP = 16 + zlib.MAX_WBITS

Judge = Callable[[str, Sequence[str]], None]
"""Sees a URL and every address its host has; raises if it may not be reached."""


class FetchBounds(Struct, frozen=True):
    max_bytes: int = 1_000_000
    """After unpacking; what comes beyond is cut off and marked."""
    timeout_s: float = 30.0
    """For everything, redirects included."""
    redirects: int = 5
    connect_s: float | None = None
    """For a connection alone; as long as for everything if left out."""


class FetchRequest(Struct, frozen=True):
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes = b""


class FetchedAnswer(Struct, frozen=True):
    url: str
    """Where it came from in the end."""
    status: int
    headers: tuple[tuple[str, str], ...]
    content_type: str
    charset: str
    body: bytes
    truncated: bool = False

    def text(self) -> str:
        """In the charset it names, if that is one of the web's; else as UTF-8."""
        return self.body.decode(known_charset(self.charset), "replace")


def known_charset(name: str) -> str:
    if not name.isascii():  # none of the web's is; newer Pythons warn about the question
        return "utf-8"
    try:
        found = codecs.lookup(name[:MAX_CHARSET]).name
    except (LookupError, ValueError):
        return "utf-8"
    return found if found in CHARSETS else "utf-8"


async def fetch(
    url: str,
    *,
    judge: Judge,
    outgoing: FetchRequest = FetchRequest(),  # noqa: B008 - it is frozen
    bounds: FetchBounds = FetchBounds(),  # noqa: B008 - it is frozen
) -> FetchedAnswer:
    """Get one document. LinkError if it cannot be had; whatever the judge raises passes."""
    try:
        async with asyncio.timeout(bounds.timeout_s):
            return await _follow(_parse(url), judge, outgoing, bounds)
    except TimeoutError:
        raise RequestTimeout(mask_url(url), int(bounds.timeout_s * 1000)) from None


async def _follow(url: "URL", judge: Judge, outgoing: FetchRequest, bounds: FetchBounds) -> FetchedAnswer:
    for _ in range(bounds.redirects + 1):
        answer = await _hop(url, judge, outgoing, bounds)
        if isinstance(answer, FetchedAnswer):
            return answer
        status, target = answer
        if not bounds.redirects:
            raise LinkError(f"it redirects to {mask_url(str(target))}, which is not followed")
        try:
            outgoing = after_redirect(outgoing, status, same_origin=target.origin() == url.origin())
        except LinkError as elsewhere:
            raise LinkError(f"{mask_url(str(target))}: {elsewhere.message}", hint=ELSEWHERE) from None
        url = target
    raise LinkError(f"{mask_url(str(url))}: more than {bounds.redirects} redirects")


def after_redirect(outgoing: FetchRequest, status: int, *, same_origin: bool) -> FetchRequest:
    """The request for the next hop: another origin gets neither our headers nor our body. Raises LinkError where it
    would get data that was meant for the first.
    """
    method = outgoing.method
    if status == _SEE_OTHER or (status in _BECOMES_GET and method == "POST"):
        method = "HEAD" if method == "HEAD" else "GET"
    if not same_origin and method not in _ONLY_LOOK:
        raise LinkError(f"a {method} is redirected to another origin and not sent there")
    kept = method == outgoing.method and same_origin
    return FetchRequest(method, outgoing.headers if same_origin else {}, outgoing.body if kept else b"")


async def _hop(
    url: "URL", judge: Judge, outgoing: FetchRequest, bounds: FetchBounds
) -> "FetchedAnswer | tuple[int, URL]":
    import aiohttp

    from clawft.link.http_out.connect_failure import advice, reason_untold
    from clawft.link.http_out.connector import Connector  # as aiohttp itself

    addresses = await _resolve(url)
    judge(str(url), [address.partition("%")[0] for _, address in addresses])
    connector = Connector(resolver=_Pinned(addresses), use_dns_cache=False, socket_factory=_only_to(addresses))
    headers = {"User-Agent": AGENT, "Accept": "*/*", **outgoing.headers, "Accept-Encoding": "gzip"}
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=bounds.timeout_s, connect=bounds.connect_s),
            ) as session,
            session.request(
                outgoing.method, url, headers=headers, data=outgoing.body or None, allow_redirects=False
            ) as response,
        ):
            if response.status in _REDIRECTS and "Location" in response.headers:
                return response.status, _redirected(url, response.headers["Location"])
            return await _read(response, bounds.max_bytes)
    except aiohttp.ClientError as failure:
        raise LinkError(f"{url.host}: {reason_untold(failure)}", hint=advice(failure)) from failure


def _parse(text: str, base: "URL | None" = None) -> "URL":
    from yarl import URL

    try:
        url = URL(text) if base is None else base.join(URL(text))
        port = url.port
    except (ValueError, IndexError) as wrong:  # yarl stumbles over `https://[]@/`
        raise InvalidArguments(f"not a URL: {text!r}: {wrong}") from None
    if url.scheme not in ("http", "https") or not url.raw_host or port is None:
        raise InvalidArguments(f"not an http or https URL: {text!r}")
    return url


def _redirected(url: "URL", location: str) -> "URL":
    try:
        return _parse(location, url)
    except InvalidArguments as wrong:
        raise LinkError(f"{url.host} redirects elsewhere: {wrong.message}") from None


async def _resolve(url: "URL") -> list[tuple[socket.AddressFamily, str]]:
    host = url.raw_host or ""
    try:
        return await LOOKUPS.find(host, url.port)
    except OSError as failure:
        raise LinkError(f"{host}: the name cannot be resolved: {failure.strerror or failure}") from None


class _Pinned:
    """A resolver that knows the judged addresses and nothing else."""

    def __init__(self, addresses: Sequence[tuple[socket.AddressFamily, str]]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        return [
            {"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": 0}
            for family, address in self._addresses
        ]

    async def close(self) -> None:
        pass


def _only_to(addresses: Sequence[tuple[socket.AddressFamily, str]]) -> Callable[[Any], socket.socket]:
    """A socket factory that refuses other addresses: one in the URL itself never passes the resolver."""
    from ipaddress import ip_address  # loaded by now: whoever judges a URL needs it

    judged = {ip_address(address.partition("%")[0]) for _, address in addresses}

    def make(info: Any) -> socket.socket:
        family, kind, protocol, _, target = info
        if ip_address(str(target[0]).partition("%")[0]) not in judged:
            raise OSError(f"{target[0]} was not judged")
        return socket.socket(family, kind, protocol)

    return make


async def _read(response: "ClientResponse", limit: int) -> FetchedAnswer:
    body = BodyDecoder(_encodings(response), limit)
    with AwaitedTurn(_sender_of(str(response.url.origin())), response.close) as turn:
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            left = chunk
            while left and not body.over:
                left = body.add(left)
                await _wait_for(turn, len(body.data))
            if body.over:
                break
    body.end()
    return FetchedAnswer(
        url=str(response.url),
        status=response.status,
        headers=tuple((name, as_text(value)) for name, value in response.headers.items()),
        content_type=as_text(response.content_type) if response.headers.get("Content-Type") else kind_of(body.data),
        charset=response.charset or "",
        body=bytes(body.data),
        truncated=body.full,
    )


def kind_of(body: bytes | bytearray) -> str:
    """Of a body that nobody has named a kind for: many servers leave it out, with errors above all."""
    return "application/octet-stream" if b"\0" in body[:PROBE_BYTES] else "text/plain"


_senders: dict[str, LinkSender] = {}


def _sender_of(site: str) -> LinkSender:
    """A site that lets one large answer hang comes last with its others."""
    sender = _senders[site] = _senders.pop(site, None) or LinkSender()
    while len(_senders) > MAX_SENDERS:
        del _senders[next(iter(_senders))]
    return sender


def _encodings(response: "ClientResponse") -> str:
    """All codings of the body, from each line of both headers, without `chunked`."""
    encodings = [*response.headers.getall("Content-Encoding", ()), *response.headers.getall("Transfer-Encoding", ())]
    codings = [each.strip() for line in encodings for each in line.split(",")]
    return ", ".join(each for each in codings if each and each.lower() != "chunked")


async def _wait_for(turn: AwaitedTurn, size: int) -> None:
    """Until more than these bytes may be held."""
    if size < ALONE_FROM:
        return
    try:
        async with asyncio.timeout(TURN_SECONDS):
            await turn.wait(size)
    except TimeoutError:
        raise Busy("busy: too many large answers at once", hint="try again in a moment, or ask for less") from None


class BodyDecoder:
    """A body as it comes in, decoded, never more than `limit` bytes of it."""

    def __init__(self, encoding: str, limit: int) -> None:
        if encoding.lower() not in ("", "identity", "gzip", "x-gzip"):
            raise LinkError(f"the answer is packed as {encoding!r}, which was not asked for")
        self.data = bytearray()
        self.full = False
        self._begun = False
        self._limit = limit
        self._gzip = zlib.decompressobj(_GZIP) if "gzip" in encoding.lower() else None

    def add(self, chunk: bytes) -> bytes:
        """Decode a part of the chunk; returns what is left of it."""
        self._begun = True
        room = self._limit - len(self.data)
        piece, left = self._unpack(chunk, min(room + 1, DECODED_BYTES))
        self.data += piece[: room + 1]
        if len(self.data) > self._limit:
            del self.data[self._limit :]
            self.full = True
        return left

    @property
    def over(self) -> bool:
        """Nothing more is wanted: there is no room, or its gzip has ended, whatever is sent behind it."""
        return self.full or (self._gzip is not None and self._gzip.eof)

    def end(self) -> None:
        """Nothing more comes. Raises LinkError if something should."""
        if self._gzip is not None and self._begun and not self.over:
            raise LinkError("the answer breaks off in the middle of its gzip")

    def _unpack(self, chunk: bytes, most: int) -> tuple[bytes, bytes]:
        if self._gzip is None:
            return chunk, b""
        try:
            return self._gzip.decompress(chunk, most), self._gzip.unconsumed_tail
        except zlib.error as wrong:
            raise LinkError(f"the answer is not valid gzip: {wrong}") from None
