"""Resource URIs that two owners share: the first keeps it, the others are wrapped, reversibly. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

PREFIX = "weft-of://"
"""`weft-of://github/file%3A%2F%2F%2Freadme`: the resource `file:///readme` as the server `github` has it."""


def wrap(owner: str, uri: str) -> str:
    return f"{PREFIX}{quote(owner, safe='')}/{quote(uri, safe='{}')}"


def unwrap(uri: str) -> tuple[str, str] | None:
    """Owner and native URI; None for a URI that is nobody's wrapping."""
    if not uri.startswith(PREFIX):
        return None
    owner, slash, native = uri.removeprefix(PREFIX).partition("/")
    return (unquote(owner), unquote(native)) if slash else None
