"""Known secrets, in every usual spelling, are taken out of all text that leaves us: errors, logs, stderr of servers.

Secrets that were resolved are concealed as long as we run; tokens, which are soon replaced, while they are among the
newest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from urllib.parse import quote, quote_plus

import msgspec

from clawft.wire.secrets import redact_text

SHORTEST_CONCEALED = 6
"""A shorter value would be found in half of all words."""
SHORTEST_LINE = 12
"""Shorter lines of a secret with many lines are not concealed by themselves."""
MAX_PASSING = 256
"""How many tokens are concealed; the oldest is forgotten."""
SPELLED_KEPT = 2_048
LINE_DIGITS = 76
"""Most programs break lines of base64 after so many digits."""
HIDDEN = "…"

Find = Callable[[Sequence[str]], Iterable[str]]
"""Finds the secrets among words."""

_resolved: set[str] = set()
_passing: dict[str, tuple[str, ...]] = {}
_unread: dict[tuple[str, ...], Find] = {}


def keep_concealed(*secrets: str) -> None:
    """Conceal these values from now on, in all their usual spellings."""
    for secret in secrets:
        if len(secret) >= SHORTEST_CONCEALED:
            _resolved.update((secret, *_lines(secret), *_spellings(secret)))


def keep_concealed_for_now(*secrets: str) -> None:
    """Conceal these tokens from now on, while they are among the newest: each is soon replaced by another."""
    for secret in secrets:
        if len(secret) >= SHORTEST_CONCEALED and secret not in _passing:
            _passing[secret] = (secret, *_spellings(secret))
            while len(_passing) > MAX_PASSING:
                _passing.pop(next(iter(_passing)), None)  # another thread may have taken it


def _lines(secret: str) -> Iterable[str]:
    """A key of many lines is seldom said in one piece."""
    lines = [line.strip() for line in secret.splitlines()]
    return (line for line in lines if len(line) >= SHORTEST_LINE) if len(lines) > 1 else ()


def _spellings(secret: str) -> Iterable[str]:
    """As Python, JSON, HTML, URLs, hex and base64 write it."""
    raw = secret.encode("utf-8", "surrogatepass")
    on_a_page = secret.translate(_ON_A_PAGE)
    yield from (repr(secret)[1:-1], on_a_page, on_a_page.replace("&#x27;", "&#39;"))
    yield from _in_quotes(secret)
    in_addresses = (quote_plus(raw), *(quote(raw, safe=kept) for kept in _KEPT_IN_ADDRESSES))
    yield from (*in_addresses, *(_PERCENT.sub(lambda found: found[0].lower(), each) for each in in_addresses))
    yield from (raw.hex(), raw.hex().upper())
    yield from _in_base64(raw)


_ON_A_PAGE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_PERCENT = re.compile("(?:%[0-9A-Fa-f]{2})+")
_KEPT_IN_ADDRESSES = ("", "/", "!*'()")
"""Characters that most programs, Python and JavaScript leave as they are in a URL."""


@lru_cache(maxsize=SPELLED_KEPT)
def _in_quotes(secret: str) -> frozenset[str]:
    """As JSON may spell it: some programs write no letter beyond ASCII, and some no slash, as it is."""
    quoted = msgspec.json.encode(secret.encode("utf-8", "replace").decode()).decode()[1:-1]
    plain = "".join(letter if letter.isascii() else _escaped(letter) for letter in quoted)
    return frozenset(each for spelled in (quoted, plain) for each in (spelled, spelled.replace("/", "\\/")))


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _in_base64(raw: bytes) -> Iterable[str]:
    """Alone and inside a longer value, as a password behind its user name, in both alphabets."""
    from binascii import b2a_base64  # a thousandth of what resolving one takes

    alone = b2a_base64(raw, newline=False).decode().rstrip("=")
    yield alone
    yield from (
        line for at in range(0, len(alone), LINE_DIGITS) if len(line := alone[at : at + LINE_DIGITS]) >= SHORTEST_LINE
    )
    for before, mixed in ((0, 0), (1, 2), (2, 3)):  # bytes before it, and digits that say something of those, too
        digits = b2a_base64(bytes(before) + raw, newline=False).decode().rstrip("=")
        is_whole = (before + len(raw)) % 3 == 0
        own = digits[mixed:] if is_whole else digits[mixed:-1]
        yield from (own, own.replace("+", "-").replace("/", "_"))


def keep_concealed_in(words: tuple[str, ...], find: Find) -> None:
    """Conceal the secrets among these words; `find` is called before anything is said next, and not earlier."""
    _unread[words] = find


def _longest_first() -> list[str]:
    for words, find in tuple(_unread.items()):
        keep_concealed(*find(words))
        _unread.pop(words, None)  # only now: another thread may be about to say something
    passing = (each for spelled in tuple(_passing.values()) for each in spelled)
    return sorted({*_resolved, *passing}, key=len, reverse=True)


def without_resolved(raw: bytes) -> bytes:
    """JSON without concealed secrets; the very same object if there are none in it."""
    for secret in _longest_first():
        for spelled in map(str.encode, _in_quotes(secret)):
            if spelled in raw:
                raw = raw.replace(spelled, HIDDEN.encode())
    return raw


def conceal(text: str) -> str:
    """The text without concealed secrets, and without anything that has the shape of a known secret.

    For whatever leaves us as words: errors, logs, what servers wrote to stderr.
    """
    secrets = _longest_first()
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return redact_text(_without_percent(secrets, text) if _PERCENT.search(text) else text)


def _without_percent(secrets: Sequence[str], text: str) -> str:
    """Conceal percent-encoded secrets: programs differ in which letters they encode, so the text is decoded first."""
    ways = (text, text.replace("+", " ")) if "+" in text else (text,)
    read = [_PERCENT.sub(_read, way) for way in ways]
    for secret in secrets:
        if any(secret in each for each in read):
            text = re.sub("".join(map(_spelled_either_way, secret)), HIDDEN, text)
    return text


def _read(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")


def _spelled_either_way(letter: str) -> str:
    spelled = "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
    return f"(?:{re.escape(letter)}|(?i:{spelled}){'|[+]' if letter == ' ' else ''})"
