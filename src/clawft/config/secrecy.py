"""Values of servers that may be secrets: which are written in clear, and how they are shown. On the safe side. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from clawft.wire.secrets import MASK, looks_secret, mask_url, redact_text

_OPTION = r"(?s)(?P<name>-{0,2}[A-Za-z][A-Za-z0-9_.-]*)=(?P<value>.+)"
_ADDRESS = r"(?i)[a-z][a-z0-9+.-]*://"


def in_clear(*values: Mapping[str, str]) -> list[str]:
    """Names of variables and headers whose values look like secrets."""
    return [name for each in values for name, value in each.items() if looks_secret(name, value)]


def variable_for(server: str, name: str) -> str:
    """The variable of our own environment that could hold it: its own name, or for a header one with the server's."""
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        return name
    return re.sub(r"[^A-Z0-9]+", "_", f"{server}_{name}".upper()).strip("_")


def masked_command(words: Sequence[str]) -> str:
    """A command line as it may be shown: without values of options that sound secret, and without what looks it."""
    import shlex  # only where it is shown

    return shlex.join(masked_words(words))


Mask = Callable[[str], str]


def left_out(value: str) -> str:
    return MASK


def told_by_digest(value: str) -> str:
    """So that a change of it shows."""
    return f"{MASK} ({_digest(value)})"


def masked_words(words: Sequence[str], mask: Mask = left_out) -> list[str]:
    """Each word as it may be shown. A value may stand behind `=`, or be the word behind its option."""
    return [
        _masked_word(before.lstrip("-") if before.startswith("-") else "", word, mask)
        for before, word in zip(("", *words), words, strict=False)
    ]


def _masked_word(name: str, word: str, mask: Mask) -> str:
    option = re.fullmatch(_OPTION, word)
    if option is not None:
        return f"{option['name']}={_masked_value(option['name'].lstrip('-'), option['value'], mask)}"
    return word if word.startswith("-") else _masked_value(name, word, mask)


def _masked_value(name: str, value: str, mask: Mask) -> str:
    if re.match(_ADDRESS, value):
        return masked_url(value, mask)
    if looks_secret(name.replace("-", "_"), value) or redact_text(value) != value:
        return mask(value)
    return value


def masked_url(url: str, mask: Mask = left_out) -> str:
    shown = mask_url(url)
    return shown if shown == url or mask is left_out else f"{shown} {mask(url)}"


def masked_values(values: Mapping[str, str], mask: Mask = left_out) -> dict[str, str]:
    return {name: mask(value) if looks_secret(name, value) else value for name, value in values.items()}


def secrets_in(words: Sequence[str]) -> list[str]:
    """What of a command line, or of an address, is not to be said."""
    found: list[str] = []

    def collect(value: str) -> str:
        found.extend((value, *_secret_parts(value)) if re.match(_ADDRESS, value) else (value,))
        return MASK

    masked_words(words, collect)
    return found


def _secret_parts(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    yield from (user, password) if password else ()
    yield from (pair.partition("=")[2] for pair in parts.query.split("&"))


def _digest(value: str) -> str:
    import hashlib  # loads OpenSSL; few values need it

    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:8]
