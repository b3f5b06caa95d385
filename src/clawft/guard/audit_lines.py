"""Encodes lines of the audit. Loaded with the first line: commands that only list write none."""

from __future__ import annotations

import os
import time
from binascii import hexlify
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from clawft.model import Call, Caller
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # which has these lines written
    from clawft.guard.audit import Happened


class AuditLines:
    """Encodes the lines of one process; reuses the beginning of the last one, as the next is likely to share it."""

    def __init__(self, *, values: bool) -> None:
        """`values`: write the arguments themselves, and not only their digest."""
        self._values = values
        self._count = 0
        self._run = os.urandom(4).hex().encode()
        self._second, self._stamp = 0, b""
        self._caller: Caller | None = None
        self._tool, self._head = "", b""

    def of(self, happened: Happened) -> bytes:
        """One JSON object, joined from cached parts: this runs for every call."""
        call = happened.call
        second = int(happened.when)
        if second != self._second:
            self._second, self._stamp = second, _timestamp(second)
        if call.caller is not self._caller or call.name is not self._tool:
            self._caller, self._tool, self._head = call.caller, call.name, _head(call)
        self._count += 1
        values = b',"arguments":' + _recorded(call.arguments) if self._values and _has_values(call) else b""
        return _LINE % (
            self._stamp,
            (happened.when - second) * 1000,
            self._run,
            self._count,
            self._head,
            _said(happened.verdict, happened.outcome),
            happened.seconds * 1000,
            len(call.arguments),
            happened.size,
            hexlify(sha256(call.arguments).digest()[:16]),
            b"" if call.origin.trusted else b',"trusted":false',
            values,
        )


def _has_values(call: Call) -> bool:
    return len(call.arguments) <= MAX_VALUES and call.origin.namespace not in SECRETIVE


def _recorded(arguments: bytes) -> bytes:
    """The arguments on one line, as JSON strings hold no raw line ends, and without what looks like a secret."""
    from clawft.store.concealed_secrets import without_resolved  # only where values are wanted
    from clawft.wire.secrets import mask_members

    return mask_members(without_resolved(arguments)).replace(b"\n", b" ").replace(b"\r", b" ")


SECRETIVE = frozenset({"oauth2"})
"""Families whose arguments may hold a secret of the user: never written, whatever the settings say."""
MAX_VALUES = 64 * 1024
"""Arguments longer than this are never written, only their digest."""

MAX_WORD = 1024
"""Characters of a name that are written, so that no line grows too long to be one."""

_LINE = b'{"time":"%b.%03dZ","id":"%b-%d",%b,%b,"ms":%.3f,"bytes_in":%d,"bytes_out":%d,"digest":"%b"%b%b}'


def _timestamp(second: int) -> bytes:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()


def _head(call: Call) -> bytes:
    """Caller and tool, as the inside of a JSON object."""
    caller = call.caller
    texts = (caller.principal, caller.agent, caller.client, call.name, call.origin.server)
    return _told(*(word[:MAX_WORD] for word in texts))


@lru_cache(maxsize=1024)
def _told(principal: str, agent: str, client: str, tool: str, server: str) -> bytes:
    members = {"caller": principal, "agent": agent, "client": client, "tool": tool}
    if server:
        members["server"] = server
    try:
        written = msgspec.json.encode(members)
    except UnicodeEncodeError:  # a typed name that is not valid text
        written = msgspec.json.encode({key: word.encode("utf-8", "replace").decode() for key, word in members.items()})
    return make_visible(written)[1:-1]


@lru_cache(maxsize=256)
def _said(verdict: str, outcome: str) -> bytes:
    return msgspec.json.encode({"verdict": verdict, "outcome": outcome})[1:-1]
