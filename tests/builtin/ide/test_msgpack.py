"""A stream of MessagePack values is cut where each one ends."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.ide.nvim.msgpack import end_of_value
from tests.requirements import requirement

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@requirement("IDE-18")
@given(VALUES, st.binary(max_size=4))
def test_the_end_is_found_whatever_follows(value: Any, more: bytes) -> None:
    packed = msgspec.msgpack.encode(value)
    assert end_of_value(packed + more) == len(packed)
    assert end_of_value(b"\x01" + packed, 1) == len(packed) + 1


@requirement("IDE-18")
@given(VALUES)
def test_a_value_that_is_cut_off_is_not_whole(value: Any) -> None:
    packed = msgspec.msgpack.encode(value)
    assert all(end_of_value(packed[:size]) == -1 for size in range(len(packed)))


@requirement("IDE-18")
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 3, 300, 70_000])
def test_extensions_and_long_values(size: int) -> None:
    for value in (msgspec.msgpack.Ext(1, bytes(size)), bytes(size), "x" * size, [0] * size, dict.fromkeys(range(size))):
        packed = msgspec.msgpack.encode(value)
        assert end_of_value(packed) == len(packed)
    with pytest.raises(ValueError, match="0xc1"):
        end_of_value(b"\xc1")
