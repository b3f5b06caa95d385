"""Where the token of a service may go: a host, or all hosts of a domain, as `*.example.com`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
_DOMAIN = rf"\*\.{_LABEL}(?:\.{_LABEL})*\.(?!\d+\Z){_LABEL}"
"""Two labels or more behind the star: with one, it would be half of the world."""


def read_host(text: str) -> str:
    """As it is kept: in small letters, and taken out of an address. Empty if it is no place for a token."""
    host = _of_address(text) if "://" in text else text.lower()
    return host if _is_address(host) or re.fullmatch(rf"{_NAME}|{_DOMAIN}", host) else ""


def meant_host(text: str) -> str:
    """What somebody who wrote a port, or a path, will have meant; empty if nobody can tell."""
    return "" if "://" in text else read_host(re.split("[:/]", text.strip().rstrip("."))[0])


def may_go(host: str, hosts: Iterable[str]) -> bool:
    """Whatever was kept: a star in another place stands for itself."""
    return any(host == each or (each.startswith("*.") and _is_below(host, each)) for each in hosts)


def _is_below(host: str, domain: str) -> bool:
    return re.fullmatch(_DOMAIN, domain) is not None and host.endswith(domain[1:])


def _of_address(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
