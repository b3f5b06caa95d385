"""A key that occurs twice in a message: readers differ in which of the two they take, so a guard might judge another
message than the one that is carried out. Loaded for messages in unusual spelling alone."""

import json
from typing import Any

MAX_BESIDE_BYTES = 1024 * 1024
"""The most that may stand in a request beside its params; it is read for keys that occur twice."""


def why_refused(line: bytes, params: bytes) -> str:
    """Empty if each key occurs once. May raise RecursionError."""
    outermost: list[str] = []

    def note_keys(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = [key for key, _ in pairs]  # called for inner objects first, for the message itself last

    line = line.replace(params, b"0", 1) if params else line
    if len(line) > MAX_BESIDE_BYTES:
        return f"more than {MAX_BESIDE_BYTES} bytes beside the params"
    json.loads(line, object_pairs_hook=note_keys, parse_int=str, parse_float=str)
    return "a key occurs twice in the message" if len(set(outermost)) != len(outermost) else ""
