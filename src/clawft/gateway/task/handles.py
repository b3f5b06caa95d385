"""Ids for tasks that servers keep: signed, bound to their caller, and holding all that is needed to find the task.

There is no table, so an id works after a restart, and on every gateway that has the same key.
"""

from __future__ import annotations

import base64
import hmac

import msgspec
from msgspec import Struct

from clawft.errors import BadParams
from clawft.model import Caller

PREFIX = "weft."
MAX_HANDLE_BYTES = 4_096
_SIGNATURE = 16


class Handle(Struct, frozen=True, array_like=True):
    """The provider that has the task, the tool it came from, and the id it has there."""

    namespace: str
    tool: str
    id: str


def is_handle(id: str) -> bool:
    return id.startswith(PREFIX)


class Handles:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def close(self, handle: Handle, caller: Caller) -> str:
        body = msgspec.json.encode(handle)
        return PREFIX + base64.urlsafe_b64encode(self._sign(body, caller) + body).decode().rstrip("=")

    def open(self, id: str, caller: Caller) -> Handle:
        """The task behind an id. Raises BadParams for an altered id or another caller's, as for an unknown one."""
        raw = _decoded(id.removeprefix(PREFIX)) if len(id) <= MAX_HANDLE_BYTES else b""
        signature, body = raw[:_SIGNATURE], raw[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(body, caller)):
            raise unknown_task(id)
        return msgspec.json.decode(body, type=Handle)

    def _sign(self, body: bytes, caller: Caller) -> bytes:
        signed = b"task\0" + caller.principal.encode() + b"\0" + body
        return hmac.digest(self._key, signed, "sha256")[:_SIGNATURE]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""


def unknown_task(id: str) -> BadParams:
    return BadParams(f"unknown task: {id[:100]}")
