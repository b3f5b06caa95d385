"""Long JSON strings, cut or taken apart piece by piece: what they say is what a whole reading would have said."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from clawft.wire import strings
from clawft.wire.strings import MAX_MENDED_BYTES, clipped, clipped_json, replace_lone_surrogates, unescaped
from tests.growth import grows_linearly
from tests.requirements import requirement

LETTERS = ["a", "é", "日", "😀", "\\", '"', "\n", "\x01", "u", "d83d", "\u202e"]
TEXTS = st.lists(st.sampled_from(LETTERS), max_size=60).map("".join)


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "PIECE", 16)


@requirement("WIRE-21", "GUARD-08")
@given(TEXTS, st.booleans())
def test_pieces_say_what_the_whole_says(text: str, escaped: bool) -> None:
    spelled = json.dumps(text, ensure_ascii=escaped).encode()
    assert unescaped(memoryview(spelled)[1:-1]).decode() == text


@requirement("GUARD-08")
@given(TEXTS, st.booleans(), st.integers(0, 40))
def test_what_is_cut_is_a_beginning_and_says_so(text: str, escaped: bool, most: int) -> None:
    spelled = Raw(json.dumps(text, ensure_ascii=escaped).encode())
    shown = clipped_json(spelled, most)
    kept, cut, _ = shown.partition("… (")
    assert shown == text or (cut and text.startswith(kept) and len(kept.encode()) <= most)


@requirement("GUARD-08")
def test_what_is_no_string_is_cut_as_it_is_spelled() -> None:
    assert clipped_json(Raw(b'{"a":[1,2,3]}'), 5) == '{"a":… (8 more bytes)'
    assert clipped_json(Raw(b'{"a":1}'), 50) == '{"a":1}'
    assert clipped("abcdef", 2) == "ab… (4 more characters)"
    assert clipped("ab", 2) == "ab"


@requirement("GUARD-08")
@pytest.mark.parametrize("unit", ["\\", "\\" * 30_000 + "x", '"', "\n", "\u202e", "😀"])
def test_any_content_is_taken_apart_in_linear_time(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "PIECE", 64 * 1024)
    spelled = json.dumps(unit).encode()[1:-1]
    assert grows_linearly(lambda size: unescaped(memoryview(spelled * (size // len(spelled)))), 100_000)
    assert unescaped(memoryview(spelled * (200_000 // len(spelled)))).decode() == unit * (200_000 // len(spelled))


_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)\\ud")
"""Not a backslash that only stands before those letters."""
HALVES = st.lists(st.sampled_from([*LETTERS, "\ud83d", "\ude00", "\udfff"]), max_size=40).map("".join)


@requirement("WIRE-21")
@given(HALVES, st.booleans())
def test_half_a_character_gives_way_to_a_sign_and_nothing_else_changes(text: str, upper: bool) -> None:
    spelled = json.dumps({"a": text})
    spelled = _ESCAPED.sub(r"\1\\uD", spelled) if upper else spelled
    meant = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    mended = replace_lone_surrogates(spelled.encode())
    told = json.loads(spelled if mended is None else mended)["a"]
    assert len(told) == len(json.loads(spelled)["a"])
    assert told.replace("\ufffd", "") == meant.replace("\ufffd", "")
    told.encode()


@requirement("QUAL-12")
@pytest.mark.parametrize("part", [rb"\\", rb"\ud800", rb"\ud83d\ude00", rb"\u0041", rb"x\n", rb"\u"])
def test_looking_for_halves_takes_little_time_whatever_there_is(part: bytes) -> None:
    def look(size: int) -> object:
        return replace_lone_surrogates(rb"\udc00" + part * (size // len(part)))

    assert grows_linearly(look, MAX_MENDED_BYTES // 8)
