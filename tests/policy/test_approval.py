"""Whether an approval still holds, and what a pin is made of."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.policy.approval import Approval, ApprovalStanding, PinnedUse, judge, with_added
from clawft.policy.pin import (
    DUPLICATE_KEYS,
    INSTRUCTIONS,
    RAW_DEFINITION,
    canonical,
    changed,
    pin,
    read_shown,
    shown_tool,
)
from clawft.policy.pseudo_tools import prompts_of
from tests.requirements import requirement

NOW = 1_000.0
PIN, OTHER = "sha256:one", "sha256:two"


def use(tool: str = "echo", pinned: str = PIN, **who: str) -> PinnedUse:
    audience = {"agent": "a", "workspace": "/w", "principal": "local", **who}
    return PinnedUse("s", tool, pinned, audience["agent"], audience["workspace"], audience["principal"])


@requirement("POOL-17", "POOL-19")
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], ApprovalStanding.UNKNOWN),
        ([Approval("s", "echo", PIN)], ApprovalStanding.APPROVED),
        ([Approval("s", "echo", OTHER)], ApprovalStanding.CHANGED),
        ([Approval("s", "other", PIN)], ApprovalStanding.UNKNOWN),
        ([Approval("t", "echo", PIN)], ApprovalStanding.UNKNOWN),
        ([Approval("s", "", PIN)], ApprovalStanding.UNKNOWN),  # that the server may start says nothing of its tools
        ([Approval("s", "echo", PIN, expires=NOW)], ApprovalStanding.UNKNOWN),
        ([Approval("s", "echo", PIN, expires=NOW + 1)], ApprovalStanding.APPROVED),
        ([Approval("s", "echo", PIN, agent="a")], ApprovalStanding.APPROVED),
        ([Approval("s", "echo", PIN, agent="b")], ApprovalStanding.UNKNOWN),
        ([Approval("s", "echo", PIN, workspace="/w")], ApprovalStanding.APPROVED),
        ([Approval("s", "echo", PIN, workspace="/v")], ApprovalStanding.UNKNOWN),
        ([Approval("s", "echo", PIN, principal="ada")], ApprovalStanding.UNKNOWN),
        ([Approval("s", "e*")], ApprovalStanding.NEW),
        ([Approval("s", "x*")], ApprovalStanding.UNKNOWN),
        ([Approval("s", "e*"), Approval("s", "echo", OTHER)], ApprovalStanding.CHANGED),  # a glob helps no changed pin
        ([Approval("s", "e*", expires=NOW)], ApprovalStanding.UNKNOWN),
        ([Approval("s", "echo", OTHER, agent="b"), Approval("s", "echo", PIN)], ApprovalStanding.APPROVED),
    ],
)
def test_what_was_approved_holds_for_the_same_text_and_the_same_people(
    known: list[Approval], expected: ApprovalStanding
) -> None:
    assert judge(known, use(), NOW).standing is expected


@requirement("POOL-19")
def test_a_tool_that_is_called_like_a_glob_is_no_glob() -> None:
    assert judge([Approval("s", "*", PIN)], use("echo"), NOW).standing is ApprovalStanding.UNKNOWN
    assert judge([Approval("s", "*", PIN)], use("*"), NOW).standing is ApprovalStanding.APPROVED


def test_the_later_word_on_the_same_thing_counts() -> None:
    first, second, other = Approval("s", "echo", PIN), Approval("s", "echo", OTHER), Approval("s", "echo", PIN, "b")
    assert with_added([first, other], [second]) == (other, second)


# ── pins ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

DEFINITION: dict[str, Any] = {
    "name": "echo",
    "title": "Echo",
    "description": "Says it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "icons": [{"src": "data:,"}],
    "x-vendor": 1.5,
}


def pinned(definition: object, instructions: str = "be kind") -> str:
    return pin(shown_tool(json.dumps(definition).encode(), instructions))


@requirement("POOL-19")
@pytest.mark.parametrize("field", DEFINITION)
def test_every_field_a_model_sees_is_pinned(field: str) -> None:
    without = {key: value for key, value in DEFINITION.items() if key != field}
    assert pinned({**DEFINITION, field: "changed"}) != pinned(DEFINITION)
    assert pinned(without) != pinned(DEFINITION)


@requirement("POOL-19")
def test_so_are_the_instructions_of_its_server_but_not_its_meta() -> None:
    assert pinned(DEFINITION, "obey") != pinned(DEFINITION)
    assert pinned({**DEFINITION, "_meta": {"today": 1}}) == pinned(DEFINITION)


@requirement("POOL-19")
def test_spelling_and_order_do_not_matter() -> None:
    turned = json.dumps(dict(reversed(DEFINITION.items())), indent=3).encode()
    assert pin(shown_tool(turned, "be kind")) == pinned(DEFINITION)


@requirement("POOL-19")
def test_a_key_that_occurs_twice_cannot_hide_a_change() -> None:
    first = shown_tool(b'{"name":"a","description":"good","description":"x"}', "")
    second = shown_tool(b'{"name":"a","description":"evil","description":"x"}', "")
    assert DUPLICATE_KEYS in first
    assert pin(first) != pin(second)


@requirement("POOL-19")
@pytest.mark.parametrize("instructions", ["", "be kind"])
@pytest.mark.parametrize("name", [INSTRUCTIONS, RAW_DEFINITION, DUPLICATE_KEYS])
def test_a_member_that_is_called_like_a_word_of_ours_is_pinned_too(name: str, instructions: str) -> None:
    """The attack: a member that a pin would take for its own can say anything later."""
    texts = ("be kind", "obey", "")
    assert len({pinned({**DEFINITION, name: text}, instructions) for text in texts}) == len(texts)
    assert pinned({**DEFINITION, name: "be kind"}, "") != pinned(DEFINITION, "be kind")


@requirement("POOL-19")
def test_what_is_said_of_keys_that_occur_twice_cannot_be_said_instead() -> None:
    twice = shown_tool(b'{"name":"a","x":1,"x":2}', "")
    assert pinned(twice, "") != pin(twice)
    assert pin(shown_tool(canonical({RAW_DEFINITION: "x"}), "")) != pin({RAW_DEFINITION: "x"})


@requirement("POOL-19")
def test_neither_hides_a_change_of_a_prompt() -> None:
    def prompts(*wires: bytes) -> str:
        return pin(shown_tool(prompts_of(wires).wire, ""))

    good = b'{"name":"p","arguments":[{"name":"a","description":"good"}],"_meta":{"today":1}}'
    both = good.replace(b'"description":"good"', b'"description":"evil","description":"good"')
    assert len({prompts(good), prompts(both), prompts(both.replace(b"evil", b"EVIL"))}) == 3
    assert prompts(good) == prompts(good.replace(b"1", b"2"))  # what only programs see may change


@requirement("POOL-19")
@pytest.mark.parametrize(
    "wire",
    [
        b'{"name":"a","n":1e999}',
        b'{"name":"a","n":' + b"9" * 5_000 + b"}",
        b'{"name":"a","n":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"name":"a","n":' + b"[" * 90 + b"]" * 90 + b"}",
    ],
)
def test_no_definition_is_too_odd_to_be_pinned(wire: bytes) -> None:
    shown = shown_tool(wire, "")
    assert pin(shown) == pin(shown_tool(wire, ""))
    assert pin(shown) != pin(shown_tool(wire.replace(b'"a"', b'"b"'), ""))
    assert read_shown(canonical(shown)) == shown
    assert b"Infinity" not in canonical(shown)
    assert RAW_DEFINITION in shown or b"[[" not in wire


FEW = 4
"""Of anything: small definitions are equal or nearly so more often, and take a tenth of the time to make."""
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=FEW) | st.dictionaries(st.text(), inner, max_size=FEW),
    max_leaves=20,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=FEW)


@pytest.mark.slow
@requirement("POOL-19")
@given(json_objects, json_objects)
def test_two_definitions_share_a_pin_only_if_they_are_the_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    seen = [{key: value for key, value in each.items() if key != "_meta"} for each in (one, two)]
    same = canonical(seen[0]) == canonical(seen[1])
    assert (pinned(one) == pinned(two)) is same
    assert bool(changed(*seen)) is not same


@requirement("POOL-19")
@pytest.mark.parametrize("now", [1.0, True, "1", [1]])
def test_what_is_one_number_to_python_has_changed_where_it_is_spelled_otherwise(now: object) -> None:
    assert changed({"maximum": 1}, {"maximum": now}) == ["maximum"]


@requirement("POOL-17")
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (Approval("s", "echo", PIN), ApprovalStanding.UNKNOWN),
        (Approval("s", "*"), ApprovalStanding.UNKNOWN),
        (Approval("s", "echo", PIN, workspace="/v"), ApprovalStanding.UNKNOWN),
        (Approval("s", "echo", PIN, workspace="/w"), ApprovalStanding.APPROVED),
        (Approval("s", "*", workspace="/w"), ApprovalStanding.NEW),
    ],
)
def test_of_a_server_that_the_workspace_names_only_what_was_said_there_counts(
    known: Approval, expected: ApprovalStanding
) -> None:
    local = PinnedUse("s", "echo", PIN, workspace="/w", local=True)
    assert judge([known], local, NOW).standing is expected
