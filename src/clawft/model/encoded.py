"""Values as JSON, whatever stands in their texts. Pure.

Python keeps bytes of a file's name that are no UTF-8, and half an emoji, as halves of characters. JSON on the wire has
no place for them: one such name would cost the list it is in.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

_HALF = "[\ud800-\udfff]"  # compiled for those who need it
_IN_ITS_PLACE = "\ufffd"


def encoded(value: Any, foreign: Callable[[Any], Any] | None = None) -> bytes:
    """`foreign` tells in plain words what msgspec does not know."""
    try:
        return msgspec.json.encode(value, enc_hook=foreign)
    except UnicodeEncodeError:
        return msgspec.json.encode(whole(msgspec.to_builtins(value, enc_hook=foreign)))


def whole(value: Any) -> Any:
    """The value with a sign in place of each half of a character, in all its texts."""
    match value:
        case str():
            return re.sub(_HALF, _IN_ITS_PLACE, value)
        case dict():
            members = cast("dict[Any, Any]", value)
            return {whole(name): whole(member) for name, member in members.items()}
        case list() | tuple():
            return [whole(item) for item in cast("list[Any]", value)]
        case _:
            return value
