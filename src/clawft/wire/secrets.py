"""Secrets by their shape, or by name: keys and tokens that anybody would recognise, taken out of texts and JSON. Pure.

Every repetition is bounded, so that no text can make the search slow. What is looked for first is always one rare
character, which costs next to nothing where it is not; only behind it is looked whether it stands in a secret. What was
taken out is named in its place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import cast
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

MASK = "…"

_KEY_BEGINS = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
_WORD = rb"(?<![A-Za-z0-9_-])"

SHAPES: tuple[tuple[str, bytes], ...] = (
    ("AWS key", _WORD + rb"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("AWS secret", rb"(?i:aws_secret_access_key|secretaccesskey)[\\\"' =:]{1,8}[A-Za-z0-9/+\\]{40,44}"),
    ("GitHub token", _WORD + rb"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    ("GitLab token", _WORD + rb"gl(?:pat|dt|rt|ptt|ft|soat)-[A-Za-z0-9_-]{20,255}"),
    ("Slack token", _WORD + rb"(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,255}"),
    ("Slack webhook", rb"hooks\.slack\.com/services/[A-Za-z0-9/]{20,100}"),
    (
        "Google key",
        _WORD + rb"(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,2048}|GOCSPX-[A-Za-z0-9_-]{20,64})",
    ),
    ("API key", _WORD + rb"sk-[A-Za-z0-9_-]{20,512}"),
    ("Stripe key", _WORD + rb"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,255}"),
    ("package token", _WORD + rb"(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,512})"),
    ("Hugging Face token", _WORD + rb"hf_[A-Za-z0-9]{30,100}"),
    ("SendGrid key", _WORD + rb"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    ("DigitalOcean token", _WORD + rb"do[opr]_v1_[a-f0-9]{64}"),
    (
        "JSON web token",
        _WORD + rb"eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{4,8192}\.[A-Za-z0-9_-]{0,2048}",
    ),
    ("private key", _KEY_BEGINS + rb"(?:[^\"-]|-(?!----END)){0,16384}(?:-----END [A-Z0-9 ]{0,60}-----)?"),
    (
        "credentials",  # a digit or a mark among the first letters: "the bearer announces" is none
        rb"(?<![A-Za-z])(?i:bearer|basic) {1,3}(?=[A-Za-z._~+/=-]{0,40}[0-9=_])[A-Za-z0-9._~+/=-]{16,4096}",
    ),
    ("password", rb"://[^/\s:@\"\\]{1,100}:[^/\s@\"\\]{1,200}@"),
)
"""The name of each kind of secret, and its pattern."""


class _Sign(Struct, frozen=True):
    """How shapes give themselves away: by one character, what follows it, and what stands right before it.

    `shapes`: for each group of the pattern, how far back from there the shape begins.
    """

    pattern: bytes
    shapes: tuple[tuple[int, str], ...]


def _at(character: bytes, follows: bytes, *heads: tuple[str, str]) -> _Sign:
    """A sign of shapes that begin a word, by their heads up to the character; each head of a fixed length."""
    ends = [rb"(?<=%b)(?<![A-Za-z0-9_-]%b)()" % (head.encode(), head.encode()) for head, _ in heads]
    shapes = tuple((len(re.sub(r"\[.*?\]|\\.", ".", head)) - 1, name) for head, name in heads)
    return _Sign(character + follows + b"(?:" + b"|".join(ends) + b")", shapes)


SIGNS: tuple[_Sign, ...] = (
    _at(
        b"_",
        rb"(?=[A-Za-z0-9_]{16})",
        ("gh[pousr]_", "GitHub token"),
        ("github_pat_", "GitHub token"),
        ("[sr]k_live_", "Stripe key"),
        ("[sr]k_test_", "Stripe key"),
        ("whsec_", "Stripe key"),
        ("npm_", "package token"),
        ("hf_", "Hugging Face token"),
        ("do[opr]_v1_", "DigitalOcean token"),
    ),
    _at(
        b"-",
        rb"(?=[A-Za-z0-9_-]{10})",
        ("sk-", "API key"),
        ("gl[dfr]t-", "GitLab token"),
        ("glpat-", "GitLab token"),
        ("glptt-", "GitLab token"),
        ("glsoat-", "GitLab token"),
        ("xox[abceoprs]-", "Slack token"),
        ("xapp-", "Slack token"),
        ("GOCSPX-", "Google key"),
        ("pypi-", "package token"),
    ),
    _at(rb"\.", rb"(?=[A-Za-z0-9_-]{16})", (r"ya29\.", "Google key"), (r"SG\.", "SendGrid key")),
    _at(b"z", rb"(?=a[A-Za-z0-9_-]{35})", ("AIz", "Google key")),
    _at(b"A", rb"(?=[A-Z0-9]{16})", ("A[KSB]IA", "AWS key"), ("ACCA", "AWS key")),
    # behind first: ahead it is far to look, and in a picture there are many of these letters
    _Sign(rb"J(?<=eyJ)(?<![A-Za-z0-9_-]eyJ)(?=[A-Za-z0-9_-]{8,4096}\.eyJ)()", ((2, "JSON web token"),)),
    _Sign(rb"b(?=(?i:earer|asic) {1,3}[A-Za-z0-9._~+/=-]{16})()", ((0, "credentials"),)),
    _Sign(rb"B(?=(?i:earer|asic) {1,3}[A-Za-z0-9._~+/=-]{16})()", ((0, "credentials"),)),
    _Sign(rb"k(?i:(?<=aws_secret_access_k)()|(?<=secretaccessk)())(?i:ey)", ((18, "AWS secret"), (12, "AWS secret"))),
    _Sign(rb"K(?i:(?<=aws_secret_access_k)()|(?<=secretaccessk)())(?i:ey)", ((18, "AWS secret"), (12, "AWS secret"))),
    _Sign(rb"-----BEGIN ()", ((0, "private key"),)),
    _Sign(rb"://(?=[^/\s:@\"\\]{1,100}:)()", ((0, "password"),)),
    _Sign(rb"hooks\.slack\.com/()", ((0, "Slack webhook"),)),
)

_BEGINS_A_WORD = rb"^\(\?<!\[[^]]*\]\)"

_Match = re.Pattern[bytes]


_Span = tuple[int, int, bytes]
"""Where a secret begins and ends, and what is written instead."""


@cache
def _compiled() -> tuple[tuple[_Match, tuple[tuple[int, _Match, bytes], ...]], ...]:
    """On first use: most runs of a program say nothing that has to be looked through."""
    shapes = {name: (re.compile(pattern), _instead(name)) for name, pattern in SHAPES}
    return tuple(
        (re.compile(sign.pattern), tuple((back, *shapes[name]) for back, name in sign.shapes)) for sign in SIGNS
    )


@cache
def _anywhere() -> tuple[tuple[_Match, bytes], ...]:
    """The shapes as they look right behind another secret, where no word begins."""
    return tuple((re.compile(re.sub(_BEGINS_A_WORD, b"", pattern)), _instead(name)) for name, pattern in SHAPES)


def _instead(name: str) -> bytes:
    mark = b"[redacted: %b]" % name.encode()
    return b"://%b@" % mark if name == "password" else mark


def redact(raw: bytes) -> bytes:
    """The text, or JSON, without secrets of known shape; the very same object if there are none."""
    without = BytesIO()  # gives its bytes away without a copy
    at = 0
    for number, (start, end, instead) in enumerate(_spans(raw)):
        if start >= at:  # where secrets overlap, all of both is taken out
            without.write(memoryview(raw)[at:start])
            without.write(instead if number < MAX_NAMED else re.sub(_BRIEF, MASK.encode(), instead))
        at = max(at, end)
    if not at:
        return raw
    without.write(memoryview(raw)[at:])
    return without.getvalue()


MAX_NAMED = 10_000
"""Secrets of one text that are named. What stands for more of them is no longer than they were."""
_BRIEF = rb"\[redacted: [^]]*\]"

WINDOW = 256 * 1024
"""Bytes that are looked through for all signs before the next are: not all secrets of a long text are held at once."""
_AHEAD = 8 * 1024
"""As far as any sign looks, and more than any secret begins before its sign."""


def _spans(raw: bytes) -> Iterator[_Span]:
    """In their order."""
    searches = [_Search(sign, shapes) for sign, shapes in _compiled()]
    known: list[_Span] = []
    for at in range(0, len(raw), WINDOW):
        end = at + WINDOW
        known = sorted([*known, *(span for search in searches for span in search.spans(raw, at, end))])
        settled = bisect_left(known, (end - _AHEAD,))
        yield from known[:settled]
        known = known[settled:]
    yield from known


class _Search:
    """For what one sign stands for, through one text."""

    def __init__(self, sign: _Match, shapes: tuple[tuple[int, _Match, bytes], ...]) -> None:
        self._sign = sign
        self._shapes = shapes
        self._done = 0
        self._goes_on = False
        """Right behind the last secret there may be another."""

    def spans(self, raw: bytes, at: int, end: int) -> Iterator[_Span]:
        if self._goes_on:
            yield from self._right_behind(raw, end)
        for seen in self._sign.finditer(raw, at, min(end + _AHEAD, len(raw))):
            if seen.start() >= end:
                return
            back, pattern, instead = self._shapes[(seen.lastindex or 1) - 1]
            start = seen.start() - back
            found = pattern.match(raw, start) if start >= self._done else None
            if found is not None:
                self._done = found.end()
                yield start, self._done, instead
                yield from self._right_behind(raw, end)

    def _right_behind(self, raw: bytes, end: int) -> Iterator[_Span]:
        """Further secrets, end to end."""
        while self._done < min(end, len(raw)):
            span = _secret_at(raw, self._done)
            if span is None:
                self._goes_on = False
                return
            self._done = span[1]
            yield span
        self._goes_on = self._done < len(raw)


def _secret_at(raw: bytes, at: int) -> _Span | None:
    for pattern, instead in _anywhere():
        found = pattern.match(raw, at)
        if found is not None:
            return at, found.end(), instead
    return None


def redact_text(text: str) -> str:
    encoded = text.encode("utf-8", "surrogatepass")
    without = redact(encoded)
    return text if without is encoded else without.decode("utf-8", "surrogatepass")


def mask_url(url: str) -> str:
    """An address as it may be shown: without user and password, and without the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    host = parts.netloc.rpartition("@")[2]
    path = parts.path if parts.path.startswith("/") else parts.path.rpartition("@")[2]  # `http://` was forgotten
    shown = parts._replace(netloc=host, path=path, query=_masked_query(parts), fragment="")
    return url if shown == parts else shown.geturl()


def _masked_query(parts: SplitResult) -> str:
    names = [pair.partition("=") for pair in parts.query.split("&")] if parts.query else []
    return "&".join(f"{name}={MASK}" if found else MASK for name, found, _ in names)


# ── by name ──────────────────────────────────────────────────────────────────────────────────────────────────────────

SHORTEST_SECRET = 6
LONG_RANDOM = 32

_NAMES = r"(?i)token|secret|passw|api_?key|apikey|credential|private_?key|auth|(?:^|_)(?:key|pat|pw|pwd)$"
_PREFIXES = (
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
)
_SCHEMES = r"(?i)(?:Bearer|Basic|Token)\s+\S"
_QUERY = r"(?<=[?&#])([^=&#?\s]{1,100})=([^&#\s]{1,8192})"
_RANDOM = r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9+=_-]+"
_PLAIN = r"(?i)(?:/|~|\./|https?://|\$|secret://)|(?:true|false|yes|no|none|null|\d{1,5})$"
"""Paths, addresses, references, switches and small numbers are none, whatever the variable is called."""


def looks_secret(name: str, value: str) -> bool:
    """Whether this value looks like a secret that somebody wrote down in clear. A guess, on the safe side."""
    if not value or value.startswith("secret://"):
        return False
    if value.startswith(_PREFIXES) or re.match(_SCHEMES, value):
        return "${" not in value
    if re.match(_PLAIN, value):
        return False
    long_random = len(value) >= LONG_RANDOM and re.fullmatch(_RANDOM, value) is not None
    return long_random or (len(value) >= SHORTEST_SECRET and re.search(_NAMES, name) is not None)


def mask_members(raw: bytes) -> bytes:
    """A JSON object without the values of members that sound like secrets, and without secrets of known shape."""
    try:
        decoded: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return redact(raw)
    masked = _masked("", decoded)
    return redact(raw if masked == decoded else msgspec.json.encode(masked))


def _masked(name: str, value: object) -> object:
    if isinstance(value, dict):
        return {key: _masked(key, each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_masked(name, each) for each in cast("list[object]", value)]
    if not isinstance(value, str):
        return value
    return MASK if looks_secret(name, value) else _with_masked_queries(value)


def _with_masked_queries(text: str) -> str:
    """The addresses in it, without what their queries name a secret."""
    return re.sub(_QUERY, _masked_pair, text) if "://" in text else text


def _masked_pair(pair: re.Match[str]) -> str:
    return f"{pair[1]}={MASK}" if looks_secret(pair[1], pair[2]) else pair[0]
