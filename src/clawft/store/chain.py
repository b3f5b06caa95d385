"""A hash chain of lines: each is sealed to the one before it. Pure functions.

A line is `{"seq":N, …the entry…, "prev":"<hash of the line before>","hash":"<sha256 of all that stands before it>"}`.
The hash covers `prev`, and so every line before it.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from clawft.errors import InvalidArguments

GENESIS = "0" * 64
MAX_ENTRY_BYTES = 1_048_576

_SEAL = b',"hash":"'
_SEALED_END = len(_SEAL) + 64 + len('"}')


class ChainLink(Struct, frozen=True):
    """A line's place in the chain."""

    seq: int = 0
    hash: str = GENESIS
    prev: str = ""


START = ChainLink()


def seal(entries: Iterable[bytes], after: ChainLink) -> tuple[bytes, ChainLink]:
    """The entries as lines that continue the chain, and its new end."""
    from hashlib import sha256  # loads OpenSSL; whoever only lists writes nothing

    lines: list[bytes] = []
    seq, end = after.seq, after.hash.encode()
    before = end
    for entry in entries:
        seq += 1
        body = b'{"seq":%d,%b,"prev":"%b"' % (seq, entry[1:-1], end)
        before, end = end, hexlify(sha256(body).digest())
        lines += (body, _SEAL, end, b'"}\n')
    return b"".join(lines), ChainLink(seq, end.decode(), before.decode())


def check_entries(entries: list[bytes]) -> list[bytes]:
    """The entries, if lines can be made of all of them; in the usual case without looking at each for long."""
    together = b"".join(entries)
    is_usual = b"\n" not in together and b"\r" not in together and max(map(len, entries), default=0) <= MAX_ENTRY_BYTES
    for entry in entries:
        if not is_usual or entry[:2] != b'{"' or entry[-1:] != b"}":
            check_entry(entry)
    return entries


def check_entry(entry: bytes) -> bytes:
    """The entry, if it is something a line can be made of: one JSON object with members, on one line."""
    if not (entry.startswith(b'{"') and entry.endswith(b"}")) or b"\n" in entry or b"\r" in entry:
        raise InvalidArguments("a journal entry must be one JSON object on one line, with at least one member")
    if len(entry) > MAX_ENTRY_BYTES:
        raise InvalidArguments(f"a journal entry of {len(entry)} bytes", hint=f"keep it within {MAX_ENTRY_BYTES} bytes")
    return entry


def read_link(line: bytes) -> ChainLink | None:
    """The link of a line; None if it is no sealed line at all."""
    try:
        return msgspec.json.decode(line, type=ChainLink)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def check(line: bytes, before: ChainLink) -> ChainLink | str:
    """The link of a line that follows `before`, or what is wrong with it."""
    from hashlib import sha256  # loads OpenSSL; whoever only lists checks nothing

    link = read_link(line)
    if link is None:
        return "this is no line of the journal"
    body = line[:-_SEALED_END]
    if line[-_SEALED_END:] != b'%b%b"}' % (_SEAL, link.hash.encode()) or sha256(body).hexdigest() != link.hash:
        return "the line was changed"
    if link.seq == before.seq + 1 and link.prev == before.hash:
        return link
    if before == START:
        return f"the journal begins with line {link.seq}: the lines before it are missing"
    return f"expected line {before.seq + 1}, found line {link.seq}: lines were removed, inserted, moved or replaced"
