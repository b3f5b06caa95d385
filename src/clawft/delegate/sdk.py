"""What both vendors' libraries have in common: they are loaded on first use, and fail in the same ways."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from clawft.delegate.key import ApiKey
from clawft.delegate.retry import is_passing, read_wait
from clawft.errors import DelegationFailed, ModelFailed
from clawft.store.extras import how_to_install

MAX_SAID = 2_000
"""Characters of a server's error that are passed on."""
UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 401, 403, 404


def is_installed(library: str) -> bool:
    return find_spec(library) is not None


def missing(library: str, extra: str) -> DelegationFailed:
    return DelegationFailed(f"the package {library!r} is not installed", hint=f"{how_to_install(extra)} brings it")


def load(library: str, extra: str) -> ModuleType:
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of odd answers, which we judge ourselves
    try:
        return import_module(library)
    except ImportError:
        raise missing(library, extra) from None


def failed(broken: Exception, who: str, key: ApiKey) -> ModelFailed:
    """Any failure of a vendor's library as ours: what happened, without the key, and whether it may pass."""
    status = getattr(broken, "status_code", None)
    said = key.hidden_in(_said(broken))[:MAX_SAID]
    if not isinstance(status, int):
        return ModelFailed(f"{who}: {said}", passing=True, hint="is the address right, and the network there?")
    headers: Mapping[str, str] = getattr(getattr(broken, "response", None), "headers", {})
    wait = read_wait({name.lower(): value for name, value in headers.items()})
    return ModelFailed(
        f"{who} answers with status {status}: {said}",
        http_status=status,
        passing=is_passing(status),
        wait=wait,
        hint=_HINTS.get(status, ""),
    )


_HINTS = {
    **dict.fromkeys(range(300, 400), "the address leads elsewhere, and the key is not taken there: name the new one"),
    UNAUTHORIZED: "the key is wrong or has expired: weft config show says where it is read from",
    FORBIDDEN: "this key may not use that model",
    NOT_FOUND: "is the model's name right, and the address?",
}


def _said(broken: Exception) -> str:
    """The server's own words, where its error has the usual form."""
    body: Any = getattr(broken, "body", None)
    for inner in ("error", "message"):
        if isinstance(body, dict) and inner in body:
            body = body[inner]  # pyright: ignore[reportUnknownVariableType]  # whatever a server sends
    if isinstance(body, str) and body:
        return body
    cause = broken.__cause__
    said = str(broken) or "the answer is none of this API"
    return said + (f" ({cause})" if cause is not None and str(cause) else "")


def broken_off(who: str) -> ModelFailed:
    return ModelFailed(f"{who}: the answer broke off in the middle", passing=True)
