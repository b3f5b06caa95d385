"""Characters that a person cannot see are spelled out, in raw JSON and in its escapes; nothing else changes."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.wire.visible import is_clean, make_visible, visible_text
from tests.requirements import requirement

VISIBLE_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
"""Format characters that are drawn: number signs, end of ayah, hieroglyph joiners."""


def shown(text: str, *, escaped: bool) -> str:
    return json.loads(make_visible(json.dumps(text, ensure_ascii=escaped).encode()))


HIDDEN = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Cf") and code not in VISIBLE_FORMATS and chr(code) not in "\t\n\r"
] + [chr(code) for code in (0x34F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x2065, 0x3164, 0xFFA0, 0xE0100, 0xE01EF)]


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
def test_every_control_and_format_character_is_spelled_out(escaped: bool) -> None:
    assert len(HIDDEN) > 200
    missed = [
        f"U+{ord(hidden):04X}"
        for hidden in HIDDEN
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
    if is_clean(raw):
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
