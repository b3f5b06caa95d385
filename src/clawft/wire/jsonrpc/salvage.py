"""A list that cannot be read as a whole, without what keeps it from that. Pure.

One entry that is nested a thousand deep, or more entries than anybody reads, would cost a server all the others. The
list is taken apart by its quotes and brackets alone; whoever reads what is left of it finds what else is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from clawft.errors import ParseError
from clawft.wire.jsonrpc.messages import UNREAD, Response, copied
from clawft.wire.jsonrpc.reading import check_utf8
from clawft.wire.readable import MAX_LEVELS

MAX_ENTRIES = 10_000
"""Of a list that are kept; the others are counted."""
MAX_STEPS = 500_000
"""From bracket to bracket, through one list: some tenths of a second. A list with more is not taken apart."""

_HEAD_BYTES = 64 * 1024
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_FLAT = rb'[^\[\]{}"]*+(?:%b[^\[\]{}"]*+){0,500}' % _TEXT
"""Text without brackets."""
_VALUE = rb'(?:%b|[^\[\]{}",]++|[\[{]%b(?:[\[{]%b[\]}]%b){0,50}[\]}])' % (_TEXT, _FLAT, _FLAT, _FLAT)
_MEMBERS = rb"(?:\s*%b\s*:\s*%b\s*,){0,50}\s*" % (_TEXT, _VALUE)
_LIST = rb'"(?:tools|prompts|resources|resourceTemplates)"\s*:\s*\['
_HEAD = rb'(?s)\s*\{(?:%b"result"\s*:\s*\{)?%b%b' % (_MEMBERS, _MEMBERS, _LIST)
"""All before the first entry."""
_STEP = rb"(?s)([\[{]*)([\]}]*)%b" % _FLAT
_BARE = rb'(?s)%b|[^"\[\]{},\s]+' % _TEXT
"""An entry without brackets."""
_NAMED = rb'\{\s*"(?:name|uri|uriTemplate)"\s*:\s*"([\w./:{}-]{1,100})"'


class _Answer(Struct, forbid_unknown_fields=True):
    jsonrpc: str
    id: Raw
    result: Raw


def read_salvaged(answer: bytes) -> Response | None:
    """The answer with a list that this would be, if that can be had."""
    try:
        check_utf8(answer)
        found = salvaged(answer)
        whole = None if found is None else msgspec.json.decode(found, type=_Answer)
    except (ParseError, msgspec.DecodeError, RecursionError):
        return None
    return None if whole is None else Response(copied((whole.id,)), copied((whole.result,)))


def salvaged(answer: bytes) -> bytes | None:
    """An answer, or a result, with as much of its list as can be read. None: there is no list in it, or no way to."""
    head = re.compile(_HEAD).match(answer, 0, _HEAD_BYTES)
    if head is None:
        return None
    entries = _Entries(answer, head.end())
    kept = b",".join(entries)
    if not entries.is_whole:
        return None
    unread = b',"%b":%d' % (UNREAD.encode(), entries.unread) if entries.unread else b""
    return b"".join((head[0], kept, b"]", unread, memoryview(answer)[entries.at + 1 :]))


class _Entries:
    """The entries that are kept, one by one; the others are counted."""

    def __init__(self, answer: bytes, at: int) -> None:
        self._answer = answer
        self._left = MAX_STEPS
        self._is_deep = False
        self.at = at
        self.unread = 0
        self.is_whole = False
        """Whether the end of the list was found."""

    def __iter__(self) -> Iterator[bytes]:
        kept = 0
        while (begin := self._begin()) >= 0:
            if not self._pass_one():
                return
            if kept < MAX_ENTRIES:
                kept += 1
                yield _instead_of(self._answer, begin) if self._is_deep else self._answer[begin : self.at]
            else:
                self.unread += 1
        self.is_whole = True

    def _begin(self) -> int:
        """Of the next entry; less than nothing if there is none."""
        self._go_to(_end_of(rb"[\s,]*", self._answer, self.at))
        return -1 if self._answer[self.at : self.at + 1] == b"]" else self.at

    def _go_to(self, at: int) -> bool:
        is_further, self.at = at > self.at, at
        self._left -= 1
        return is_further and self._left > 0

    def _pass_one(self) -> bool:
        self._is_deep = False
        if self._answer[self.at : self.at + 1] not in (b"{", b"["):
            return self._go_to(_end_of(_BARE, self._answer, self.at))
        step = re.compile(_STEP).match
        depth = 0
        while found := step(self._answer, self.at):
            opened, closed = found.end(1), found.end(2) - found.end(1)
            depth += opened - self.at
            self._is_deep = self._is_deep or depth > MAX_LEVELS
            if closed >= depth:
                return self._go_to(opened + depth)
            depth -= closed
            if not self._go_to(found.end()):
                return False
        return False


def _end_of(pattern: bytes, answer: bytes, at: int) -> int:
    found = re.compile(pattern).match(answer, at)
    return found.end() if found else at


def _instead_of(answer: bytes, begin: int) -> bytes:
    """A text, which is no entry of any list, and says why."""
    return b'"%b is nested too deeply"' % (name_in(answer, begin) or b"it")


def name_in(text: bytes, begin: int = 0) -> bytes:
    """The name of the entry that begins there; empty if it does not say so first, or in odd characters."""
    name = re.compile(_NAMED).match(text, begin)
    return name[1] if name else b""
