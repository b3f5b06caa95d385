"""Structured results that are too large: what may be cut is, the rest never."""

import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from clawft.guard.shortening import CUT_AT_END, CUT_AT_START, WHY, shorten
from clawft.provider.keeps import FIRST, LAST
from clawft.provider.schema import schema_of
from tests.requirements import requirement

LIMIT = 1_000


class Row(Struct):
    name: str
    words: Annotated[str, FIRST]


class Shape(Struct):
    id: str = "id"
    head: Annotated[str, FIRST] | None = ""
    tail: Annotated[str, LAST] = ""
    items: Annotated[list[int], FIRST] = []
    rows: list[Row] = []
    truncated: bool = False


class Reasoned(Struct):
    items: Annotated[list[int], FIRST]
    truncated: str = ""


def cut(value: Struct, limit: int = LIMIT) -> Any:
    """Shorter, and still what its schema says."""
    shorter = shorten(msgspec.json.encode(value), msgspec.json.encode(schema_of(type(value))), limit)
    if shorter is None:
        return None
    assert len(shorter) <= limit
    msgspec.json.decode(shorter, type=type(value))
    return json.loads(shorter)


@requirement("GUARD-09")
def test_of_a_text_the_end_or_the_beginning_is_kept() -> None:
    told = cut(Shape(head="a" * 5_000 + "z", tail="a" + "z" * 5_000))
    assert told["head"].startswith("aaa")
    assert told["head"].endswith(CUT_AT_END)
    assert told["tail"].startswith(CUT_AT_START)
    assert told["tail"].endswith("zzz")
    assert min(len(told["head"]), len(told["tail"])) > 300
    assert told["truncated"] is True


@requirement("GUARD-09")
def test_what_is_small_stays_whole() -> None:
    told = cut(Shape(head="whole", tail="x" * 5_000))
    assert told["head"] == "whole"
    assert len(told["tail"]) > 700


@requirement("GUARD-09")
def test_of_a_list_the_first_items_are_kept_and_it_says_why() -> None:
    told = cut(Reasoned(list(range(1_000))))
    assert told["items"] == list(range(len(told["items"])))
    assert len(told["items"]) > 200
    assert told["truncated"] == WHY


@requirement("GUARD-09")
def test_texts_inside_of_a_list_are_cut_alike() -> None:
    told = cut(Shape(rows=[Row(f"r{at}", "w" * 1_000) for at in range(3)]))
    assert [row["name"] for row in told["rows"]] == ["r0", "r1", "r2"]
    assert {len(row["words"]) > 100 for row in told["rows"]} == {True}


@requirement("GUARD-09")
@pytest.mark.parametrize("value", [Shape(id="x" * 2_000), Shape(id="x" * 2_000, tail="y" * 2_000)])
def test_what_must_not_be_cut_is_not(value: Struct) -> None:
    assert cut(value) is None


@requirement("GUARD-09")
@given(st.text(max_size=3_000), st.text(max_size=3_000), st.lists(st.integers(), max_size=300))
def test_whatever_is_in_it_the_bound_holds(head: str, tail: str, items: list[int]) -> None:
    told = cut(Shape(head=head, tail=tail, items=items), 600)
    assert told is not None
    assert told["id"] == "id"
