"""No key occurs twice in a message: readers differ in which of two they take, and so a guard could see another message
than the one that is carried out."""

from typing import Any

MAX_BESIDE_BYTES = 1024 * 1024
"""What may stand in a request beside its params; it is read for keys that occur twice."""

_BARE = len('{"jsonrpc":"2.0","method":""}')
_ID = len(',"id":')
_PARAMS = len(',"params":')
AROUND_USUAL = _BARE + _ID + _PARAMS
"""What stands in a usual request beside its id, method and params."""


def is_tight(line: bytes, id: bytes | None, method: str, params: bytes) -> bool:
    """True if the parts we read fill the line, in compact spelling or with Python's blanks: no room for a second key.

    This is how duplicate keys are ruled out for nearly every message without looking at it twice.
    """
    members = 2
    length = _BARE + len(method)
    if id is not None:
        members += 1
        length += _ID + len(id)
    if params:
        members += 1
        length += _PARAMS + len(params)
    if len(line) == length:
        return True
    # `,"id":1` is as long as the blanks; so there must be one of them.
    return len(line) == length + 2 * members - 1 and line.find(b" ") == line.find(b":") + 1


def why_refused(line: bytes, params: bytes) -> str:
    """Empty if each key occurs once. May raise RecursionError."""
    import json  # only messages in unusual spelling come here

    outermost: list[str] = []

    def note_keys(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = [key for key, _ in pairs]  # called for inner objects first, for the message itself last

    line = line.replace(params, b"0", 1) if params else line
    if len(line) > MAX_BESIDE_BYTES:
        return f"more than {MAX_BESIDE_BYTES} bytes beside the params"
    json.loads(line, object_pairs_hook=note_keys, parse_int=str, parse_float=str)
    return "a key occurs twice in the message" if len(set(outermost)) != len(outermost) else ""
