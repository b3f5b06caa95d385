"""Tables fit, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.cli.screen.paragraph import folded, reflowed
from clawft.cli.screen.table import cells, cut, fits, lay_out, wrapped
from tests.requirements import requirement

CELLS = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=60)
ROWS = st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=5))


@requirement("AGENT-14")
@given(ROWS, st.integers(40, 120), st.booleans())
def test_no_line_is_wider_than_the_terminal(rows: list[list[str]], width: int, wrap: bool) -> None:
    assert all(cells(line) <= width for line in lay_out((), rows, width, wrap=wrap))


@requirement("AGENT-14")
@given(st.integers(1, 9), st.integers(40, 120), st.data())
def test_what_fits_has_room_for_its_last_column_and_the_rest_does_not_fit(
    columns: int, width: int, data: st.DataObject
) -> None:
    head, *rows = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), min_size=2, max_size=5))
    fitting = all(cells(line) <= width for line in lay_out(head, rows, width))
    assert fitting or not fits(head, rows, width)
    assert fits(head, rows, 0)


@requirement("AGENT-14")
def test_long_names_stand_on_a_line_of_their_own_before_a_description_is_a_few_words() -> None:
    names = ("files__read", "a_server_of_somebody__look_up_what_it_has_stored")
    rows = [(name, "read-only", "Reads what was stored there under a name") for name in names]
    lines = lay_out(("NAME", "KIND", "WHAT IT DOES"), rows, 80)
    assert lines[2:] == [names[1], f"{'':13}read-only  Reads what was stored there under a name"]


@requirement("AGENT-14")
def test_a_table_of_seven_columns_fits_80_and_not_40() -> None:
    row = ("broken", "enabled", "user", "stdio", "untrusted", "broken.toml:1", "/usr/bin/python3")
    assert [fits((), [row], width) for width in (40, 80)] == [False, True]


@requirement("AGENT-14")
@given(ROWS)
def test_a_pipe_loses_nothing(rows: list[list[str]]) -> None:
    lines = lay_out((), rows, 0)
    assert len(lines) == len(rows)
    assert all(cell.rstrip() in line for row, line in zip(rows, lines, strict=True) for cell in row)


@requirement("AGENT-14")
def test_columns_are_aligned_and_the_last_is_cut() -> None:
    lines = lay_out(("NAME", "DOES"), [("a", "short"), ("longer", "x" * 50)], 40)
    assert lines == ["NAME    DOES", "a       short", "longer  " + "x" * 31 + "…"]


@requirement("AGENT-14")
def test_the_last_column_can_be_wrapped_below_itself() -> None:
    lines = lay_out((), [("key", "some words that do not fit")], 20, wrap=True)
    assert lines == ["key  some words that", "     do not fit"]


@requirement("AGENT-14")
def test_the_name_is_the_last_to_give_way() -> None:
    line = lay_out((), [("a" * 16, "b" * 30, "c" * 30)], 50)[0]
    assert line.startswith("a" * 16 + "  b")


@requirement("AGENT-14", "MGR-19")
def test_one_long_name_costs_the_other_rows_nothing() -> None:
    """Cut, it could not be typed; whole, it would cut the words of all rows."""
    row = ("hon", "enabled", "user", "stdio", "untrusted", "hon.toml:1", "/usr/bin/python3 server.py")
    name = "n" * 64
    lines = lay_out(("NAME", *"ABCDEF"), [row, (name, *row[1:])], 80)
    assert lines[1].split()[:6] == list(row[:6])
    assert lines[2] == name
    assert lines[3].split() == lines[1].split()[1:], "the rest of the row is below its name, in the same columns"
    assert lines[3].index("enabled") == lines[1].index("enabled")


@requirement("AGENT-14")
def test_where_all_names_are_long_each_is_whole() -> None:
    rows = [(letter * 40, "enabled", "w" * 60) for letter in "ab"]
    assert lay_out((), rows, 60)[::2] == ["a" * 40, "b" * 40]


@requirement("AGENT-14")
@pytest.mark.parametrize(("text", "size", "shown"), [("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("abc", 2, "a…")])
def test_wide_letters_count_twice(text: str, size: int, shown: str) -> None:
    assert cut(text, size) == shown


@requirement("AGENT-14")
def test_a_word_that_is_too_long_is_broken() -> None:
    assert wrapped("a " + "x" * 12, 5) == ["a", "xxxxx", "xxxxx", "xx"]


@requirement("AGENT-14")
def test_a_command_behind_a_colon_is_in_one_piece() -> None:
    told = "memory: it is switched off there, and so it is here: weft servers enable memory-mcp; that is all"
    assert folded(told, 60).split("\n") == [
        "memory: it is switched off there, and so it is here:",
        "weft servers enable memory-mcp; that is all",
    ]


def test_paragraphs_are_joined_and_lists_are_kept() -> None:
    assert reflowed("one\ntwo\n\nthree:\nfour\n- five\n  six\n1. x") == "one two\n\nthree:\nfour\n- five\n  six\n1. x"


@requirement("AGENT-14")
def test_one_long_cell_leaves_the_last_column_as_much_as_it_takes() -> None:
    rows = [("one", "x" * 50 + ".toml:1", "python3 " + "y" * 40), ("two", "two.toml:1", "python3 server.py")]
    _, short = lay_out((), rows, 60)
    assert short == f"two  {'two.toml:1':26}  python3 server.py"


@requirement("AGENT-14")
def test_marks_on_letters_take_no_column() -> None:
    assert [cells(text) for text in ("नमस्ते", "ที่", "é", "鍵", "🔑", "⚠️")] == [4, 1, 1, 2, 2, 2]


@requirement("AGENT-14")
def test_a_name_that_has_to_be_typed_is_told_whole() -> None:
    """A path, say: above its row, on as many lines as it needs."""
    lines = lay_out(("FILE", "STATE"), [("/short", "read"), ("/" + "x" * 50, "read")], 40)
    assert lines == ["FILE    STATE", "/short  read", "/" + "x" * 39, "x" * 11, "        read"]
