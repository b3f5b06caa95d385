"""The head of an HTTP/1.1 request: what it asks for, or why it is refused. Pure; the parser already split the bytes.

The parser (llhttp, strict) refuses malformed bytes. Here stands what it lets pass and two servers could still read
differently: a second Host, a foreign Transfer-Encoding, a target that names another host than the Host header.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

Headers = Sequence[tuple[bytes, bytes]]

KIB: Final = 1024
METHODS: Final = {word.encode(): word for word in ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH")}
TELLING: Final = frozenset(
    (b"host", b"content-length", b"transfer-encoding", b"connection", b"proxy-connection", b"upgrade", b"expect")
)  # the headers that decide about the message itself; all others pass untouched


LISTS: Final = frozenset((b"connection", b"proxy-connection", b"upgrade"))
"""The headers among them that may come several times."""


class Limits(Struct, frozen=True, kw_only=True):
    """Every bound of the HTTP server. A timeout is noticed at most a quarter of itself (at most one second) late."""

    head_bytes: int = 16 * KIB
    headers: int = 100
    body_bytes: int = 16 * KIB * KIB
    told_body_bytes: int | None = None
    """The most that a refusal names, where the application takes less than we let through to it."""
    head_seconds: float = 10.0
    """From the first byte (on a new connection: from its opening) to the empty line."""
    body_idle_seconds: float = 30.0
    body_seconds: float = 300.0
    """The whole body; time in which we do not read because the application is slow does not count."""
    keep_alive_seconds: float = 75.0
    write_seconds: float = 30.0
    """A client that takes nothing for so long, while more than 64 KiB wait for it, is cut off."""
    linger_seconds: float = 2.0
    """How long we go on reading after a refusal, so that the client can see the refusal instead of a reset."""
    connections: int = 1000
    connections_of_one: int = 256
    """From one address; those of this very machine count only together with all others."""
    give_way_seconds: float = 0.1
    """When all connections are taken, one that has brought no whole request for so long gives way to a new one."""
    guest_seconds: float = 0.5
    """One that came when nearly all were taken gives way even with a request, once that takes longer than this."""
    waiting_seconds: float = 5.0
    """One that finds no place waits so long for one."""


class Refusal(Struct, frozen=True):
    """An answer of the server itself: the application never sees the request."""

    status: int
    text: str


class Head(Struct, frozen=True):
    """A request line and headers that are safe to act on."""

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    length: int
    """Bytes of the body; -1 for a chunked one."""
    keep_alive: bool
    expects: bool
    """The client waits for `100 Continue` before it sends the body."""
    upgrade: bool
    """An Upgrade header is present. We never switch, but the parser stops there and has to be set going again."""


END_OF_HEAD: Final = b"\r\n\r\n"
MAX_KNOWN_HEADS: Final = 512
MAX_KNOWN_BYTES: Final = 2 * KIB
"""Longer heads are not worth remembering."""


class KnownHeads:
    """Heads by the very bytes they came as: a client sends the same ones again and again, and they need no parsing."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def find(self, data: bytes) -> tuple[Head, int] | None:
        """The head these bytes begin with, and where it ends."""
        end = data.find(END_OF_HEAD) + len(END_OF_HEAD)
        head = self._heads.get(data[:end])
        return None if head is None else (head, end)

    def whole(self, data: bytes) -> tuple[Head, bytes] | None:
        """The request that these bytes are, its body beside its head, if they are just one."""
        found = self.find(data)
        if found is None or len(data) != found[1] + found[0].length:
            return None
        return found[0], data[found[1] :]

    def keep(self, data: bytes, head: Head) -> None:
        """Remember the head that was parsed out of these bytes, if it can only be read in one way."""
        first = data[: data.find(END_OF_HEAD) + len(END_OF_HEAD)]
        if len(first) <= MAX_KNOWN_BYTES and _is_plain(head) and _has_clear_end(first):
            if len(self._heads) >= MAX_KNOWN_HEADS:
                self._heads.clear()
            self._heads[first] = head


def _is_plain(head: Head) -> bool:
    """Nothing about it but its length decides how to read on."""
    return head.length >= 0 and head.keep_alive and not head.expects and not head.upgrade


def _has_clear_end(first: bytes) -> bool:
    """Whether the first empty line ends it: not if there are blank lines before it, or line ends of any other form."""
    if first[:1] in b"\r\n" or not first.endswith(END_OF_HEAD):
        return False
    return first.count(b"\r\n") == first.count(b"\n") == first.count(b"\r")


def read_head(method: bytes, version: str, target: bytes, headers: Headers, limits: Limits) -> Head | Refusal:
    """A ladder: the first rung that fails is the answer."""
    if version not in ("1.1", "1.0"):
        return Refusal(505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
    if method not in METHODS:
        return Refusal(501, "this method is not served here")
    telling = _telling(headers)
    if isinstance(telling, Refusal):
        return telling
    length = _body_length(telling, version, limits)
    if isinstance(length, Refusal):
        return length
    host = telling.get(b"host")
    if host is None and version == "1.1":
        return Refusal(400, "an HTTP/1.1 request needs a Host header")
    place = _place(method, target, host)
    if isinstance(place, Refusal):
        return place
    expect = telling.get(b"expect", b"").lower()
    if expect not in (b"", b"100-continue"):
        return Refusal(417, "only 'Expect: 100-continue' is understood")
    return Head(
        method=METHODS[method],
        version=version,
        path=_decoded(place[0]),
        raw_path=place[0],
        query=place[1],
        headers=headers,
        length=length,
        keep_alive=version == "1.1" and not _says_close(telling),
        expects=expect != b"" and version == "1.1" and length != 0,
        upgrade=b"upgrade" in telling,
    )


def _telling(headers: Headers) -> dict[bytes, bytes] | Refusal:
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name not in TELLING:
            continue
        if name not in found:
            found[name] = value
        elif name in LISTS:
            found[name] += b"," + value
        else:
            return Refusal(400, f"the header {name.decode()} came twice")
    return found


def _body_length(telling: dict[bytes, bytes], version: str, limits: Limits) -> int | Refusal:
    coding, length = telling.get(b"transfer-encoding"), telling.get(b"content-length")
    if coding is None:
        return _counted_length(length, limits) if length is not None else 0
    if length is not None:
        return Refusal(400, "Content-Length and Transfer-Encoding in one request")
    if version != "1.1":
        return Refusal(400, "Transfer-Encoding needs HTTP/1.1")
    if coding.lower() != b"chunked":
        return Refusal(501, "only the transfer coding 'chunked' is understood")
    return -1


def _counted_length(value: bytes, limits: Limits) -> int | Refusal:
    if not value.isdigit():
        return Refusal(400, "Content-Length is not a number")
    length = int(value)
    return too_long(limits) if length > limits.body_bytes else length


def too_long(limits: Limits) -> Refusal:
    most = limits.told_body_bytes or limits.body_bytes
    return Refusal(
        413, f"the body is longer than {most} bytes, the most this server takes; send less, or raise its limit"
    )


def too_much_head(limits: Limits) -> Refusal:
    return Refusal(431, f"the request head is larger than {limits.head_bytes} bytes or {limits.headers} headers")


def _place(method: bytes, target: bytes, host: bytes | None) -> tuple[bytes, bytes] | Refusal:
    """Path and query of the target; an absolute target must name the very host the Host header names."""
    if not target.startswith(b"/"):
        relative = _relative(method, target, host)
        if isinstance(relative, Refusal):
            return relative
        target = relative
    if b"#" in target:
        return Refusal(400, "a request target has no fragment")
    path, _, query = target.partition(b"?")
    return path, query


def _relative(method: bytes, target: bytes, host: bytes | None) -> bytes | Refusal:
    if target == b"*" and method == b"OPTIONS":
        return target
    scheme, mark, rest = target.partition(b"://")
    if not mark or scheme.lower() not in (b"http", b"https"):
        return Refusal(400, "the request target is neither a path nor an http URL")
    cut = next((at for at, byte in enumerate(rest) if byte in b"/?#"), len(rest))
    if host is not None and rest[:cut].lower() != host.lower():
        return Refusal(400, "the request target and the Host header name different hosts")
    tail = rest[cut:]
    return tail if tail.startswith(b"/") else b"/" + tail


def _says_close(telling: dict[bytes, bytes]) -> bool:
    """By either name, as the parser has it: it reads nothing after such a request."""
    connection, told_proxies = telling.get(b"connection", b""), telling.get(b"proxy-connection", b"")
    return _has_token(connection, b"close") or _has_token(told_proxies, b"close")


def _has_token(value: bytes, token: bytes) -> bool:
    return token in value.lower() and any(part.strip() == token for part in value.lower().split(b","))


def _decoded(path: bytes) -> str:
    if b"%" not in path:
        return path.decode("ascii", "replace")
    from urllib.parse import unquote  # rare on our paths, and dear at start

    return unquote(path.decode("ascii", "replace"))
