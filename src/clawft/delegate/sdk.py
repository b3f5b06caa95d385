"""The common part of both vendors' libraries: loading on first use, and turning their failures into ours."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from clawft.delegate.key import ApiKey
from clawft.delegate.retry import is_passing, read_wait
from clawft.errors import DelegationFailed, ModelFailed
from clawft.store.concealed_secrets import conceal
from clawft.store.extras import how_to_install

ANSWER_SECONDS = 600.0
"""How long one answer may take."""
MAX_SAID = 2_000
"""Characters of a server's error that are passed on."""
UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 401, 403, 404


def is_installed(library: str) -> bool:
    return find_spec(library) is not None


def missing(library: str, extra: str) -> DelegationFailed:
    return DelegationFailed(f"the package {library!r} is not installed", hint=f"{how_to_install(extra)} installs it")


def load(library: str, extra: str) -> ModuleType:
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of odd answers, which we judge ourselves
    try:
        return import_module(library)
    except ImportError:
        raise missing(library, extra) from None


class Failures:
    """Turns failures of one model into ModelFailed: what happened, without the key, and whether it may pass."""

    def __init__(self, who: str, key: ApiKey) -> None:
        self._who = who
        self._key = key

    def of(self, broken: Exception) -> ModelFailed:
        """Any failure of a vendor's library, of the HTTP client below it, or over an odd answer."""
        status = getattr(broken, "status_code", None)
        if isinstance(status, int):
            return self._refused(broken, status)
        if isinstance(broken, _ODD):
            return self.none_of_this_api(f"{type(broken).__name__}: {broken}")
        return ModelFailed(f"{self._who}: {self._without_key(_reason(broken))}", passing=True, hint=_unreached(broken))

    def broken_off(self, said: str = "") -> ModelFailed:
        """`said`: the server's own reason, if it gave one."""
        more = f": {self._without_key(said)}" if said else ""
        return ModelFailed(f"{self._who}: the answer broke off in the middle{more}", passing=True, hint=_LATER)

    def none_of_this_api(self, said: str = "") -> ModelFailed:
        more = f" ({self._without_key(said)})" if said else ""
        return ModelFailed(f"{self._who}: the response does not match this API{more}", passing=True, hint=_ANOTHER)

    def _refused(self, broken: Exception, status: int) -> ModelFailed:
        headers: Mapping[str, str] = getattr(getattr(broken, "response", None), "headers", {})
        wait = read_wait({name.lower(): value for name, value in headers.items()}, time.time())
        later = f"it asks for {wait:.0f} s of delay; {_LATER}" if wait else _LATER
        return ModelFailed(
            f"{self._who} answers with status {status}: {self._without_key(_reason(broken))}",
            http_status=status,
            passing=is_passing(status),
            wait=wait,
            hint=_HINTS.get(status, later if is_passing(status) else ""),
        )

    def _without_key(self, said: str) -> str:
        return conceal(self._key.hidden_in(said[: 2 * MAX_SAID]))[:MAX_SAID]


_ODD = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""Exceptions raised by reading an answer that has an unexpected form."""
_ANOTHER = "check the address; it must lead to a server with this API"
_LATER = "try again later, or ask another model"
_HINTS = {
    **dict.fromkeys(
        range(300, 400), "the address redirects elsewhere, and the key is not sent there; configure the new address"
    ),
    UNAUTHORIZED: "the key is wrong or has expired: weft config show says where it is read from",
    FORBIDDEN: "this key may not use that model",
    NOT_FOUND: "check the model's name and the address",
}


def _unreached(broken: Exception) -> str:
    """The address that was not reached, where the library tells: a person may have configured several."""
    failed: Any = broken
    try:
        url = failed.request.url
        place = f"{url.scheme}://{url.netloc.decode()}"
    except (AttributeError, RuntimeError):  # it was never sent
        place = "the address"
    return f"is {place} right, and the network there?"


def _reason(broken: Exception) -> str:
    """The error message of the server, if it has the usual form; else the text of the exception."""
    words = words_of(getattr(broken, "body", None))
    if words:
        return words
    cause = broken.__cause__
    reason = str(broken) or type(broken).__name__
    return reason + (f" ({cause})" if cause is not None and str(cause) else "")


def words_of(body: Any) -> str:
    """The message in an error body of either API; empty if it has another form."""
    for inner in ("error", "message"):
        if isinstance(body, dict) and inner in body:
            body = body[inner]  # pyright: ignore[reportUnknownVariableType]  # whatever a server sends
    return body if isinstance(body, str) else ""
