"""The capabilities of its client that a server is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from clawft.model import Capabilities
from clawft.upstream.spec import UpstreamSpec

_ALL = Capabilities(elicit_form=True, elicit_url=True, sampling=True, sampling_tools=True, sampling_context=True)


def declared(spec: UpstreamSpec) -> dict[str, Any]:
    """To a server of the handshake era, once and for everybody who will ever call: all that it may ask.

    What the agent of a call cannot do is refused when it is asked.
    """
    return _capabilities(spec, _ALL, {"listChanged": True})


def declared_for(spec: UpstreamSpec, agent: Capabilities) -> dict[str, Any]:
    """To a stateless server, with each call: what this agent can do and the server may ask. Roots we always have."""
    return _capabilities(spec, agent, {})


def _capabilities(spec: UpstreamSpec, can: Capabilities, roots: Mapping[str, Any]) -> dict[str, Any]:
    declared: dict[str, Mapping[str, Any]] = {}
    if "roots" in spec.asks:
        declared["roots"] = roots
    if "sampling" in spec.asks and can.sampling:
        ways = (("tools", can.sampling_tools), ("context", can.sampling_context))
        declared["sampling"] = {way: {} for way, able in ways if able}
    modes: dict[str, dict[str, Any]] = {
        mode: {} for mode, able in (("form", can.elicit_form), ("url", can.elicit_url)) if able
    }
    if "elicitation" in spec.asks and modes:
        declared["elicitation"] = modes
    if can.extensions:
        declared["extensions"] = {name: Raw(settings) for name, settings in can.extensions}
    return declared
