"""Decodes notifications of servers as far as we act on them: progress, and changed resources."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.provider.server.relay import told_of
from clawft.wire.strings import clipped_json

MAX_PROGRESS_BYTES = 4 * 1024
MAX_NOTICE_BYTES = 64 * 1024
"""Size of a notification about a changed resource that is passed on whole."""


class ProgressParams(Struct, rename="camel"):
    progress_token: int
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


class _LongProgress(Struct, rename="camel"):
    progress_token: int
    progress: float
    total: float | UnsetType = UNSET
    message: Raw = Raw(b'""')


_progress = msgspec.json.Decoder(ProgressParams)
_long_progress = msgspec.json.Decoder(_LongProgress)


def read_progress(params: bytes) -> ProgressParams | None:
    """The progress, if its token can be ours; else None. A long message is cut."""
    try:
        if len(params) <= MAX_PROGRESS_BYTES:
            return _progress.decode(params)
        long = _long_progress.decode(params)
        message = clipped_json(long.message, MAX_PROGRESS_BYTES)
        return ProgressParams(long.progress_token, long.progress, long.total, message)
    except msgspec.DecodeError:
        return None


def beside_uri(params: bytes) -> dict[str, Raw]:
    """The members of a notification besides its URI; none if it is too large."""
    if len(params) > MAX_NOTICE_BYTES:
        return {}
    return {key: value for key, value in told_of(params).items() if key != "uri"}


class _Named(Struct):
    uri: str


_named = msgspec.json.Decoder(_Named)


def read_uri(params: bytes) -> str | None:
    try:
        return _named.decode(params).uri
    except msgspec.DecodeError:
        return None
