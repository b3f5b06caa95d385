"""Characters that a person cannot see are spelled out, in raw JSON and in its escapes; nothing else changes."""

import functools
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.wire import hidden_characters, strings, unseen
from clawft.wire.hidden_characters import LONG_ROW, MAX_JUDGED, MAX_SPELLED, RevealedText
from clawft.wire.visible import is_plain, make_visible, visible_text
from tests.growth import grows_linearly
from tests.requirements import requirement

DRAWN_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}
"""Format characters that are drawn: number signs, end of ayah, hieroglyph joiners."""
NO_CHARACTERS = {
    *range(0xFDD0, 0xFDF0),
    *(plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)),
}
IGNORABLE = {
    0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200B, 0x2010),
    *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0,
    *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
}  # fmt: skip
"""Default_Ignorable_Code_Point of Unicode: a program that does not know them draws nothing."""
PASSES = {
    "L": "letters",
    "M": "marks, which are drawn on or beside a letter",
    "N": "numbers",
    "P": "punctuation",
    "S": "symbols",
    "Zs": "blanks, which take room",
    "Cf": "signs that are drawn, see above",
    "Co": "signs of the fonts of some people, as icons in a terminal",
    "Cn": "no characters yet: those of the next Unicode are none of our business",
    "Cc": "tab and line feed; a carriage return in front of one",
}
"""What is not spelled out, by kind, and why."""


def shown(text: str, *, escaped: bool) -> str:
    return json.loads(make_visible(json.dumps(text, ensure_ascii=escaped).encode()))


def mark(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"


@functools.cache
def everything() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def is_hidden(letter: str) -> bool:
    """As Unicode has it."""
    if ord(letter) in IGNORABLE or ord(letter) in NO_CHARACTERS:
        return True
    kind = unicodedata.category(letter)
    return kind in ("Zl", "Zp") or (kind in ("Cc", "Cf") and ord(letter) not in DRAWN_FORMATS and letter not in "\t\n")


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
def test_of_all_unicode_what_cannot_be_seen_is_spelled_out_and_nothing_else(escaped: bool) -> None:
    wrong: list[str] = []
    for block in range(0, len(everything()), 0x1000):
        letters = everything()[block : block + 0x1000]
        between = shown("a" + "a".join(letters) + "a", escaped=escaped)
        expected = "a" + "a".join(mark(letter) if is_hidden(letter) else letter for letter in letters) + "a"
        if between != expected:
            wrong += [
                mark(each)
                for each in letters
                if (shown(f"a{each}a", escaped=escaped) != f"a{each}a") != is_hidden(each)
            ]
    assert wrong == []


@requirement("GUARD-09")
def test_for_all_that_passes_there_is_a_reason() -> None:
    kinds = {unicodedata.category(letter) for letter in everything() if not is_hidden(letter)}
    assert {kind if kind in PASSES else kind[0] for kind in kinds} == PASSES.keys()


SELECTORS = [chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
def test_no_letter_of_an_alphabet_carries_a_selector(escaped: bool) -> None:
    """Of which there are 256: a byte behind each letter, unseen."""
    letters = [
        letter
        for letter in everything()
        if letter.isalpha()
        and not is_hidden(letter)
        and unicodedata.name(letter, "").startswith(("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HANGUL"))
    ]
    assert len(letters) > 12_000
    pairs = [letter + SELECTORS[at % len(SELECTORS)] for at, letter in enumerate(letters)]
    pairs += [letter + selector for letter in "aZ09 .#*é" for selector in SELECTORS]
    for begin in range(0, len(pairs), 4_096):
        some = pairs[begin : begin + 4_096]
        assert shown(" ".join(some), escaped=escaped) == " ".join(pair[0] + mark(pair[1]) for pair in some)


@requirement("GUARD-09", "WIRE-21")
@pytest.mark.parametrize("escaped", [True, False])
def test_every_ideograph_keeps_its_forms(escaped: bool) -> None:
    ideographs = [each for each in everything() if unicodedata.name(each, "").startswith("CJK UNIFIED IDEOGRAPH")]
    assert len(ideographs) > 90_000
    some = ideographs[:: len(ideographs) // 5_000]
    text = "".join(each + SELECTORS[16 + at % 240] for at, each in enumerate(some))
    raw = json.dumps(text, ensure_ascii=escaped).encode()
    assert make_visible(raw) is raw


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("10 %\r20 %\r", "10 %⟨U+000D⟩20 %⟨U+000D⟩"),
        ("one\r\r\ntwo\r\n", "one⟨U+000D⟩\r\ntwo\r\n"),
        ("❤️\r\n", "❤️\r\n"),
        ("one\u2028two\u2029", "one⟨U+2028⟩two⟨U+2029⟩"),
        ("1\ufe0f", "1⟨U+FE0F⟩"),
        ("1\ufe0e\u20e3", "1⟨U+FE0E⟩\u20e3"),
        ("❤\ufe01", "❤⟨U+FE01⟩"),
        ("\\u4e00\U000e0100", "\\u4e00⟨U+E0100⟩"),
        ("\\u2764\ufe0f", "\\u2764⟨U+FE0F⟩"),
        ("\\u2764\u200dé", "\\u2764⟨U+200D⟩é"),
        ("\\❤️", "\\❤️"),
        ("é\u200d\ufe0f", "é⟨U+200D⟩⟨U+FE0F⟩"),
    ],
)
def test_what_has_work_to_do_stays_and_nothing_passes_for_it(words: str, expected: str, escaped: bool) -> None:
    assert shown(words, escaped=escaped) == expected
    assert visible_text(words) == expected


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "words",
    [
        "plain",
        "tab\tline\nend\r\n",
        "héllo",
        "日本語",
        "👩‍💻",
        "👨‍👩‍👧‍👦",
        "❤️",
        "🏳️‍🌈",
        "1️⃣#️⃣",
        "葛󠄀飾区",
        "☺︎ ©️ ㊗️ ∩︀ 。︀",
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
        (rb'"\r\u000a\u000D\n"', r'"\r\u000a\u000D\n"'),
        (rb'"\r\t\u000d"', r'"⟨U+000D⟩\t⟨U+000D⟩"'),
        (b'{"a":1,\r"b":\r\n"\xe2\x80\xa8"}', '{"a":1,\r"b":\r\n"⟨U+2028⟩"}'),
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
    "\r",
    "\n",
    "1",
    "\u20e3",
    "\U000e0100",
    "u4e00",
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
    assert shown(f"a{hidden * LONG_ROW}b", escaped=escaped) == f"a{mark(hidden) * LONG_ROW}b"
    for many in (LONG_ROW + 1, 1_000, 100_000):
        told = f"a{mark(hidden) * (LONG_ROW // 2)}⟨and {many - LONG_ROW // 2} more hidden⟩b"
        assert shown(f"a{hidden * many}b", escaped=escaped) == told
        assert visible_text(f"a{hidden * many}b") == told


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("hidden", ["\u200b", "\x7f", "\u200d", "\ufe0f\ufe01", "\ufe0f", "\r"])
def test_however_many_there_are_none_stays_hidden_and_the_message_stays_small(hidden: str, escaped: bool) -> None:
    raw = json.dumps(f"x{hidden}" * (4 * MAX_SPELLED), ensure_ascii=escaped).encode()
    visible = make_visible(raw)
    assert make_visible(visible) == visible
    assert hidden not in json.loads(visible)
    assert json.loads(visible).count("x") == 4 * MAX_SPELLED
    assert len(visible) < len(raw) + 20 * 2 * MAX_SPELLED


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("words", ["❤️", "👩‍💻 ", "❤️‍🔥", "می‌خواهم ", "1️⃣", "葛󠄀", "\r\n"])
def test_what_people_write_stays_however_much_it_is(words: str, escaped: bool) -> None:
    raw = json.dumps(words * (2 * MAX_SPELLED), ensure_ascii=escaped).encode()
    assert make_visible(raw) is raw


@requirement("GUARD-09")
def test_what_has_to_be_judged_one_by_one_is_bounded_too() -> None:
    """No search tells these apart; what is behind the bound is not seen, and nothing hidden passes there."""
    raw = json.dumps("葛\U000e0100\u200b" + "葛\U000e0100" * (2 * MAX_JUDGED)).encode()
    told = json.loads(make_visible(raw))
    assert MAX_JUDGED - 10 < told.count("\U000e0100") < MAX_JUDGED + 10_000
    assert told.count("葛") == 2 * MAX_JUDGED + 1
    assert told.endswith("葛?")


@requirement("GUARD-09")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "unit",
    [
        "\u200b",
        "x\u200b",
        "é\u200d",
        "❤️",
        "x\ufe0f",
        "1️⃣",
        "葛󠄀",
        "\r",
        "\r\n",
        "\ufe0f\ufe0f",
        "\\",
        "\\" * 32_767 + "x",
        "\n",
        "漢",
        "—",
        "\x1b",
        "😀",
    ],
)
def test_any_content_takes_linear_time(unit: str, escaped: bool) -> None:
    raw = json.dumps(unit, ensure_ascii=escaped).encode()[1:-1]
    assert grows_linearly(lambda size: make_visible(b'"' + raw * (size // len(raw)) + b'"'), 200_000)


# ── short ways ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-09")
def test_escapes_of_what_is_seen_are_not_searched_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """`\\u00e4` is how most programs in Python write what is not ASCII."""
    raw = json.dumps("für, привет, 漢字, 😀, a\xa0b, \\path and \r\n" * 10).encode()
    assert not is_plain(raw)
    monkeypatch.setattr(RevealedText, "is_clean", None)
    assert make_visible(raw) is raw


@requirement("GUARD-09")
def test_no_pattern_is_built_for_a_single_character(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = json.dumps("\x1b[31mred\u200d\ufe0f and é\ufe01").encode()
    known = make_visible(raw)
    monkeypatch.setattr(unseen.re, "compile", None)
    assert make_visible(raw) == known


def no_short_way(unit: str) -> str:
    return ""


@requirement("GUARD-09")
@given(st.lists(st.tuples(st.sampled_from(LETTERS) | st.characters(), st.booleans(), st.booleans()), max_size=30))
def test_the_short_ways_show_the_same_as_the_long_one(letters: list[tuple[str, bool, bool]]) -> None:
    spelled = ""
    for letter, escaped, upper in letters:
        one = json.dumps(letter, ensure_ascii=escaped)[1:-1]
        spelled += one.upper().replace("\\U", "\\u") if upper and one.startswith("\\u") else one
    raw = f'"{spelled}"'.encode("utf-8", "surrogatepass")
    short = make_visible(raw)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unseen, "escape_in_bytes", lambda: re.compile(b""))
        patched.setattr(hidden_characters, "_spelled_alone", no_short_way)
        assert make_visible(raw) == short
