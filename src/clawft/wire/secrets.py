"""Secrets by their shape, or by name: keys and tokens that anybody would recognise, taken out of texts and JSON. Pure.

Every repetition is bounded, so that no text can make the search slow; a text without any of them is passed by one quick
search for a few bytes. What was taken out is named in its place.
"""

from __future__ import annotations

import re
from functools import cache
from typing import cast
from urllib.parse import SplitResult, urlsplit

import msgspec

MASK = "…"

_KEY_BEGINS = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
_WORD = rb"(?<![A-Za-z0-9_-])"


def _of(words: str) -> tuple[bytes, ...]:
    return tuple(words.encode().split())


SHAPES: tuple[tuple[str, bytes, tuple[bytes, ...]], ...] = (
    ("AWS key", _WORD + rb"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", _of("AKIA ASIA ABIA ACCA")),
    (
        "AWS secret",
        rb"(?i:aws_secret_access_key|secretaccesskey)[\\\"' =:]{1,8}[A-Za-z0-9/+\\]{40,44}",
        _of("ccess_key CCESS_KEY ccessKey ccesskey"),
    ),
    (
        "GitHub token",
        _WORD + rb"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})",
        _of("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    ),
    (
        "GitLab token",
        _WORD + rb"gl(?:pat|dt|rt|ptt|ft|soat)-[A-Za-z0-9_-]{20,255}",
        _of("glpat- gldt- glrt- glptt- glft- glsoat-"),
    ),
    ("Slack token", _WORD + rb"(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,255}", _of("xox xapp-")),
    ("Slack webhook", rb"hooks\.slack\.com/services/[A-Za-z0-9/]{20,100}", _of("hooks.slack")),
    (
        "Google key",
        _WORD + rb"(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,2048}|GOCSPX-[A-Za-z0-9_-]{20,64})",
        _of("AIza ya29. GOCSPX-"),
    ),
    ("API key", _WORD + rb"sk-[A-Za-z0-9_-]{20,512}", _of("sk-")),
    ("Stripe key", _WORD + rb"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,255}", _of("k_live_ k_test_ whsec_")),
    ("package token", _WORD + rb"(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,512})", _of("npm_ pypi-")),
    ("Hugging Face token", _WORD + rb"hf_[A-Za-z0-9]{30,100}", _of("hf_")),
    ("SendGrid key", _WORD + rb"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}", _of("SG.")),
    ("DigitalOcean token", _WORD + rb"do[opr]_v1_[a-f0-9]{64}", _of("_v1_")),
    (
        "JSON web token",
        _WORD + rb"eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{4,8192}\.[A-Za-z0-9_-]{0,2048}",
        _of(".eyJ"),
    ),
    (
        "private key",
        _KEY_BEGINS + rb"(?:[^\"-]|-(?!----END)){0,16384}(?:-----END [A-Z0-9 ]{0,60}-----)?",
        (b"PRIVATE KEY",),
    ),
    (
        "credentials",  # a digit or a mark among the first letters: "the bearer announces" is none
        rb"(?<![A-Za-z])(?i:bearer|basic) {1,3}(?=[A-Za-z._~+/=-]{0,40}[0-9=_])[A-Za-z0-9._~+/=-]{16,4096}",
        (b"earer ", b"EARER ", b"asic ", b"ASIC "),
    ),
    ("password", rb"://[^/\s:@\"\\]{1,100}:[^/\s@\"\\]{1,200}@", (b"://",)),
)
"""What it is called, its pattern, and bytes of which one is in every text that has it."""
SMALL = 2_048
"""Up to here one search for all of these bytes is faster than one for each; beyond it is the other way round."""


@cache
def _compiled() -> tuple[re.Pattern[bytes], tuple[tuple[bytes, re.Pattern[bytes], tuple[bytes, ...]], ...]]:
    """On first use: most runs of a program say nothing that has to be looked through."""
    shapes = tuple((_instead(name), re.compile(pattern), hints) for name, pattern, hints in SHAPES)
    return re.compile(b"|".join(re.escape(hint) for _, _, hints in SHAPES for hint in hints)), shapes


def _instead(name: str) -> bytes:
    told = b"[redacted: %b]" % name.encode()
    return b"://%b@" % told if name == "password" else told


def redact(raw: bytes) -> bytes:
    """The same text, or JSON, without secrets of known shape; the very same object if there are none."""
    any_hint, shapes = _compiled()
    if len(raw) <= SMALL and any_hint.search(raw) is None:
        return raw
    without = raw
    for instead, pattern, hints in shapes:
        if any(map(raw.__contains__, hints)):
            without = pattern.sub(instead, without)
    return raw if without == raw else without


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
    shown = parts._replace(netloc=host, query=_masked_query(parts), fragment="")
    return url if shown == parts else shown.geturl()


def _masked_query(parts: SplitResult) -> str:
    names = [pair.partition("=") for pair in parts.query.split("&")] if parts.query else []
    return "&".join(f"{name}={MASK}" if found else MASK for name, found, _ in names)


# ── by name ──────────────────────────────────────────────────────────────────────────────────────────────────────────

SHORTEST_SECRET = 6
LONG_RANDOM = 32

_NAMES = re.compile(
    r"token|secret|passw|api_?key|apikey|credential|private_?key|auth|(?:^|_)(?:key|pat|pw|pwd)$", re.IGNORECASE
)
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
_SCHEMES = re.compile(r"(?:Bearer|Basic|Token)\s+\S", re.IGNORECASE)
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9+=_-]+")
_PLAIN = re.compile(r"(?:/|~|\./|https?://|\$|secret://)|(?:true|false|yes|no|none|null|\d{1,5})$", re.IGNORECASE)
"""Paths, addresses, references, switches and small numbers are none, whatever the variable is called."""


def looks_secret(name: str, value: str) -> bool:
    """Does this value look like a secret that somebody wrote down in clear? A guess, on the safe side."""
    if not value or value.startswith("secret://"):
        return False
    if value.startswith(_PREFIXES) or _SCHEMES.match(value):
        return "${" not in value
    if _PLAIN.match(value):
        return False
    long_random = len(value) >= LONG_RANDOM and _RANDOM.fullmatch(value) is not None
    return long_random or (len(value) >= SHORTEST_SECRET and _NAMES.search(name) is not None)


def mask_members(raw: bytes) -> bytes:
    """A JSON object without the values of members that sound like secrets, and without secrets of known shape."""
    try:
        told: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return redact(raw)
    masked = _masked("", told)
    return redact(raw if masked == told else msgspec.json.encode(masked))


def _masked(name: str, value: object) -> object:
    if isinstance(value, dict):
        return {key: _masked(key, each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_masked(name, each) for each in cast("list[object]", value)]
    return MASK if isinstance(value, str) and looks_secret(name, value) else value
