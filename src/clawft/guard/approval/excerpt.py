"""Quotes foreign text in a question: with a bar on every line, and a long text with only its beginning and end. Pure.

The author of the text chooses what falls into the omitted part, so it is scanned, and what the scan finds is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from clawft.wire.quoted_lines import BAR

SHOWN_CHARS = 16_000
"""Characters of one text in a question; more than most servers say of all their tools."""
END_CHARS = 4_000
"""How many of these are taken from the end of the text."""
SEAM_CHARS = 400
"""How much text on both sides of an omission is scanned with it, as words may begin outside and end inside."""
MAX_FINDINGS = 8
MAX_EMPTY_LINES = 2
_BLANK = " \t\xa0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u2800\u3000"
_BLANKS = rf"[{_BLANK}]{{40,}}"


def quoted(head: str, text: str) -> Iterator[str]:
    """The quoted text below the line `head`. Lines without a bar are ours."""
    yield head
    if not is_cut(text):
        yield from _barred(text)
        return
    begin, end = SHOWN_CHARS - END_CHARS, len(text) - END_CHARS
    yield from _barred(text[:begin])
    yield from _left_out(end - begin, text[begin - SEAM_CHARS : end + SEAM_CHARS])
    yield "It ends with:"
    yield from _barred(text[end:])


def is_cut(text: str) -> bool:
    return len(text) > SHOWN_CHARS


def _left_out(letters: int, around: str) -> Iterator[str]:
    from clawft.policy.scan import MAX_SCANNED_CHARS, scan_text  # patterns to compile: only for texts this long

    found = [f"{one.rule} ({one.why}): {one.excerpt}" for one in scan_text(around)]
    scanned = "them" if len(around) <= MAX_SCANNED_CHARS else f"the first {MAX_SCANNED_CHARS}"
    if not found:
        yield f"{letters} characters are left out here. A scan of {scanned} found nothing odd, which proves nothing."
        return
    yield f"{letters} characters are left out here. A scan of {scanned} found:"
    yield from _barred("\n".join(" ".join(one.split()) for one in found[:MAX_FINDINGS]))
    if len(found) > MAX_FINDINGS:
        yield f"and {len(found) - MAX_FINDINGS} more."


def _barred(text: str) -> Iterator[str]:
    return (BAR + line for line in _without_room(text.splitlines()))


def _without_room(lines: Iterable[str]) -> Iterator[str]:
    """The lines with runs of empty lines and blanks replaced, as the rest of a text could hide behind them."""
    for is_empty, group in groupby(lines, key=lambda line: not line.strip(_BLANK)):
        found = list(group)
        if is_empty and len(found) > MAX_EMPTY_LINES:
            yield f"⟨{len(found)} empty lines⟩"
        else:
            yield from (re.sub(_BLANKS, lambda blanks: f" ⟨{len(blanks[0])} blanks⟩ ", line) for line in found)
