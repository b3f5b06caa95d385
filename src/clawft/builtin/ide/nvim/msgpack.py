"""Finds where a MessagePack value ends in a stream; msgspec decodes it."""

_FIXED = {
    0xC0: 1,
    0xC2: 1,
    0xC3: 1,
    0xCA: 5,
    0xCB: 9,
    0xCC: 2,
    0xCD: 3,
    0xCE: 5,
    0xCF: 9,
    0xD0: 2,
    0xD1: 3,
    0xD2: 5,
    0xD3: 9,
    0xD4: 3,
    0xD5: 4,
    0xD6: 6,
    0xD7: 10,
    0xD8: 18,
}  # fmt: skip - a table
"""First byte → size of the whole value."""
_COUNTED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}
"""First byte of bytes, texts and extensions → size of their length."""
_TAGGED = frozenset({0xC7, 0xC8, 0xC9})
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
"""First byte of arrays and maps → size of their count, values per item."""


def end_of_value(data: bytes | bytearray, start: int = 0) -> int:
    """The offset behind the value that begins at `start`, or -1 if it is not whole yet."""
    at, left = start, 1
    while left:
        if at >= len(data):
            return -1
        first = data[at]
        step = _step(data, at, first)
        if step is None:
            return -1
        size, inner = step
        at += size
        left += inner - 1
    return at if at <= len(data) else -1


def _step(data: bytes | bytearray, at: int, first: int) -> tuple[int, int] | None:
    """Size of the head (with its bytes) and how many values follow inside; None if the head is cut off."""
    if first <= 0x7F or first >= 0xE0:
        return 1, 0
    if first <= 0x8F:
        return 1, 2 * (first & 0x0F)
    if first <= 0x9F:
        return 1, first & 0x0F
    if first <= 0xBF:
        return 1 + (first & 0x1F), 0
    if first in _FIXED:
        return _FIXED[first], 0
    width, per = (_COUNTED[first], 0) if first in _COUNTED else _nested(first)
    if at + 1 + width > len(data):
        return None
    count = int.from_bytes(data[at + 1 : at + 1 + width], "big")
    if per:
        return 1 + width, count * per
    return 1 + width + count + (first in _TAGGED), 0


def _nested(first: int) -> tuple[int, int]:
    if first not in _NESTED:
        raise ValueError(f"byte {first:#x} begins no value")
    return _NESTED[first]
