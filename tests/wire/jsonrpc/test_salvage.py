"""A list with entries that keep it from being read, without them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import WireError
from clawft.wire.jsonrpc import reading, salvage
from clawft.wire.jsonrpc.messages import UNREAD
from clawft.wire.jsonrpc.salvage import MAX_ENTRIES, read_salvaged, salvaged
from tests.growth import grows_linearly
from tests.nesting import TOO_DEEP, nested
from tests.requirements import requirement

DEEP = f'{{"name":"deep","inputSchema":{nested(TOO_DEEP)}}}'
TOLD = "deep is nested too deeply"

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def answer(member: str, entries: str, *, id_last: bool = False) -> bytes:
    result = f'"result":{{"ttlMs":5,"_meta":{{"a":[1,"]"]}},"{member}": [{entries}],"nextCursor":"n"}}'
    return (f'{{"jsonrpc":"2.0",{result},"id":7}}' if id_last else f'{{"jsonrpc":"2.0","id":7,{result}}}').encode()


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("id_last", [True, False])
@pytest.mark.parametrize("member", ["tools", "prompts", "resources", "resourceTemplates"])
def test_an_entry_that_is_nested_too_deeply_costs_that_entry(member: str, id_last: bool) -> None:
    line = answer(member, f'{{"name":"a"}}, {DEEP} ,{{"name":"]}}\\""}}', id_last=id_last)
    with pytest.raises(WireError):
        reading.decode(line)
    found = read_salvaged(line)
    assert found is not None
    assert found.id == b"7"
    page = json.loads(found.result)
    assert page[member] == [{"name": "a"}, TOLD, {"name": ']}"'}]
    assert (page["nextCursor"], page["ttlMs"]) == ("n", 5)


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("more", [0, 1, 5_000])
def test_entries_beyond_the_bound_are_counted(more: int) -> None:
    page = json.loads(salvaged(answer("tools", ",".join(['{"name":"a"}'] * (MAX_ENTRIES + more)))) or b"")["result"]
    assert (len(page["tools"]), page.get(UNREAD, 0)) == (MAX_ENTRIES, more)


@requirement("WIRE-21")
@given(st.lists(values, max_size=6), st.booleans())
def test_whatever_can_be_read_stays_as_it_is(entries: list[Any], ascii: bool) -> None:
    for whole in ({"tools": entries}, {"jsonrpc": "2.0", "id": 1, "result": {"x": "y", "tools": entries}}):
        assert json.loads(salvaged(json.dumps(whole, ensure_ascii=ascii).encode()) or b"") == whole


@requirement("QUAL-03")
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b'{"tools":[',
        b'{"tools":[{"a":1}',
        b'{"tools":[}]}',
        b'{"tools":["a]}',
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","result":{"tools":[]}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":["\xff"]}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}',
        b'{"jsonrpc":"2.0","result":{"tools":[]}}',
    ],
)
def test_what_is_no_answer_with_a_list_is_none(line: bytes) -> None:
    assert read_salvaged(line) is None


@requirement("QUAL-12")
@pytest.mark.parametrize("unit", ['{"a":1},', "0,", "[1,", '["', '\\"', "[[", '{"a":["b",', '"a",'])
def test_any_list_takes_linear_time_and_not_for_ever(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert grows_linearly(lambda size: salvaged(b'{"tools":[' + unit.encode() * (size // len(unit))), 50_000)
    monkeypatch.setattr(salvage, "MAX_STEPS", 100)
    assert salvaged(b'{"tools":[' + b'{"a":[1]},' * 200 + b"{}]}") is None
