"""Reads the challenge of a server that needs a login: the `WWW-Authenticate` header. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

MAX_HEADER = 8_192
MAX_SCOPE_CHARS = 256
MAX_SCOPES = 256
"""Of one token, or of what one server names."""

_SCOPE = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{MAX_SCOPE_CHARS}}}")
_PARAMETER = re.compile(r'(?<![A-Za-z0-9_-])([A-Za-z0-9_-]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
"""Begins where a word begins: tried at each of its letters, one long word would take a second."""
_SCHEME = re.compile(r"(?:^|,)\s*([A-Za-z][A-Za-z0-9._~+/-]*)(?=\s+[A-Za-z0-9_-]+\s*=|\s*(?:,|$))")


def is_scope(text: str) -> bool:
    """As RFC 6749 spells them; anything else would be passed on to places that read it differently."""
    return _SCOPE.fullmatch(text) is not None


def read_scopes(text: str) -> tuple[str, ...]:
    """The scopes in the text, each once."""
    return tuple(dict.fromkeys(filter(is_scope, text.split())))[:MAX_SCOPES]


class Challenge(Struct, frozen=True):
    resource_metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""

    @property
    def wants_scopes(self) -> bool:
        return self.error == "insufficient_scope"


def read_challenge(header: str) -> Challenge:
    """The Bearer challenge among those of the header; empty where there is none."""
    text = header[:MAX_HEADER]
    schemes = list(_SCHEME.finditer(text))
    for at, scheme in enumerate(schemes):
        if scheme[1].lower() == "bearer":
            end = schemes[at + 1].start() if at + 1 < len(schemes) else len(text)
            return _from(dict(_parameters(text[scheme.end() : end])))
    return Challenge()


def _parameters(text: str) -> list[tuple[str, str]]:
    return [(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or bare) for name, quoted, bare in _PARAMETER.findall(text)]


def _from(told: dict[str, str]) -> Challenge:
    return Challenge(told.get("resource_metadata", ""), read_scopes(told.get("scope", "")), told.get("error", ""))
