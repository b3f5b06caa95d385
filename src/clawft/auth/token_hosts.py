"""Where the token of a service may go: a host, or all hosts of a domain, as `*.example.com`. Pure.

On this machine each port is another program, which anybody may have started: there a host has its port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from clawft.policy.address import is_loopback

_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
_DOMAIN = rf"\*\.{_LABEL}(?:\.{_LABEL})*\.(?!\d+\Z){_LABEL}"
"""Two labels or more behind the star: with one, it would be half of the world."""
_WITH_PORT = re.compile(r"\[?(?P<host>[^\[\]]+)\]?:(?P<port>[1-9]\d{0,4})")


def read_host(text: str) -> str:
    """As it is kept: in small letters, and taken out of an address. Empty if it is no place for a token."""
    host = place_in(text) if "://" in text else text.lower()
    if local := _local_host(host):
        return _with_port(local, host.rpartition(":")[2])
    return host if (_is_address(host) or re.fullmatch(rf"{_NAME}|{_DOMAIN}", host)) and not is_loopback(host) else ""


def place_in(url: str) -> str:
    """The host of an address as it is kept. Empty if there is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return _with_port(host, port or (443 if parts.scheme == "https" else 80)) if is_loopback(host) else host


def meant_host(text: str) -> str:
    """The host that was meant by somebody who wrote a port, or a path; empty if nobody can tell."""
    host = "" if "://" in text else re.split("[:/]", text.strip().rstrip("."))[0]
    return f"{host}:8080" if is_loopback(host) else read_host(host)


def may_go(host: str, hosts: Iterable[str]) -> bool:
    """Whatever was kept: a star in another place stands for itself, and one of this machine without port for all."""
    same = (host, _local_host(host) or host)
    return any(each in same or (each.startswith("*.") and _is_below(host, each)) for each in hosts)


def _local_host(place: str) -> str:
    """Without its port; empty if it has none, or is elsewhere."""
    read = _WITH_PORT.fullmatch(place)
    return read["host"] if read and is_loopback(read["host"]) else ""


def _with_port(host: str, port: object) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_below(host: str, domain: str) -> bool:
    return re.fullmatch(_DOMAIN, domain) is not None and host.endswith(domain[1:])


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
