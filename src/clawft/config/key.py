"""One key a configuration file may have: its type, its default, and what it is for."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

Check = Callable[[Any], str]
"""What is wrong with a value of the right type; nothing if it is fine."""

Texts = tuple[str, ...]


class ConfigKey(Struct, frozen=True):
    name: str
    field: str
    """Where it goes in `Settings`: `allow`, or `command_policy.allow`."""
    type: Any
    words: str
    """The type in words: "… must be …"."""
    default: Any
    doc: str
    adds: bool = False
    """Values of all files count, and not only the last: a refusal is not lost because another file has one too."""
    check: Check = lambda value: ""
    whole: bool = False
    """A table is its value, and not a table of further keys."""
    turned: Callable[[Any], Any] = lambda value: value
    """From what may be written to what the settings hold."""

    def read(self, value: Any) -> Any:
        """The value as its type. Raises msgspec.ValidationError."""
        return self.turned(msgspec.convert(value, self.type))


def is_http(value: str) -> str:
    """For a key that names an address, or nothing."""
    return "" if not value or value.startswith(("http://", "https://")) else "must begin with http:// or https://"
