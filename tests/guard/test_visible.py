"""Characters that a person cannot see are spelled out, in raw JSON and in its escapes; nothing else changes."""

import functools
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.wire import strings
from clawft.wire.hidden_characters import LONG_ROW, MAX_SPELLED
from clawft.wire.visible import is_plain, make_visible, visible_text
from tests.growth import grows_linearly
from tests.requirements import requirement

VISIBLE_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
"""Format characters that are drawn: number signs, end of ayah, hieroglyph joiners."""


def shown(text: str, *, escaped: bool) -> str:
    return json.loads(make_visible(json.dumps(text, ensure_ascii=escaped).encode()))


@functools.cache
def all_hidden() -> list[str]:
    return [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf") and code not in VISIBLE_FORMATS and chr(code) not in "\t\n\r"
    ] + [chr(code) for code in (0x34F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x2065, 0x3164, 0xFFA0, 0xE0100, 0xE01EF)]


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
def test_every_control_and_format_character_is_spelled_out(escaped: bool) -> None:
    assert len(all_hidden()) > 200
    missed = [
        f"U+{ord(hidden):04X}"
        for hidden in all_hidden()
        if shown(f"a{hidden}b", escaped=escaped) != f"a⟨U+{ord(hidden):04X}⟩b"
    ]
    assert missed == []


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "words",
    [
        "plain",
        "tab\tline\nend\r",
        "héllo",
        "日本語",
        "👩‍💻",
        "👨‍👩‍👧‍👦",
        "❤️",
        "🏳️‍🌈",
        "می‌خواهم",
        "🇩🇪",
        "a\\u202e",
        'quote " and \\ and /',
    ],
)
def test_what_people_write_stays(words: str, escaped: bool) -> None:
    assert shown(words, escaped=escaped) == words


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    ("words", "marks"),
    [
        ("a\u200db", 1),
        ("\u200da", 1),
        ("a\u200c", 1),
        ("é\u200d", 1),
        ("👩\u200d\u200c\u200d\u200c💻", 4),
        ("❤\ufe0f\ufe00\ufe01\ufe0f", 3),
        ("x\U000e0041\U000e0042", 2),
    ],
)
def test_joiners_and_selectors_that_carry_bits_are_spelled_out(words: str, marks: int, escaped: bool) -> None:
    assert shown(words, escaped=escaped).count("⟨U+") == marks


@requirement("GUARD-09")
@pytest.mark.parametrize(
    ("raw", "visible"),
    [
        (rb'"\u202e"', '"⟨U+202E⟩"'),
        (rb'"\u202E\u001B"', '"⟨U+202E⟩⟨U+001B⟩"'),
        (rb'"\udb40\udc41"', '"⟨U+E0041⟩"'),
        (rb'"\b\f"', '"⟨U+0008⟩⟨U+000C⟩"'),
        (rb'"\\u202e \\b"', r'"\\u202e \\b"'),
        (rb'"\\\u202e"', r'"\\⟨U+202E⟩"'),
        (rb'"\u00e9\u0009\n\t\/\ud83d\ude00"', r'"\u00e9\u0009\n\t\/\ud83d\ude00"'),
    ],
)
def test_escapes(raw: bytes, visible: str) -> None:
    assert make_visible(raw).decode() == visible
    json.loads(make_visible(raw))


@requirement("GUARD-09", "WIRE-21")
def test_every_other_byte_of_the_message_stays() -> None:
    raw = '{ "n":1.10,\n"é\u202e":[1E5,123456789012345678901234567890],"a":"\\u0061\\/"}'.encode()
    assert make_visible(raw) == raw.replace("\u202e".encode(), "⟨U+202E⟩".encode())


@requirement("GUARD-09", "WIRE-21")
@given(
    st.recursive(st.text(max_size=20) | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4)),
    st.booleans(),
)
def test_clean_messages_are_the_same_bytes_and_others_lose_nothing_visible(value: object, escaped: bool) -> None:
    raw = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    visible = make_visible(raw)
    json.loads(visible)
    assert make_visible(visible) == visible
    if is_plain(raw):
        assert visible is raw
    if raw.isascii() and b"\\" not in raw and b"\x7f" not in raw:
        assert visible == raw


@requirement("GUARD-09")
@given(st.text(max_size=40))
def test_plain_text_shows_the_same_as_json(text: str) -> None:
    assert visible_text(text) == shown(text, escaped=False)


@requirement("GUARD-09")
def test_lone_surrogates_of_plain_text_become_readable() -> None:
    assert visible_text("a\ud800b") == "a\\ud800b"


# ── long ones ────────────────────────────────────────────────────────────────────────────────────────────────────────

LETTERS = [
    "\u200b",
    "\u200d",
    "\u200c",
    "é",
    "x",
    "👩",
    "❤",
    "\ufe0f",
    "\ufe01",
    "\x7f",
    "\U000e0041",
    " ",
    "\\",
    "\x1b",
    "漢",
]


@requirement("GUARD-09")
@given(st.lists(st.tuples(st.sampled_from(LETTERS), st.booleans()), max_size=60), st.integers(16, 64))
def test_a_message_that_is_taken_in_pieces_shows_the_same(letters: list[tuple[str, bool]], size: int) -> None:
    spelled = "".join(json.dumps(letter, ensure_ascii=escaped)[1:-1] for letter, escaped in letters)
    raw = f'"{spelled}"'.encode()
    with pytest.MonkeyPatch.context() as patched:
        whole = make_visible(raw)
        patched.setattr(strings, "PIECE", size)
        assert make_visible(raw) == whole
    text = "".join(letter for letter, _ in letters)
    assert json.loads(whole) == visible_text(text)


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\U000e0041", "\u200d", "\x7f"])
def test_of_a_long_row_the_first_are_shown_and_the_others_counted(hidden: str, escaped: bool) -> None:
    mark = f"⟨U+{ord(hidden):04X}⟩"
    assert shown(f"a{hidden * LONG_ROW}b", escaped=escaped) == f"a{mark * LONG_ROW}b"
    for many in (LONG_ROW + 1, 1_000, 100_000):
        told = f"a{mark * (LONG_ROW // 2)}⟨and {many - LONG_ROW // 2} more hidden⟩b"
        assert shown(f"a{hidden * many}b", escaped=escaped) == told
        assert visible_text(f"a{hidden * many}b") == told


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("hidden", ["\u200b", "\x7f", "\u200d", "\ufe0f\ufe01"])
def test_however_many_there_are_none_stays_hidden_and_the_message_stays_small(hidden: str, escaped: bool) -> None:
    raw = json.dumps(f"x{hidden}" * (4 * MAX_SPELLED), ensure_ascii=escaped).encode()
    visible = make_visible(raw)
    assert make_visible(visible) == visible
    assert hidden not in json.loads(visible)
    assert json.loads(visible).count("x") == 4 * MAX_SPELLED
    assert len(visible) < len(raw) + 20 * 2 * MAX_SPELLED


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("words", ["❤️", "👩‍💻 ", "❤️‍🔥", "می‌خواهم "])
def test_what_people_write_stays_however_much_it_is(words: str, escaped: bool) -> None:
    raw = json.dumps(words * (2 * MAX_SPELLED), ensure_ascii=escaped).encode()
    assert make_visible(raw) is raw


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "unit",
    ["\u200b", "x\u200b", "é\u200d", "❤️", "\ufe0f\ufe0f", "\\", "\\" * 32_767 + "x", "\n", "漢", "—", "\x1b", "😀"],
)
def test_any_content_takes_linear_time(unit: str, escaped: bool) -> None:
    raw = json.dumps(unit, ensure_ascii=escaped).encode()[1:-1]
    assert grows_linearly(lambda size: make_visible(b'"' + raw * (size // len(raw)) + b'"'), 200_000)
