"""Detects values of servers that look like secrets, and masks them for display. In doubt they are secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from clawft.store.secrets import references_in
from clawft.upstream.spec import ServerDescription
from clawft.wire.secrets import MASK, looks_secret, mask_url, redact_text

_OPTION = r"(?s)(?P<name>-{0,2}[A-Za-z][A-Za-z0-9_.-]*)=(?P<value>.+)"
_PIECE = r"[\w+/=.~%:@-]+"
"""Characters of keys and tokens: no blank, and nothing with a meaning in a shell."""
_PAIR = rf"(?<=[?&])(?P<name>[\w.-]+)=(?P<value>{_PIECE})"
_ADDRESS = r"(?i)[a-z][a-z0-9+.-]*://"
_PLACE = rf"{_ADDRESS}(?P<user>[^/?#]*)@"


def in_clear(*values: Mapping[str, str]) -> list[str]:
    """Names of variables and headers whose values look like secrets."""
    return [name for each in values for name, value in each.items() if holds_secret(name, value)]


def holds_secret(name: str, value: str) -> bool:
    """Whether it is a secret in clear, or an address with one. A variable that is filled in elsewhere is none."""
    if looks_secret(name, value) or query_in_clear(value):
        return True
    return "${" not in value and redact_text(value) != value


def query_in_clear(url: str) -> list[tuple[str, str]]:
    """Names and values in the query of an address that look like secrets, as written."""
    pairs = [pair.partition("=") for pair in url.partition("?")[2].partition("#")[0].split("&")]
    return [(name, value) for name, _, value in pairs if "${" not in value and looks_secret(name, value)]


def has_password(url: str) -> bool:
    """Whether the address is of the form `https://user:password@host/…`."""
    place = re.match(_PLACE, url)
    return place is not None and ":" in place["user"] and "${" not in place["user"]


def options_in_clear(words: Sequence[str]) -> list[str]:
    """Options on a command line whose values look like secrets; for a lone value a description."""
    found: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        option = re.fullmatch(_OPTION, word)
        name = option["name"] if option else before if before.startswith("-") else ""
        value = option["value"] if option else word
        if not value.startswith("-") and holds_secret(name.lstrip("-").replace("-", "_"), value):
            found.append(name or (mask_url(value) if re.match(_ADDRESS, value) else "(without a name)"))
    return found


def told_in_clear(written: ServerDescription, server: str) -> Iterator[tuple[str, str]]:
    """Names of what holds a secret in clear, and what to write instead."""
    for name in in_clear(written.env, written.headers):
        variable = variable_for(server, name)
        yield name, f'export {variable}=… and write "secret://env/{variable}"'
    for name, _ in query_in_clear(written.url):
        variable = variable_for(server, name)
        yield name, f"export {variable}=… and write {name}=${{secret://env/{variable}}}"
    if has_password(written.url):
        yield "url", "leave the password out; a header may refer to it"
    for name in options_in_clear(written.args):
        yield f"the argument {name}", "pass it in a variable: env"


def variable_for(server: str, name: str) -> str:
    """The environment variable to hold a secret: its own name, or for a header one with the server's name."""
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        return name
    return re.sub(r"[^A-Z0-9]+", "_", f"{server}_{name}".upper()).strip("_")


Mask = Callable[[str], str]


def left_out(value: str) -> str:
    return MASK


def told_by_digest(value: str) -> str:
    """A mask with a digest, so that changes show."""
    return f"{MASK} ({_digest(value)})"


def masked_words(words: Sequence[str], mask: Mask = left_out) -> list[str]:
    """The words with secrets masked. A value may stand behind `=`, or be the word behind its option."""
    return [
        _masked_word(before.lstrip("-") if before.startswith("-") else "", word, mask)
        for before, word in zip(("", *words), words, strict=False)
    ]


def read_command(words: Sequence[str]) -> str:
    """A command line for the person who approves it.

    It is one line, with line ends escaped: a shell command or a comment ends there.
    """
    import shlex  # only where it is shown

    return shlex.join(re.sub(r"[^\S ]", _spelled, word) for word in read_words(words))


def _spelled(blank: re.Match[str]) -> str:
    return f"⟨U+{ord(blank[0]):04X}⟩"


def read_words(words: Sequence[str]) -> list[str]:
    """The words for the person who approves them, each secret masked by its digest.

    Code may look like a secret, or hold one, so in a longer word only the secret parts are masked.
    """
    pairs = zip(words, masked_words(words, told_by_digest), strict=True)
    return [masked if re.fullmatch(_PIECE, word) else _read_word(word) for word, masked in pairs]


def _read_word(word: str) -> str:
    if re.search(_ADDRESS, word):
        word = re.sub(_PAIR, lambda pair: f"{pair['name']}={told_by_digest(pair['value'])}", word)
    return re.sub(_PIECE, lambda piece: _masked_word("", piece[0], told_by_digest), word)


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


def read_url(url: str) -> str:
    """An address for the person who approves it, with the names of all secrets that would be sent there."""
    shown = masked_url(url, told_by_digest)
    unseen = [name for name in references_in(url) if name not in shown]
    return f"{shown}, with {', '.join(unseen)}" if unseen else shown


def masked_values(values: Mapping[str, str], mask: Mask = left_out) -> dict[str, str]:
    return {name: mask(value) if holds_secret(name, value) else value for name, value in values.items()}


def secrets_in(words: Sequence[str]) -> list[str]:
    """The secrets in a command line or address, which must not be shown."""
    found: list[str] = []

    def collect(value: str) -> str:
        found.extend((value, *_secret_parts(value)) if re.match(_ADDRESS, value) else (value,))
        return MASK

    masked_words(words, collect)
    return found


def _secret_parts(url: str) -> Iterator[str]:
    """Split without a parser: malformed addresses may hold secrets as well."""
    place = re.match(_PLACE, url)
    user, _, password = place["user"].partition(":") if place else ("", "", "")
    yield from (user, password) if password else ()
    yield from (pair.partition("=")[2] for pair in url.partition("?")[2].partition("#")[0].split("&"))


def _digest(value: str) -> str:
    import hashlib  # loads OpenSSL; few values need it

    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:8]
