"""Does this value look like a secret that somebody wrote down in clear? A guess, on the safe side. Pure."""

import re
from collections.abc import Mapping

SHORTEST_SECRET = 6
LONG_RANDOM = 32

_NAMES = re.compile(
    r"token|secret|passw|api_?key|apikey|credential|private_?key|auth|(?:^|_)(?:key|pat|pw|pwd)$", re.IGNORECASE
)
_PREFIXES = (
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
)
_SCHEMES = re.compile(r"(?:Bearer|Basic|Token)\s+\S", re.IGNORECASE)
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9+=_-]+")
_PLAIN = re.compile(r"(?:/|~|\./|https?://|\$|secret://)|(?:true|false|yes|no|none|null|\d{1,5})$", re.IGNORECASE)
"""Paths, addresses, references, switches and small numbers are none, whatever the variable is called."""


def looks_secret(name: str, value: str) -> bool:
    if not value or value.startswith("secret://"):
        return False
    if value.startswith(_PREFIXES) or _SCHEMES.match(value):
        return "${" not in value
    if _PLAIN.match(value):
        return False
    long_random = len(value) >= LONG_RANDOM and _RANDOM.fullmatch(value) is not None
    return long_random or (len(value) >= SHORTEST_SECRET and _NAMES.search(name) is not None)


def in_clear(*values: Mapping[str, str]) -> list[str]:
    """Names of variables and headers whose values look like secrets."""
    return [name for each in values for name, value in each.items() if looks_secret(name, value)]


def variable_for(server: str, name: str) -> str:
    """The variable of our own environment that could hold it: its own name, or for a header one with the server's."""
    if re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        return name
    return re.sub(r"[^A-Z0-9]+", "_", f"{server}_{name}".upper()).strip("_")
