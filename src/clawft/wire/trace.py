"""Trace context in `_meta` (W3C): each hop continues the trace under a span of its own. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from msgspec import Raw

PARENT = "traceparent"
STATE = "tracestate"

_VALID = rb'"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})((?:-[^"]*)?)"'
_FIRST = b"00"


def continued(meta: dict[str, Raw], new_span: Callable[[], str]) -> dict[str, Raw]:
    """The `_meta` as it leaves us: the same trace, our span. A parent that cannot be read starts no trace of ours."""
    parent = meta.get(PARENT)
    if parent is None:
        return meta
    read = re.fullmatch(_VALID, parent)
    if read is None or (read[1] == _FIRST and read[4]):
        return {key: value for key, value in meta.items() if key not in (PARENT, STATE)}
    told = b"-".join((_FIRST, read[2], new_span().encode(), read[3]))
    return {**meta, PARENT: Raw(msgspec.json.encode(told.decode()))}
