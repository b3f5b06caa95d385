"""Places in a text: UTF-16 units, line ends, edits together, anchors. Nothing is clamped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.ide.model import Position, Range, TextEdit
from clawft.builtin.ide.text import TextMap, apply, find_anchor, hunks, lines_of, units, with_ends_of
from clawft.errors import IdeFailed
from tests.requirements import requirement

TEXTS = st.text(st.sampled_from("ab ü😀\n\r\f\u2028"), max_size=30)


def at(line: int, character: int) -> Position:
    return Position(line, character)


@requirement("IDE-01")
def test_characters_are_utf16_units() -> None:
    places = TextMap('x = "😀ü" + nam\n')
    assert places.offset(at(0, 9)) == 8
    assert places.text[places.offset(at(0, 12)) :].startswith("nam")
    assert places.position(places.text.index("nam")) == at(0, 12)


@requirement("IDE-01")
@pytest.mark.parametrize(
    ("position", "why"),
    [
        (at(0, 2), "inside of '😀'"),
        (at(0, 5), "line 0 has 4"),
        (at(2, 0), "the file has 2 lines"),
        (at(1, 1), "line 1 has 0"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(position: Position, why: str) -> None:
    with pytest.raises(IdeFailed, match=why) as caught:
        TextMap("a😀b\n").offset(position)
    assert caught.value.kind == "bad_range"


@requirement("IDE-01")
def test_only_line_ends_end_lines() -> None:
    assert lines_of("a\r\nb\rc\nd\fe\u2028f") == ["a\r\n", "b\r", "c\n", "d\fe\u2028f"]
    assert lines_of("") == [""]
    assert TextMap("a\n").end() == at(1, 0)


@requirement("IDE-01")
@given(TEXTS)
def test_every_place_leads_there_and_back(text: str) -> None:
    places = TextMap(text)
    for offset in range(len(text) + 1):
        between = text[offset - 1 : offset + 1] == "\r\n"
        in_line_end = text[offset : offset + 1] == "\n" and between
        if not in_line_end:
            assert places.offset(places.position(offset)) == offset


@requirement("IDE-01")
@given(TEXTS, TEXTS)
def test_the_difference_of_two_texts_leads_from_one_to_the_other(old: str, new: str) -> None:
    assert apply(old, [edit for edit, _ in hunks(old, new)]) == new


@requirement("IDE-01")
def test_edits_speak_of_the_text_before_all_of_them() -> None:
    edits = [
        TextEdit(Range(at(0, 0), at(0, 1)), "ONE"),
        TextEdit(Range(at(0, 2), at(0, 3)), ""),
        TextEdit(Range(at(1, 0), at(1, 0)), "> "),
    ]
    assert apply("a b\nc\n", edits) == "ONE \n> c\n"


@requirement("IDE-01")
def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(IdeFailed, match="overlap"):
        apply("abc", [TextEdit(Range(at(0, 0), at(0, 2)), "x"), TextEdit(Range(at(0, 1), at(0, 3)), "y")])
    with pytest.raises(IdeFailed, match="ends before"):
        apply("abc", [TextEdit(Range(at(0, 2), at(0, 0)), "x")])


@requirement("IDE-01")
def test_an_anchor_stands_there_once() -> None:
    assert find_anchor("é😀 here\n", "here", "a") == Range(at(0, 4), at(0, 8))
    with pytest.raises(IdeFailed, match="not in"):
        find_anchor("x", "y", "a")
    with pytest.raises(IdeFailed, match="lines 0, 1"):
        find_anchor("x\nx\n", "x", "a")


@requirement("IDE-01")
@given(TEXTS)
def test_units_are_what_utf16_has(text: str) -> None:
    assert units(text) == len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(
    ("text", "new", "put"),
    [
        ("a\r\nb\r\n", "x\ny\r\n", "x\r\ny\r\n"),
        ("a\nb\r\n", "x\ny", "x\ny"),
        ("a", "x\ny\r\n", "x\ny\r\n"),
        ("a\r\n", "x", "x"),
    ],
)
def test_new_lines_end_as_all_others_do(text: str, new: str, put: str) -> None:
    assert with_ends_of(text, new) == put
