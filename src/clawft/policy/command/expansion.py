"""Brace lists and ANSI escapes: the parts of shell expansion that need nothing but the text."""

import re

MAX_BRACE_WORDS = 64

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")

_ANSI_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,6}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class TooComplex(Exception):
    """Deeper or larger than we are willing to follow."""


def braces(field: str) -> list[str]:
    """`{rm,-rf,/}` → three words; each list of the field in turn."""
    words = [_VARIABLE.sub("\x01\\1\x02", field)]  # the braces of a variable are no list
    for _ in range(field.count("{")):
        expanded = [piece for word in words for piece in _first_list(word)]
        if len(expanded) > MAX_BRACE_WORDS:
            raise TooComplex
        if len(expanded) == len(words):
            break
        words = expanded
    return [word.replace("\x01", "${").replace("\x02", "}") for word in words]


def _first_list(word: str) -> list[str]:
    start = word.find("{")
    end = word.find("}", start)
    if start < 0 or end < 0 or "," not in word[start:end]:
        return [word]
    return [word[:start] + piece + word[end + 1 :] for piece in word[start + 1 : end].split(",")]


def unescaped(text: str) -> str:
    """The text between `$'` and `'`, as bash means it."""
    return _ANSI_ESCAPE.sub(_unescape, text)


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number <= 0x10FFFF else ""
    return chr(int(code, 8)) if code[0] in "01234567" else _ANSI_LETTERS.get(code, code)
