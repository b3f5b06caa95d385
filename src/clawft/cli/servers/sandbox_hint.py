"""Guesses whether the sandbox keeps a server from its work, by the server's own words, and gives advice. Pure."""

from __future__ import annotations

import re

from clawft.upstream.spec import UpstreamSpec

_SIGNS = re.compile(r"(?i)EROFS|EACCES|read-only file ?system|permission ?(?:denied|error)")
_DOCKER = re.compile(r"(?i)connect to the docker (?:daemon|API)")


def hint_for(spec: UpstreamSpec, said: str) -> str:
    """Empty where it was something else, or nothing holds it."""
    if not spec.command or spec.sandbox == "off":
        return ""
    if _DOCKER.search(said) is not None:
        return (
            f'its sandbox hides the socket of Docker: sandbox = "off" for {spec.name}, as its container is one already'
        )
    if _SIGNS.search(said) is None:
        return ""
    return f"it may be its sandbox: weft servers test {spec.name} --learn proposes what to open to it"
