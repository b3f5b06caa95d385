"""Counting the parts of a message: never fewer than there are, and no comma of a text is one."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import BadEnvelope
from clawft.wire import parts
from clawft.wire.jsonrpc import reading
from tests.requirements import requirement

MANY = parts.MAX_PARTS + 1
LONG_TEXT = "x" * parts.LONG


def padded(value: object) -> bytes:
    return json.dumps([LONG_TEXT, value]).encode()


@requirement("QUAL-12")
def test_what_is_short_is_never_counted() -> None:
    assert not parts.are_many(b"[" + b"0," * MANY + b"0]")
    assert parts.are_many(b"[" + b"0," * MANY + b"0]", 0)


@pytest.mark.slow
@requirement("QUAL-12")
def test_lists_objects_members_and_items_are_parts() -> None:
    for one in ("0", "[]", "{}"):
        assert parts.are_many(padded(json.loads(f"[{','.join([one] * MANY)}]")))
    assert parts.are_many(padded({str(key): 0 for key in range(MANY)}))
    assert not parts.are_many(padded([0] * (MANY // 2)))


@requirement("QUAL-12")
def test_a_text_is_one_part_whatever_is_in_it() -> None:
    for text in (",", '",', "\\,", '\\",[{', "[{,"):
        assert not parts.are_many(padded(text * MANY))


TEXT = st.text(alphabet='a,"\\\\[{é', max_size=8)
JSON = st.recursive(
    st.none() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=30,
)


def marks(value: Any) -> int:
    """Containers, and commas between what is in them."""
    if isinstance(value, dict):
        return marks([*value.values()])
    if not isinstance(value, list):
        return 0
    items: list[Any] = [*value]
    return 1 + max(len(items) - 1, 0) + sum(map(marks, items))


@requirement("QUAL-12")
@given(JSON, st.booleans(), st.integers(1, 20))
def test_only_what_is_outside_of_texts_counts(value: object, ascii: bool, piece: int) -> None:
    """However the message is cut into pieces."""
    message = json.dumps([value], ensure_ascii=ascii).encode()
    there = marks([value])
    with patch.object(parts, "_PIECE", piece), patch.object(parts, "MAX_PARTS", there):
        assert not parts.are_many(message, 0)
    with patch.object(parts, "_PIECE", piece), patch.object(parts, "MAX_PARTS", there - 1):
        assert parts.are_many(message, 0)


@requirement("QUAL-12", "WIRE-13")
def test_a_request_of_too_many_parts_is_refused_under_its_id() -> None:
    params = json.dumps({"x": LONG_TEXT, "many": [0] * MANY}).encode()
    with pytest.raises(BadEnvelope) as refused:
        reading.decode(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + params + b"}")
    assert refused.value.id == b"7"
