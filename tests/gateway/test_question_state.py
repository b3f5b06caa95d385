"""A tool asks back in the stateless era: `input_required`, and a retry that brings the answer and the signed state."""

import json
from typing import Any

import pytest
from mcp_types.methods import validate_server_result
from msgspec import Raw

from clawft.errors import BadParams
from clawft.gateway.questions import AnswersSoFar, Seal, digest_of, given
from clawft.model import Caller, Question
from clawft.wire.answers import answers_it
from tests.gateway.asking import ADA, CAN_FILL, server
from tests.gateway.support import Pipe, modern, pipe, texts
from tests.requirements import requirement


@requirement("SHELL-18")
async def test_input_required_then_a_retry_with_the_answer() -> None:
    async with pipe(server()) as caller:
        first = (await caller.call("demo__greet", modern(CAN_FILL), x=1))["result"]
        validate_server_result("tools/call", "2026-07-28", first)
        assert first["resultType"] == "input_required"
        assert first["inputRequests"]["who"]["method"] == "elicitation/create"
        assert first["inputRequests"]["who"]["params"]["message"] == "Who⟨U+202E⟩ are you?"
        assert "ttlMs" not in first
        retry = modern(CAN_FILL, inputResponses={"who": ADA, "unknown": 5}, requestState=first["requestState"])
        second = await caller.call("demo__greet", retry, x=1)
        assert texts(second) == ["hello ada"]
        assert second["result"]["resultType"] == "complete"


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "answer", [5, None, {}, {"action": "accept"}, {"action": "accept", "content": {}}, {"action": "maybe"}]
)
async def test_what_is_no_answer_is_asked_again(answer: Any) -> None:
    async with pipe(server()) as caller:
        first = (await caller.call("demo__greet", modern(CAN_FILL)))["result"]
        retry = modern(CAN_FILL, inputResponses={"who": answer}, requestState=first["requestState"])
        assert (await caller.call("demo__greet", retry))["result"]["resultType"] == "input_required"


@requirement("SHELL-18")
async def test_answers_of_earlier_rounds_travel_in_the_state() -> None:
    async with pipe(server()) as caller:
        one = (await caller.call("demo__stepwise", modern(CAN_FILL)))["result"]
        retry = modern(CAN_FILL, inputResponses={"one": ADA}, requestState=one["requestState"])
        two = (await caller.call("demo__stepwise", retry))["result"]
        assert list(two["inputRequests"]) == ["two"]
        assert two["requestState"] != one["requestState"]
        bob = {"action": "accept", "content": {"name": "bob"}}
        last = modern(CAN_FILL, inputResponses={"two": bob}, requestState=two["requestState"])
        assert texts(await caller.call("demo__stepwise", last)) == ["ada bob"]


@requirement("SHELL-18")
async def test_partial_answers_are_kept_and_the_rest_is_asked_again() -> None:
    capabilities: dict[str, Any] = {"elicitation": {}, "roots": {}}
    async with pipe(server()) as caller:
        one = (await caller.call("demo__both", modern(capabilities)))["result"]
        assert set(one["inputRequests"]) == {"who", "where"}
        retry = modern(capabilities, inputResponses={"who": ADA}, requestState=one["requestState"])
        two = (await caller.call("demo__both", retry))["result"]
        assert set(two["inputRequests"]) == {"where"}
        last = modern(capabilities, inputResponses={"where": {"roots": []}}, requestState=two["requestState"])
        assert json.loads(texts(await caller.call("demo__both", last))[0]) == {"where": {"roots": []}, "who": ADA}


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("tool", "capabilities", "required"),
    [
        ("greet", {}, {"elicitation": {"form": {}}}),
        ("samples", CAN_FILL, {"sampling": {}}),
        ("needs", CAN_FILL, {"sampling": {}}),
    ],
)
async def test_only_what_this_request_declares_is_asked(
    tool: str, capabilities: dict[str, Any], required: dict[str, Any]
) -> None:
    async with pipe(server()) as caller:
        error = (await caller.call(f"demo__{tool}", modern(capabilities)))["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": required})


# ── the state ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def refusal(caller: Pipe, state: Any, tool: str = "demo__greet", **arguments: Any) -> int:
    params = modern(CAN_FILL, inputResponses={"who": ADA}, requestState=state)
    return (await caller.call(tool, params, **arguments))["error"]["code"]


@requirement("SHELL-18")
async def test_a_state_that_is_not_ours_or_not_for_this_call_is_refused() -> None:
    async with pipe(server()) as caller:
        state = (await caller.call("demo__greet", modern(CAN_FILL), x=1))["result"]["requestState"]
        middle = len(state) // 2
        altered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        for bad in ("", "x", altered, state + "AAAA", state[:-8], state.swapcase(), "é" * 40, "A" * 300_000, 5):
            assert await refusal(caller, bad, x=1) == -32602
        assert await refusal(caller, state, x=2) == -32602
        assert await refusal(caller, state, "demo__stepwise", x=1) == -32602


@requirement("SHELL-18")
async def test_a_state_is_for_its_own_caller_for_a_while() -> None:
    served = server()
    async with pipe(served, Caller("ada")) as ada, pipe(served, Caller("bob")) as bob:
        state = (await ada.call("demo__greet", modern(CAN_FILL)))["result"]["requestState"]
        assert await refusal(bob, state) == -32602


@requirement("SHELL-18")
async def test_a_late_state_is_refused() -> None:
    async with pipe(server(question_seconds=-1.0)) as caller:
        state = (await caller.call("demo__greet", modern(CAN_FILL)))["result"]["requestState"]
        assert await refusal(caller, state) == -32602


@requirement("SHELL-18", "SHELL-21")
async def test_another_instance_with_the_same_key_can_go_on() -> None:
    key = b"k" * 32
    async with pipe(server(key=key)) as one, pipe(server(key=key)) as two, pipe(server()) as stranger:
        state = (await one.call("demo__greet", modern(CAN_FILL)))["result"]["requestState"]
        retry = modern(CAN_FILL, inputResponses={"who": ADA}, requestState=state)
        assert texts(await two.call("demo__greet", retry)) == ["hello ada"]
        assert await refusal(stranger, state) == -32602


@requirement("SHELL-18")
def test_a_retry_may_spell_its_arguments_otherwise_but_not_change_them() -> None:
    same = digest_of("tools/call", "t", b'{"a":1,"b":[1,2]}')
    assert digest_of("tools/call", "t", b'{ "b" : [1,2], "a":1 }') == same
    assert digest_of("tools/call", "t", b'{"a":1,"b":[2,1]}') != same
    assert digest_of("tools/call", "u", b'{"a":1,"b":[1,2]}') != same
    assert digest_of("prompts/get", "t", b'{"a":1,"b":[1,2]}') != same
    assert digest_of("tools/call", "t", b'{"a":1e400}') != digest_of("tools/call", "t", b'{"a":1e401}')


@requirement("SHELL-18")
def test_a_state_is_for_the_rights_it_began_with() -> None:
    seal = Seal(b"k" * 32)
    state = seal.close({}, Caller("ada", proof="strong"), "d", carry=b"{}")
    assert seal.open(state, Caller("ada", proof="strong"), "d").carry == b"{}"
    with pytest.raises(BadParams):
        seal.open(state, Caller("ada", proof="weak"), "d")


@requirement("RES-10")
def test_a_seal_opens_what_it_closed() -> None:
    seal, caller = Seal(b"k" * 32), Caller("ada")
    assert seal.open(seal.close({"k": {"a": [1, "é"]}}, caller, "d"), caller, "d").answers == {"k": {"a": [1, "é"]}}


@requirement("SHELL-18")
def test_what_counts_as_an_answer() -> None:
    url = Question("elicitation/create", {"mode": "url", "url": "https://x"})
    assert answers_it(url, {"action": "accept"})
    assert answers_it(Question("sampling/createMessage"), {"content": {}})
    assert not answers_it(Question("sampling/createMessage"), {"action": "accept"})
    assert not answers_it(Question("roots/list"), {"roots": None})


@requirement("GUARD-13", "RES-10")
def test_an_answer_to_a_question_of_ours_counts_only_if_it_was_asked() -> None:
    yes = {"weft_allow": Raw(b'{"action":"accept","content":{"allow":true}}'), "name": Raw(b'{"action":"decline"}')}
    assert given(yes, AnswersSoFar()) == {"name": {"action": "decline"}}
    assert "weft_allow" in given(yes, AnswersSoFar(asked=frozenset({"weft_allow"})))
