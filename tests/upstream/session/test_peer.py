"""What a server says about itself."""

import json
from typing import Any

import pytest

from clawft.errors import ProtocolFailure
from clawft.upstream.session.peer import Page, read_initialize, read_page, read_wanted
from tests.requirements import requirement


def greeting(capabilities: Any) -> bytes:
    hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "x", "version": "1"}}
    return json.dumps(hello).encode()


@requirement("WIRE-15", "S2-P1-05", "SESS-02")
def test_a_missing_member_is_unsupported_and_unknown_ones_are_kept() -> None:
    peer = read_initialize(greeting({"tools": {}, "resources": {"subscribe": True, "new": 1}, "vendor": {"x": [1.5]}}))
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
    peer = read_initialize(greeting(odd))
    assert not peer.declares("tools", "listChanged")
    assert not peer.declares("resources", "subscribe")
    assert peer.extensions == {}


@requirement("QUAL-03")
@pytest.mark.parametrize("kind", ["input_required", "task", "dance", 7, None])
def test_something_else_in_place_of_a_list_is_no_empty_list(kind: Any) -> None:
    answer = json.dumps({"resultType": kind, "requestState": "x"}).encode()
    with pytest.raises(ProtocolFailure, match="the answer to tools/list is a result of the kind"):
        read_page("tools/list", answer, "tools")


@pytest.mark.parametrize(
    ("page", "items"), [({}, None), ({"resultType": "complete"}, None), ({"resultType": "dance", "tools": []}, [])]
)
def test_an_answer_without_a_list_is_told_from_an_empty_one(page: dict[str, Any], items: list[Any] | None) -> None:
    assert read_page("tools/list", json.dumps(page).encode(), "tools") == Page(items)


@requirement("QUAL-03")
@pytest.mark.parametrize("nothing", [{}, {"inputRequests": {}}])
def test_a_server_that_asks_for_nothing_is_not_sent_the_same_request_again(nothing: dict[str, Any]) -> None:
    with pytest.raises(ProtocolFailure, match="does not say which"):
        read_wanted(json.dumps({"resultType": "input_required", **nothing}).encode())


def test_a_server_may_ask_for_its_own_state_only() -> None:
    wanted = read_wanted(b'{"resultType":"input_required","requestState":"x"}')
    assert wanted is not None
    assert bytes(wanted.request_state or b"") == b'"x"'
