"""Values as JSON, even if their texts have lone surrogates. Pure.

Python texts may have them: for bytes of a file name that are no UTF-8, or half of an emoji. UTF-8 cannot say them, so
that one such name would cost the whole list it is in.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

_SURROGATE = "[\ud800-\udfff]"  # compiled for those who need it
_REPLACEMENT = "\ufffd"


def encoded(value: Any, convert: Callable[[Any], Any] | None = None) -> bytes:
    """`convert` turns what msgspec cannot encode into something it can."""
    try:
        return msgspec.json.encode(value, enc_hook=convert)
    except UnicodeEncodeError:
        return msgspec.json.encode(without_surrogates(msgspec.to_builtins(value, enc_hook=convert)))


def without_surrogates(value: Any) -> Any:
    """The value with U+FFFD in place of each surrogate, in all its texts."""
    match value:
        case str():
            return re.sub(_SURROGATE, _REPLACEMENT, value)
        case dict():
            members = cast("dict[Any, Any]", value)
            return {without_surrogates(name): without_surrogates(member) for name, member in members.items()}
        case list() | tuple():
            return [without_surrogates(item) for item in cast("list[Any]", value)]
        case _:
            return value
