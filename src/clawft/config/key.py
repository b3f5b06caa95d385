"""`ConfigKey`: one key of configuration files, with its type, default and purpose."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

Check = Callable[[Any], str]
"""Gives what is wrong with a value of the right type; empty if nothing is."""

Texts = tuple[str, ...]


class ConfigKey(Struct, frozen=True):
    name: str
    field: str
    """The field of `Settings` it fills: `allow`, or `command_policy.allow`."""
    type: Any
    words: str
    """The type in words, as in "… must be …"."""
    default: Any
    doc: str
    adds: bool = False
    """Values of all files are joined: a refusal is not lost because a later file has one too."""
    check: Check = lambda value: ""
    whole: bool = False
    """The value is a table, and not further keys."""
    turned: Callable[[Any], Any] = lambda value: value
    """Converts the value as written to that of the settings."""

    def read(self, value: Any) -> Any:
        """The value as its type. Raises msgspec.ValidationError."""
        return self.turned(msgspec.convert(value, self.type))


def is_http(value: str) -> str:
    """Checks a key that names an address, or is empty."""
    return "" if not value or value.startswith(("http://", "https://")) else "must begin with http:// or https://"


def is_https(value: str) -> str:
    """Checks a key that is empty or names an address we trust: nobody on the way may change what it sends."""
    if not value or value.startswith("https://"):
        return ""
    from clawft.policy.address import is_loopback  # nobody else has such a key

    if value.startswith("http://") and is_loopback(_host_of(value)):
        return ""
    return "must begin with https://: what comes over plain http from another machine can be changed on the way"


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
