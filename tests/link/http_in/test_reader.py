"""A head that was seen before is not parsed again; whoever sends whatever must not be able to tell."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.link.http_in.backlog import Backlog
from clawft.link.http_in.exchange import Address, HttpExchange
from clawft.link.http_in.head import MAX_KNOWN_HEADS, Head, KnownHeads, Limits, Refusal
from clawft.link.http_in.reader import RequestReader
from tests.requirements import requirement

POST = b"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n%b\r\n%b"
SENT = [
    POST % (5, b"", b"hello"),
    POST % (5, b"", b"world"),
    POST % (4, b"", b"\r\n\r\n"),
    POST % (0, b"", b""),
    POST % (5, b"X-Odd: \xff\r\n", b"12345"),
    POST % (5, b"Expect: 100-continue\r\n", b"later"),
    POST % (5, b"Upgrade: websocket\r\nConnection: upgrade\r\n", b"still"),
    POST % (5, b"Connection: close\r\n", b"ended"),
    POST % (5, b"Proxy-Connection: close\r\n", b"ended"),
    b"\r\n" + POST % (5, b"", b"hello"),
    b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\nHost: here\nContent-Length: 7\n\n\r\n\r\nxyz",
    b"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n folded\r\n\r\nhello",
]


class Forgetful(KnownHeads):
    """Knows no head: everything is parsed."""

    def keep(self, data: bytes, head: Head) -> None:
        pass


class NoPeer:
    client: Address | None = None
    server: Address | None = None
    backlog = Backlog()

    def write(self, data: bytes | memoryview) -> None: ...

    def read_more(self) -> None: ...


Found = tuple[list[tuple[Head, bytes | None]], bool, bool, Refusal | None]


def read(pieces: Sequence[bytes], known: KnownHeads) -> Found:
    """All requests in these bytes with their bodies (None: not whole), and how it ended."""
    requests: list[HttpExchange] = []

    def begin(head: Head) -> HttpExchange:
        requests.append(HttpExchange(NoPeer(), head, 0.0))
        return requests[-1]

    reader = RequestReader(Limits(body_bytes=100), known, begin)
    for piece in pieces:
        whole = reader.whole(piece) if reader.refusal is None and not reader.last else None
        if whole is not None:
            requests.append(HttpExchange(NoPeer(), whole[0], 0.0, whole[1]))
            continue
        rest = piece
        while rest and reader.refusal is None and not reader.last:
            rest = rest[reader.feed(rest) :]
    return [(each.head, each.take_body()) for each in requests], reader.in_head, reader.last, reader.refusal


def split(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = sorted({cut % (len(stream) + 1) for cut in cuts} | {0, len(stream)})
    return [stream[start:end] for start, end in itertools.pairwise(places)]


@requirement("SHELL-19")
@settings(max_examples=400)
@given(st.lists(st.sampled_from(SENT), min_size=1, max_size=6), st.lists(st.integers(0, 2000), max_size=5))
def test_what_was_learnt_changes_nothing_of_what_is_read(sent: list[bytes], cuts: list[int]) -> None:
    known = KnownHeads()
    for each in SENT:
        read([each], known)
    for pieces in (sent, split(b"".join(sent), cuts)):
        plain = read(pieces, Forgetful())
        assert read(pieces, known) == plain
        assert read(pieces, known) == plain


@requirement("SHELL-19")
def test_a_known_head_is_recognised_and_its_body_is_the_senders() -> None:
    known = KnownHeads()
    read([SENT[0]], known)
    found = known.find(SENT[1])
    assert found is not None
    assert SENT[1][found[1] :] == b"world"
    assert known.whole(SENT[1]) == (found[0], b"world")
    assert known.whole(SENT[1] + SENT[0]) is None
    assert known.whole(SENT[1][:-1]) is None
    requests, *_ = read([SENT[1], SENT[0][:-2], SENT[0][-2:]], known)
    assert [body for _, body in requests] == [b"world", b"hello"]


@requirement("SHELL-19")
@pytest.mark.parametrize("sent", SENT[5:10] + SENT[11:])
def test_a_head_that_says_more_than_a_length_is_never_learnt(sent: bytes) -> None:
    known = KnownHeads()
    read([sent], known)
    assert known.find(sent) is None


@requirement("QUAL-12")
def test_what_is_remembered_has_a_bound() -> None:
    known = KnownHeads()
    first = POST % (0, b"X-Number: 0\r\n", b"")
    for number in range(MAX_KNOWN_HEADS + 1):
        read([POST % (0, b"X-Number: %d\r\n" % number, b"")], known)
    assert known.find(first) is None
    read([POST % (0, b"X-Long: %b\r\n" % (b"x" * 4000), b"")], known)
    assert known.find(POST % (0, b"X-Long: %b\r\n" % (b"x" * 4000), b"")) is None
