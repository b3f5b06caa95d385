"""The entry that every store keeps under a key, and the rules for a key, a value and a lifetime."""

from collections.abc import Callable

from msgspec import Struct

from clawft.errors import InvalidArguments

MAX_KEY_BYTES = 1_024
MAX_VALUE_BYTES = 1_048_576
MAX_KEYS = 10_000

Clock = Callable[[], float]


class StoredValue(Struct, frozen=True):
    value: str
    expires: float | None


def check_key(key: str) -> str:
    """The key, if it can be one."""
    size = _size(key, "key")
    if not 0 < size <= MAX_KEY_BYTES:
        raise InvalidArguments(f"a key of {size} bytes", hint=f"use 1 to {MAX_KEY_BYTES} bytes")
    return key


def check_value(value: str) -> str:
    size = _size(value, "value")
    if size > MAX_VALUE_BYTES:
        raise InvalidArguments(
            f"a value of {size} bytes",
            hint=f"keep at most {MAX_VALUE_BYTES} bytes under one key; larger things go to a file",
        )
    return value


def expiry(ttl: float | None, now: float) -> float | None:
    """When a value with this lifetime ends."""
    if ttl is None:
        return None
    if not 0 < ttl < float("inf"):
        raise InvalidArguments(f"a lifetime of {ttl} s", hint="use a positive number of seconds, or none for ever")
    return now + ttl


def is_live(expires: float | None, now: float) -> bool:
    return expires is None or now < expires


def too_many() -> InvalidArguments:
    return InvalidArguments(
        f"the store holds {MAX_KEYS} keys already", hint="delete some keys, or give them a lifetime"
    )


def _size(text: str, what: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidArguments(f"the {what} is no valid Unicode text", hint="remove the lone surrogates") from None
