"""What every client can read."""

import json
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter
from pydantic_core import from_json

from clawft.wire.readable import MAX_ANSWER_LEVELS, MAX_DIGITS, MAX_LEVELS, check_readable, is_deeper, why_unreadable
from tests.requirements import requirement

values = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('a"\\\\{}[]'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return 1 + max(map(depth_of, cast("list[Any]", value)), default=0) if isinstance(value, list) else 0


@requirement("SESS-09", "QUAL-03")
@given(values, st.integers(0, 6), st.booleans())
def test_it_is_as_deep_as_it_is_whatever_its_texts_hold(value: Any, levels: int, ascii: bool) -> None:
    assert is_deeper(json.dumps(value, ensure_ascii=ascii).encode(), levels) == (depth_of(value) > levels)


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@requirement("SESS-09", "QUAL-03")
def test_what_is_deeper_than_most_clients_go_is_refused() -> None:
    check_readable(nested(MAX_LEVELS))
    check_readable(b"[" + b",".join([b'{"a":[]}'] * 1_000) + b"]")
    with pytest.raises(msgspec.DecodeError, match="nested too deeply for most clients, which read 100 levels"):
        check_readable(nested(MAX_LEVELS + 1))


@requirement("SESS-09", "QUAL-03")
@given(st.lists(st.integers(-40, 60), max_size=30), st.integers(0, 400))
def test_so_it_is_where_there_are_many_brackets(steps: list[int], levels: int) -> None:
    """Up and down by so many levels; each list begins with a text that has brackets in it."""
    depth = deepest = 0
    wire = ""
    for step in (1, *steps):
        climb = max(step, 1 - depth)
        wire += ',["]}"' * climb if climb > 0 else "]" * -climb
        depth += climb
        deepest = max(deepest, depth)
    wire = wire[1:] + "]" * depth
    assert is_deeper(wire.encode(), levels) == (deepest > levels) == (depth_of(json.loads(wire)) > levels)


@requirement("SESS-09", "QUAL-03")
def test_the_official_client_reads_no_deeper_than_twice_that() -> None:
    """So that the bound is one that somebody needs."""
    from_json(nested(MAX_LEVELS + 20))
    with pytest.raises(ValueError, match="recursion limit"):
        from_json(nested(2 * MAX_LEVELS + 1))


@requirement("SESS-09")
def test_numbers_beyond_floating_point_are_found_wherever_they_stand() -> None:
    for fine in (b"1e99", b'"1e400"', b"12345678901234567890123", b"1e-400", b"9" * 300):
        check_readable(b'{"a":[{"b":%b}]}' % fine)
    for large in (b"1e400", b"-1E+999", b"9" * 310, b"9" * 250 + b"e99"):
        with pytest.raises(msgspec.DecodeError):
            check_readable(b'{"a":[{"b":%b}]}' % large)


def result(structure: bytes) -> bytes:
    return b'{"content":[],"structuredContent":{"a":%b}}' % structure


def line(result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"result":%b}' % result


FINE = (
    nested(MAX_ANSWER_LEVELS - 2),
    b"[" + b",".join([b"[[]]"] * 10_000) + b"]",
    b'"' + b"[" * 1_000 + b'"',
    b"9" * MAX_DIGITS,
    b"-" + b"9" * MAX_DIGITS,
    b"0." + b"9" * 20_000,
    b"1e" + b"9" * 20_000,
    b"1e+" + b"9" * 20_000,
    b'"' + b"9" * 20_000 + b'"',
)
UNREADABLE = (
    nested(MAX_ANSWER_LEVELS - 1),
    b"[" * 900 + b"]" * 900,
    *(b" " * blanks + b"9" * (MAX_DIGITS + 1) for blanks in (0, 1, 700, 2_150, 2_151, 4_000)),
    b"-" + b"9" * 5_000 + b".5",
    b"9" * 5_000 + b"e1",
)


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("structure", FINE)
def test_what_the_official_client_can_parse_is_readable(structure: bytes) -> None:
    jsonrpc_message_adapter.validate_json(line(result(structure)))
    assert why_unreadable(result(structure)) == ""


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("structure", UNREADABLE)
def test_what_the_official_client_cannot_parse_is_not(structure: bytes) -> None:
    with pytest.raises(ValueError, match=r"recursion limit|number out of range"):
        jsonrpc_message_adapter.validate_json(line(result(structure)))
    assert "many clients cannot read" in why_unreadable(result(structure))
