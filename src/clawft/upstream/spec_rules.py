"""What no spec may say of how a server is reached, whoever wrote it: a file or a program. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from clawft.model import Deny
from clawft.policy import launch
from clawft.store.secrets import begins_with_reference, with_defaults
from clawft.upstream.spec import ServerDescription
from clawft.wire.secrets import mask_url

SCHEMES = "http:// or https://"


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
