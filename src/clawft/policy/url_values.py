"""The URLs that a program may read in a text, as many strip, join or complete it before they fetch it."""

import re

from clawft.policy.address import is_metadata, literal_addresses
from clawft.policy.url_rules import split

FETCHED = frozenset("http https ftp ftps ws wss gopher dict ldap ldaps tftp".split())
"""Schemes that a tool would open a connection for. Others (`postgres://`, `ssh://`, a server's own resources) name
things, and what may be done with them is for the tool to know."""
OPENED = frozenset("unix http+unix https+unix tcp smb smbs cifs sftp scp telnet gophers".split())
"""Schemes that a fetching program would connect to as well; judged only where the argument is called a URL."""
ADDRESS_KEYS = ("url", "uri", "href", "endpoint", "base_url", "baseurl", "base_uri", "baseuri")
"""Beginnings of argument names whose values may lack a scheme (`localhost:8080/x`)."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,63}):")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,63}:[/\\]{2}|[/\\]{2}[^/\\\s]|https?:", re.IGNORECASE)
_TORN = r"[\t\r\n]*+"
_TORN_URL = re.compile(
    rf"[A-Za-z](?:{_TORN}[A-Za-z0-9+.-]){{0,63}}{_TORN}:(?:{_TORN}[/\\]){{2}}"
    rf"|[/\\]{_TORN}[/\\]{_TORN}[^/\\\s]|h{_TORN}t{_TORN}t{_TORN}p{_TORN}(?:s{_TORN})?:",
    re.IGNORECASE,
)
"""A URL with line breaks and tabs anywhere: found at the beginning of a text before anything is joined."""
_UP_TO_PATH = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,63}:)?[/\\]*[^/?#\\]*")
_AROUND = re.compile(r"(?:(?:view-source|jar|blob|feed|url):)+(?=[A-Za-z][A-Za-z0-9+.-]{0,63}:[/\\])", re.IGNORECASE)
"""Schemes that wrap another URL, which is the one that is fetched."""
_GAP = re.compile(r"\s")
_BREAK = re.compile(r"[\t\r\n]+")
_BARE = re.compile(r"[^\s/?#\\]{1,300}")

_BLANK_CODES = (*range(0x21), 0x7F, 0x85, 0xA0, 0xAD, 0x1680, 0x180E, *range(0x2000, 0x2010), *range(0x2028, 0x2030))
BLANKS = "".join(map(chr, (*_BLANK_CODES, *range(0x205F, 0x2070), 0x3000, 0xFEFF)))
"""Blanks, controls and what nobody sees: some program strips each of them."""
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u201e\u201a\u00ab\u00bb\u2039\u203a"
_OPENING = f"{_QUOTES}<([{{"
_CLOSING = f"{_QUOTES}<>()"
_BARE_CLOSING = f"{_CLOSING}]}}"


def urls_of(name: str, value: str) -> list[str]:
    """The URLs a value may be fetched as. `name` is that of its argument, plain."""
    found = [url for url in _readings(name, value) if _is_fetched(name, url)]
    return found or (_without_scheme(value) if name.startswith(ADDRESS_KEYS) else [])


def _readings(name: str, value: str) -> list[str]:
    """Some programs drop line breaks and tabs inside a URL, others stop there."""
    text = _undressed(name, value)
    text = text[around.end() :] if (around := _AROUND.match(text)) else text
    if _TORN_URL.match(text) is None:
        return []
    first_line = _BREAK.split(text, maxsplit=1)[0]
    if len(first_line) == len(text):
        return [text] if _is_url(text) else []
    joined = _UP_TO_PATH.match(_BREAK.sub("", text))
    readings = [first_line.rstrip(), joined[0] if joined else ""]
    return [reading for reading in readings if _is_url(reading)]


def _undressed(name: str, value: str) -> str:
    """Without blanks, quotes and brackets around it; unchanged if only its beginning is a URL in quotes or brackets."""
    text = value.strip(BLANKS)
    inner = text.lstrip(_OPENING + BLANKS)
    opened = text[: len(text) - len(inner)]
    inner = inner.rstrip((_BARE_CLOSING if "[" in opened else _CLOSING) + BLANKS)
    if not opened:
        return inner
    has_slashes = "//" in inner or "\\" in inner
    return inner if has_slashes and ("url" in name or not _GAP.search(inner)) else text


def _is_url(text: str) -> bool:
    return _URL.match(text) is not None and (head := _UP_TO_PATH.match(text)) is not None and " " not in head[0]


def _is_fetched(name: str, url: str) -> bool:
    """A file counts only where the argument calls itself a URL: `uri` is how resources are named.

    Backslashes begin patterns (`/\\d+/`) and paths of Windows, unless an address stands behind them.
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        return url.startswith("//") or name.startswith(ADDRESS_KEYS) or bool(_without_scheme(url.lstrip("/\\")))
    told = scheme[1].lower()
    if told in FETCHED:
        return True
    called_url = "url" in name
    return (told == "file" and called_url) or (told in OPENED and (called_url or name.startswith(("href", "endpoint"))))


def _without_scheme(value: str) -> list[str]:
    """An address that a program would put `http://` before. Names in general are not taken for one: `readme.md`."""
    text = value.strip(BLANKS + _QUOTES + "<>()")
    parts = split(f"//{head[0]}") if (head := _BARE.match(text)) else None
    return [f"//{text}"] if parts and _is_address(parts.host, parts.port) else []


def _is_address(host: str, port: str) -> bool:
    plain_number = host.isdigit() and not port  # more often an id
    return is_metadata(host) or (bool(literal_addresses(host)) and not plain_number)
