"""The interface of every store: small values by key, with expiry and compare-and-set."""

from typing import Protocol


class KeyValueStore(Protocol):
    async def get(self, key: str) -> str | None: ...

    async def set(self, key: str, value: str, ttl: float | None = None) -> None:
        """Keep `value`, for `ttl` seconds if given."""
        ...

    async def delete(self, key: str) -> bool:
        """True if there was something to delete."""
        ...

    async def list_keys(self, prefix: str | None = None) -> list[str]:
        """Live keys in order."""
        ...

    async def compare_and_set(self, key: str, old: str | None, new: str) -> bool:
        """Set `new` if the value is still `old` (None: absent); safe against other processes."""
        ...
