"""Text of several words and lines, broken where a terminal ends. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clawft.cli.screen.table import cells

_TYPED_OR_WORD = re.compile(r"^ *(?:hint: )?weft .*|(?<=:) weft [^;,()]*| *`[^`]*`\S*| *\(weft [^()]*\)\S*| *[^ ]+| +$")
"""A command to be typed, or a word, with the blanks before it."""

_INSIDE = r"(?<=[^\s:])\n(?=[\w(`'\"])(?!\d+[.)] )"


def reflowed(text: str) -> str:
    """Line ends inside a paragraph become blanks; empty lines, lists and indented lines stay."""
    return re.sub(_INSIDE, " ", text)


def folded(text: str, width: int) -> str:
    """Broken between words, and commands not at all: a terminal breaks what is longer, and gives it back whole."""
    return "\n".join(line for part in text.split("\n") for line in _folded_line(part, width)) if width else text


def _folded_line(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in _TYPED_OR_WORD.findall(text):
        if line and cells(line + word) > width:
            yield line
            line = word.lstrip(" ")
        else:
            line += word
    yield line
