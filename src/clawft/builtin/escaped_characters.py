"""Turns escapes such as `⟨U+FEFF⟩` that agents read, and write back, into the characters the file had. Pure."""

import re
from collections import Counter

import msgspec

from clawft.errors import InvalidArguments
from clawft.wire.visible import make_visible

MARK = "⟨"
"""The first character of every escape: a text without it has none."""
_SPELLED = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩|⟨and \d+ more hidden⟩")


def restored(content: str, before: str) -> tuple[str, int]:
    """The new text with escapes turned back into characters that the old text had, and how many were turned.

    Other escapes are kept as they are. Raises InvalidArguments where it is unclear what an escape stands for.
    """
    wanted = _spellings(content)
    if not wanted:
        return content, 0
    literal = _spellings(before)
    hidden = _spellings(make_visible(msgspec.json.encode(before)).decode()) - literal
    back = wanted.keys() & hidden.keys()
    for spelling in back:
        if spelling in literal or not spelling.startswith("⟨U+"):
            raise _unclear(spelling)
    text = _SPELLED.sub(lambda found: chr(int(found[1], 16)) if found[0] in back else found[0], content)
    return text, sum(wanted[spelling] for spelling in back)


def _spellings(text: str) -> Counter[str]:
    return Counter(found[0] for found in _SPELLED.finditer(text))


def _unclear(spelling: str) -> InvalidArguments:
    return InvalidArguments(
        f"write: '{spelling}' is how reading shows what nobody sees, and which characters it stands for is not clear",
        hint="write the characters themselves, or leave them out",
    )
