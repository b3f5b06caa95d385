"""Values of servers that may be secrets: which are written in clear, and how they are shown. On the safe side. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from clawft.upstream.spec import Described
from clawft.wire.secrets import MASK, looks_secret, mask_url, redact_text

_OPTION = r"(?s)(?P<name>-{0,2}[A-Za-z][A-Za-z0-9_.-]*)=(?P<value>.+)"
_ADDRESS = r"(?i)[a-z][a-z0-9+.-]*://"


def in_clear(*values: Mapping[str, str]) -> list[str]:
    """Names of variables and headers whose values look like secrets."""
    return [name for each in values for name, value in each.items() if looks_secret(name, value)]


def query_in_clear(url: str) -> list[tuple[str, str]]:
    """Names and values in the query of an address that look like secrets, as they are written there."""
    pairs = [pair.partition("=") for pair in url.partition("?")[2].partition("#")[0].split("&")]
    return [(name, value) for name, _, value in pairs if "${" not in value and looks_secret(name, value)]


def has_password(url: str) -> bool:
    """`https://user:password@host/…`"""
    place = re.match(rf"{_ADDRESS}(?P<user>[^/?#]*)@", url)
    return place is not None and ":" in place["user"] and "${" not in place["user"]


def options_in_clear(words: Sequence[str]) -> list[str]:
    """Options of a command line whose values look like secrets; for one that stands alone what it is."""
    found: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        option = re.fullmatch(_OPTION, word)
        name = option["name"] if option else before if before.startswith("-") else ""
        value = option["value"] if option else word
        if not value.startswith("-") and looks_secret(name.lstrip("-").replace("-", "_"), value):
            found.append(name or "(without a name)")
    return found


def told_in_clear(written: Described, server: str) -> Iterator[tuple[str, str]]:
    """What holds something that looks like a secret, and what to write instead."""
    for name in in_clear(written.env, written.headers):
        variable = variable_for(server, name)
        yield name, f'export {variable}=… and write "secret://env/{variable}"'
    for name, _ in query_in_clear(written.url):
        variable = variable_for(server, name)
        yield name, f"export {variable}=… and write {name}=${{secret://env/{variable}}}"
    if has_password(written.url):
        yield "url", "leave the password out; a header may refer to it"
    for name in options_in_clear(written.args):
        yield f"the argument {name}", "give it by a variable: env"


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
