"""Resource URIs that two owners share: the first keeps it, the others are wrapped, reversibly. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

PREFIX = "weft-of://"
"""`weft-of://github/file:///readme`: the resource `file:///readme` as the server `github` has it."""


def wrap(owner: str, uri: str) -> str:
    """As it stands: whoever puts something into a wrapped template has put it into the template itself."""
    return f"{PREFIX}{quote(owner, safe='')}/{uri if ':' in uri else quote(uri, safe='{}')}"


def unwrap(uri: str) -> tuple[str, str] | None:
    """Owner and native URI; None for a URI that is nobody's wrapping. Without a colon it was escaped as a whole."""
    if not uri.startswith(PREFIX):
        return None
    owner, slash, native = uri.removeprefix(PREFIX).partition("/")
    return (unquote(owner), native if ":" in native else unquote(native)) if slash else None
