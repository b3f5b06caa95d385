"""What a server says about itself."""

import json
from typing import Any

import pytest

from clawft.upstream.session.peer import read_initialize
from tests.requirements import requirement


def told(capabilities: Any) -> bytes:
    hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "x", "version": "1"}}
    return json.dumps(hello).encode()


@requirement("WIRE-15", "S2-P1-05", "SESS-02")
def test_a_missing_member_is_unsupported_and_unknown_ones_are_kept() -> None:
    peer = read_initialize(told({"tools": {}, "resources": {"subscribe": True, "new": 1}, "vendor": {"x": [1.5]}}))
    assert [name for name in ("tools", "resources", "prompts", "logging") if peer.supports(name)] == [
        "tools",
        "resources",
    ]
    assert (peer.declares("tools", "listChanged"), peer.declares("resources", "listChanged")) == (False, False)
    assert peer.declares("resources", "subscribe")
    assert peer.capabilities["vendor"] == {"x": [1.5]}
    assert peer.capabilities["resources"]["new"] == 1


@requirement("WIRE-15", "S2-P1-05")
@pytest.mark.parametrize("odd", [None, [], "x", 7, {"tools": 7}, {"tools": None, "resources": [True]}])
def test_capabilities_of_another_kind_declare_nothing(odd: Any) -> None:
    peer = read_initialize(told(odd))
    assert not peer.declares("tools", "listChanged")
    assert not peer.declares("resources", "subscribe")
    assert peer.extensions == {}
