"""Characters that a person cannot see but a model, or a terminal, can: made visible. Pure, on raw JSON bytes.

Only strings of JSON can hold them, so they are replaced in place and every other byte of the message stays as it came.
A long message is taken piece by piece, so that it is never made into a text as a whole, which may take four times its
room, and nobody waits long for one step of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clawft.wire.strings import PIECE, first_piece

if TYPE_CHECKING:  # loaded with the first text that may hide something
    from clawft.wire.hidden_characters import RevealedText

_ODD = rb"(?:[ubf]|r(?!\\n))"
_TELLING = re.compile(rb"\\(?:%b(?<!\\\\.)|\\(?<!\\\\\\)(?:\\\\)*+\\%b)" % (_ODD, _ODD))
"""Escapes that may spell something hidden. What follows an escaped backslash is none."""
_LONG = 2 * PIECE
"""Of what is longer, no step looks at all of it."""
_LONGEST_CHAIN = 4 * 1024
"""Of rows of hidden characters with one other character between each: no text that means something has more."""


def is_plain(raw: bytes) -> bool:
    """True if there is surely nothing hidden in this JSON. Cheap for what nearly every message looks like."""
    if not raw.isascii() or b"\x7f" in raw:
        return False
    return b"\\" not in raw or (len(raw) <= _LONG and _TELLING.search(raw) is None)


def make_visible(raw: bytes) -> bytes:
    """The JSON with hidden characters spelled out as ⟨U+202E⟩; the very same object if there are none."""
    if is_plain(raw):
        return raw
    from clawft.wire.hidden_characters import RevealedText  # most messages hide nothing
    from clawft.wire.unseen import in_json  # patterns to compile

    view, shown = memoryview(raw), RevealedText(in_json())
    parts: list[bytes | memoryview] = []
    changed = False
    at = 0
    while at < len(raw):
        piece = _piece(view[at:])
        visible = _visible(piece, shown)
        changed = changed or visible is not piece
        parts.append(view[at : at + len(piece)] if visible is piece else visible)
        at += len(piece)
    return b"".join([*parts, shown.end().encode()]) if changed else raw


def visible_text(text: str) -> str:
    """The text with hidden characters spelled out, control characters included (but tab and line ends)."""
    from clawft.wire.hidden_characters import RevealedText  # messages that hide nothing do without
    from clawft.wire.unseen import in_text  # patterns to compile

    shown = RevealedText(in_text())
    return shown.piece(text.encode("utf-8", "backslashreplace").decode()) + shown.end()


def visible_line(text: str) -> str:
    """A text that is to stand among words of ours: what is hidden, and where lines end, is spelled out."""
    spelled = (f"⟨U+{ord(letter):04X}⟩" if letter.splitlines() == [""] else letter for letter in text)
    return visible_text("".join(spelled))


def _piece(rest: memoryview) -> bytes:
    """The next one: it ends where nothing in it, or behind it, is judged by what stands on the other side."""
    piece = first_piece(rest)
    if len(piece) == len(rest):
        return piece
    from clawft.wire.unseen import chain  # loaded by now

    beyond = first_piece(rest[len(piece) :], _LONGEST_CHAIN).decode(*_ANYHOW)
    chained = chain().match(beyond)
    if chained is None:
        return piece
    end = chained.end() if chained.end() < len(beyond) else chained.start(1)
    return piece + beyond[:end].encode(*_ANYHOW) if end else piece


def _visible(piece: bytes, shown: RevealedText) -> bytes:
    """The very same object if nothing is hidden in it."""
    if not shown.is_open and (is_plain(piece) or _is_plain_in_detail(piece)):
        return piece
    text = piece.decode(*_ANYHOW)
    if shown.is_clean(text):
        return piece
    visible = shown.piece(text)
    return piece if visible == text else visible.encode(*_ANYHOW)


def _is_plain_in_detail(piece: bytes) -> bool:
    """Most programs in Python write `\\u00e4` for what is not ASCII."""
    from clawft.wire.unseen import escape_in_bytes  # loaded by now

    return piece.isascii() and b"\x7f" not in piece and escape_in_bytes().search(piece) is None


_ANYHOW = ("utf-8", "surrogateescape")
"""Whatever it is, it comes out as it went in."""
