"""Hosts that somebody names on a command line, as places for a token."""

from __future__ import annotations

from collections.abc import Sequence

from clawft.auth.token_hosts import meant_host, read_host
from clawft.cli.parser import WrongUsage
from clawft.error_words import quoted


def read_hosts(texts: Sequence[str], command: str) -> list[str]:
    """Hosts of a command line. Raises WrongUsage for the first that could never be a place for a token."""
    hosts = {text: read_host(text) for text in texts}
    for text, host in hosts.items():
        if not host:
            raise WrongUsage(f"{text!r} is not a host a token could be sent to", hint=f"{command} {_spelled(text)}")
    return list(hosts.values())


def _spelled(text: str) -> str:
    return quoted(meant_host(text) or ("*.example.com" if "*" in text else "api.example.com"))
