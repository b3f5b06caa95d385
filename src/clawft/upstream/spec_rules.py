"""Rules for the way to a server that hold for every spec, whoever wrote it: a file or a program. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from clawft.errors import InvalidConfig
from clawft.model import Deny
from clawft.policy import launch
from clawft.store.secrets import begins_with_reference, with_defaults
from clawft.upstream.spec import (
    MAX_MESSAGE_BYTES,
    MAX_TIMEOUT_MS,
    MIN_MESSAGE_BYTES,
    ServerDescription,
    UpstreamSpec,
)
from clawft.wire.secrets import mask_url

SCHEMES = "http:// or https://"
SANDBOXES = ("auto", "off", "strict", "require")
WORDS = {
    "name": "a text",
    "url": "a text: stdio://, http:// or https://",
    "command": "a text: the path of a program",
    "args": "a list of texts",
    "env": "a table of texts",
    "headers": "a table of texts",
    "proxy": "a text: http://host:port",
    "cwd": "a text: a folder",
    "enabled": "true or false",
    "timeout_ms": f"a whole number from 1 to {MAX_TIMEOUT_MS}",
    "max_message": f"a whole number of bytes from {MIN_MESSAGE_BYTES} to {MAX_MESSAGE_BYTES}",
    "trust": "trusted or untrusted",
    "required": "true or false",
    "isolation": "shared or per-session",
    "redact": "true or false",
    "verbatim": "true or false",
    "sandbox": "auto, off, strict, require, or a table of read, write, network and require",
    "tools": "a table of allow, deny (lists of globs) and timeout_ms (a table of numbers)",
    "asks": "a list of elicitation, sampling and roots",
    "era": "auto, handshake or stateless",
    "exchange": "a table of client_id, client_secret (a reference), audience, resource and scopes",
}
"""The form of each key, for errors and the reference."""

_KEY = r" - at `\$\.(?P<key>\w+)"


def as_written(spec: UpstreamSpec) -> UpstreamSpec:
    """One that a program has made, read like the entry of a file: tables may be mappings, and nothing else is let by.

    Raises InvalidConfig, which names the key.
    """
    try:
        read = msgspec.convert(msgspec.structs.asdict(spec), UpstreamSpec)
    except msgspec.ValidationError as wrong:
        found = re.search(_KEY, str(wrong))
        key, problem = found["key"] if found else "", str(wrong).partition(" - at")[0]
        raise InvalidConfig(f"{key} must be {WORDS[key]}" if key in WORDS else str(wrong), hint=problem) from None
    if mistake := wrong_sandbox(read):
        raise InvalidConfig(mistake, hint="correct its spec")
    return read


def wrong_sandbox(spec: ServerDescription) -> str:
    if not isinstance(spec.sandbox, str) or spec.sandbox in SANDBOXES:
        return ""
    return f"sandbox is one of {', '.join(SANDBOXES)} or a table, not {spec.sandbox!r}"


def wrong_with(spec: ServerDescription) -> str:
    """Empty if it can be tried."""
    if bool(spec.url) == bool(spec.command):
        return "it needs either a url or a command" + (", not both" if spec.url else "")
    wrong = wrong_command(spec.command) if spec.command else wrong_url(spec.url)
    return wrong or wrong_proxy(spec.url, spec.proxy)


def wrong_command(command: str) -> str:
    verdict = launch.decide(command)
    return f"{verdict.reason}; {verdict.hint}" if isinstance(verdict, Deny) else ""


def wrong_url(url: str, schemes: str = SCHEMES) -> str:
    """One that begins with a variable is judged by its default, and once more when it is known.

    `schemes`: what it might begin with, as whoever wrote it is told.
    """
    url = with_defaults(url)
    if begins_with_reference(url):
        return ""
    try:
        parts = urlsplit(url)
        _ = "${" in url or parts.port  # raises where it is none
    except ValueError:
        return "the url cannot be read"
    if parts.scheme not in ("http", "https"):
        return f"the url must begin with {schemes}, not {mask_url(url)[:40]!r}"
    return "" if parts.hostname else "the url names no host"


def wrong_proxy(url: str, proxy: str) -> str:
    """`url`: of the server that is reached by it; empty if it is a program."""
    if proxy and not url:
        return f"proxy is for servers that are reached by {SCHEMES}"
    if proxy and not proxy.startswith("http://"):
        return f"the proxy must begin with http://, not {mask_url(proxy)[:40]!r}"
    return ""


def is_proxy(address: str) -> bool:
    """Once all of it is known: a login may have signs that make another address of it."""
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0 and not (parts.path.strip("/") or parts.query or parts.fragment)
    except ValueError:
        return False
