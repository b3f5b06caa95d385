"""What went wrong at a server, as words an agent can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clawft.errors import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    MAX_TOLD,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_REVISION,
    URL_ELICITATION_REQUIRED,
    ClawftError,
    ExecutionFailed,
    JsonRpcFailure,
    LinkRefused,
    MissingCapability,
)
from clawft.provider.server.question.questions import is_web_address
from clawft.provider.server.question.urls import MAX_URLS
from clawft.store.concealed_secrets import conceal, without_resolved
from clawft.upstream.session.session import BAD_REQUEST
from clawft.upstream.spec import EVERYTHING, UpstreamSpec
from clawft.wire.shapes import members
from clawft.wire.visible import make_visible, visible_text

DATA_CHARS = 1_000
"""Of an error's data, as far as it is passed on."""


def failed(server: str, error: ClawftError) -> ExecutionFailed | JsonRpcFailure | MissingCapability:
    """An error answer passes as it is, unless it is about our request; else the server is named."""
    hint = error.hint or f"weft servers status {server}"
    if not isinstance(error, JsonRpcFailure):
        return ExecutionFailed(conceal(f"{server}: {error.message}"), hint=conceal(hint))
    explain = _EXPLAINED.get(error.error_code)
    if explain is None:
        return passed_on(server, error)
    return ExecutionFailed(f"{server}: {conceal(error.message)} (code {error.error_code}){explain(error.error_data)}")


def is_of_other_era(error: ClawftError) -> bool:
    """Does it say that the server no longer speaks as it did when we met it?"""
    if isinstance(error, LinkRefused):
        return error.http_status == BAD_REQUEST
    if not isinstance(error, JsonRpcFailure):
        return False
    return error.error_code == UNSUPPORTED_REVISION or "not initialized" in error.message[:MAX_TOLD].lower()


def in_words(server: str, error: JsonRpcFailure) -> str:
    """An error that passed as it is, for whoever has room for a text only."""
    return f"{server}: {error.message} (code {error.error_code}){_data(error.error_data)}"


def passed_on(server: str, error: JsonRpcFailure) -> JsonRpcFailure | MissingCapability:
    """Whole, but for what nobody would see and the key it was given, which a server may repeat."""
    if error.error_code == MISSING_CAPABILITY:
        return lacking(server, error)
    data = error.error_data
    told = None if data is None else msgspec.json.decode(make_visible(without_resolved(msgspec.json.encode(data))))
    return JsonRpcFailure(error.error_code, visible_text(conceal(error.message)), told)


def lacking(server: str, error: JsonRpcFailure) -> MissingCapability:
    """What we declared to the server is what the agent declared to us: so it is the agent that lacks something."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    said = visible_text(f"{conceal(error.message)}{_capability(error.error_data)}")
    return MissingCapability(f"{server}: {said}", required=required)


def withheld(spec: UpstreamSpec, error: JsonRpcFailure) -> ExecutionFailed | None:
    """The agent may well have declared it: then it is the configuration that keeps it from the server."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    kept = [kind for kind in EVERYTHING if kind in required and kind not in spec.asks]
    if not kept:
        return None
    said = f"{spec.name}: {visible_text(conceal(error.message))}; the configuration does not let {spec.name} ask for"
    return ExecutionFailed(f"{said} {', '.join(kept)}", hint="weft servers list")


def contradicted(server: str, error: JsonRpcFailure, told: Mapping[str, Any]) -> ExecutionFailed | None:
    """It was `told` that the agent has all it says is missing: then it is the server that is wrong."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    if not required or any(kind not in told or members(ways).keys() - told[kind] for kind, ways in required.items()):
        return None
    needed = ", ".join(name for kind, ways in required.items() for name in _spelled(kind, ways))
    said = visible_text(f"{conceal(error.message)}; it says that it needs {needed}, and was told that the agent has it")
    return ExecutionFailed(f"{server}: {said}", hint=f"weft servers status {server}")


def _data(data: object) -> str:
    if data is None:
        return ""
    said = msgspec.json.encode(data)[: 4 * DATA_CHARS].decode(errors="replace")
    return f": {conceal(said)[:DATA_CHARS]}"


def _urls(data: object) -> str:
    """Never opened by us: the person decides."""
    asked = members(data).get("elicitations")
    items = cast("list[object]", asked)[:MAX_URLS] if isinstance(asked, list) else []
    places = [str(url) for item in items if is_web_address(url := members(item).get("url"))]
    return f"; open {' and '.join(places)} in a browser, then call again" if places else _data(data)


def _capability(data: object) -> str:
    required = members(members(data).get("requiredCapabilities"))
    needed = [name for kind, ways in required.items() for name in _spelled(kind, ways)]
    return (
        f"; the tool needs {', '.join(needed) or 'something of the client'}, which the calling agent has not declared"
    )


def _spelled(kind: str, ways: object) -> list[str]:
    """An agent that fills in forms has not said that it opens addresses: `elicitation.url`."""
    return [f"{kind}.{way}" for way in members(ways)] or [kind]


def _ours(data: object) -> str:
    """These describe the request we made, not the one we were given."""
    return f"; clawft and the server disagree about the protocol{_data(data)}"


_EXPLAINED = {
    URL_ELICITATION_REQUIRED: _urls,
    PARSE_ERROR: _ours,
    INVALID_REQUEST: _ours,
    HEADER_MISMATCH: _ours,
    UNSUPPORTED_REVISION: _ours,
}
