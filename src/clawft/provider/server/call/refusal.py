"""Turns errors of a server into words an agent can act on."""

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
from clawft.wire.readable import why_unreadable
from clawft.wire.shapes import members
from clawft.wire.visible import make_visible, visible_text

DATA_CHARS = 1_000
"""Characters of an error's data that are passed on."""


def failed(server: str, error: ClawftError) -> ExecutionFailed | JsonRpcFailure | MissingCapability:
    """The error for the agent: the server's own, unless it is about our request; else with the server's name."""
    hint = error.hint or f"weft servers status {server}"
    if not isinstance(error, JsonRpcFailure):
        return ExecutionFailed(conceal(f"{server}: {error.message}"), hint=conceal(hint))
    explain = _EXPLAINED.get(error.error_code)
    if explain is None:
        return passed_on(server, error)
    return ExecutionFailed(f"{server}: {conceal(error.message)} (code {error.error_code}){explain(error.error_data)}")


def is_of_other_era(error: ClawftError) -> bool:
    """Whether the error means that the server no longer speaks the protocol era it spoke when we connected."""
    if isinstance(error, LinkRefused):
        return error.http_status == BAD_REQUEST
    if not isinstance(error, JsonRpcFailure):
        return False
    return error.error_code == UNSUPPORTED_REVISION or "not initialized" in error.message[:MAX_TOLD].lower()


def in_words(server: str, error: JsonRpcFailure) -> str:
    """An error answer as one text, where only a text fits."""
    return f"{server}: {error.message} (code {error.error_code}){_data(error.error_data)}"


def passed_on(server: str, error: JsonRpcFailure) -> JsonRpcFailure | MissingCapability:
    """The whole error answer, without invisible characters and without secrets the server may repeat."""
    if error.error_code == MISSING_CAPABILITY:
        return lacking(server, error)
    message, data = visible_text(conceal(error.message)), error.error_data
    spelled = b"" if data is None else msgspec.json.encode(data)
    if why := why_unreadable(spelled, around=1):
        return JsonRpcFailure(error.error_code, f"{message} (without the data of this error of {server}: {why})")
    cleaned = msgspec.json.decode(make_visible(without_resolved(spelled))) if spelled else None
    return JsonRpcFailure(error.error_code, message, cleaned)


def lacking(server: str, error: JsonRpcFailure) -> MissingCapability:
    """The error about a capability. What we declare to the server is what the agent declared, so the agent lacks it."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    problem = visible_text(f"{conceal(error.message)}{_capability(error.error_data)}")
    return MissingCapability(f"{server}: {problem}", required=required)


def withheld(spec: UpstreamSpec, error: JsonRpcFailure) -> ExecutionFailed | None:
    """The error if the configuration withholds the capability from the server; None if it does not."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    kept = [kind for kind in EVERYTHING if kind in required and kind not in spec.asks]
    if not kept:
        return None
    problem = f"{spec.name}: {visible_text(conceal(error.message))}; the configuration does not let {spec.name} ask for"
    return ExecutionFailed(f"{problem} {', '.join(kept)}", hint="weft servers list")


def contradicted(server: str, error: JsonRpcFailure, told: Mapping[str, Any]) -> ExecutionFailed | None:
    """The error if the server misses a capability it was `told` that the agent has; None if it was not."""
    required = members(members(error.error_data).get("requiredCapabilities"))
    if not required or any(kind not in told or members(ways).keys() - told[kind] for kind, ways in required.items()):
        return None
    needed = ", ".join(name for kind, ways in required.items() for name in _spelled(kind, ways))
    problem = visible_text(
        f"{conceal(error.message)}; it says that it needs {needed}, and was told that the agent has it"
    )
    return ExecutionFailed(f"{server}: {problem}", hint=f"weft servers status {server}")


def _data(data: object) -> str:
    if data is None:
        return ""
    text = msgspec.json.encode(data)[: 4 * DATA_CHARS].decode(errors="replace")
    return f": {conceal(text)[:DATA_CHARS]}"


def _urls(data: object) -> str:
    """The addresses a person should visit. We never open them: the person decides."""
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
    """The capability with its parts, such as `elicitation.url`: agents with forms may not open addresses."""
    return [f"{kind}.{way}" for way in members(ways)] or [kind]


def _ours(data: object) -> str:
    """The text for errors about the request we made, not the agent's."""
    return f"; clawft and the server disagree about the protocol{_data(data)}"


_EXPLAINED = {
    URL_ELICITATION_REQUIRED: _urls,
    PARSE_ERROR: _ours,
    INVALID_REQUEST: _ours,
    HEADER_MISMATCH: _ours,
    UNSUPPORTED_REVISION: _ours,
}
