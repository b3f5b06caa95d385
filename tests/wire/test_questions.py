"""Questions: whatever passes is well-formed, and what need not be there and is wrong is left out."""

import json
from typing import Any

import msgspec
import pytest

from clawft.wire.questions import mended_elicitation, mended_sampling
from tests.requirements import requirement

MESSAGE: Any = {"role": "user", "content": {"type": "text", "text": "x"}}


def form(fields: Any, **more: Any) -> Any:
    return {"type": "object", "properties": fields, **more}


def mended(schema: Any) -> Any:
    return json.loads(mended_elicitation(json.dumps({"message": "m", "requestedSchema": schema}).encode()))


@requirement("SESS-21")
@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "email", "minLength": 1, "new": 5},
        {"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"},
        {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        {"type": "number", "minimum": 0.5},
        {"type": "integer", "default": 5},
        {"type": "boolean", "default": True, "title": "t"},
        {"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["a"]},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "minItems": 1},
    ],
)
def test_a_field_of_every_kind_passes_as_it_came(field: Any) -> None:
    assert mended(form({"a": field}, required=["a"]))["requestedSchema"] == form({"a": field}, required=["a"])


@requirement("SESS-21")
def test_what_is_wrong_with_a_field_is_left_out() -> None:
    field = {"type": "string", "format": "password", "title": None, "enum": [5], "default": 7}
    assert mended(form({"a": field}))["requestedSchema"] == form({"a": {"type": "string"}})


@requirement("SESS-21")
def test_a_form_requires_only_what_can_be_filled_in() -> None:
    asked = mended({"properties": {"a": {"type": "string"}}, "required": ["a", "b"]})
    assert asked["requestedSchema"] == form({"a": {"type": "string"}}, required=["a"])


@requirement("SESS-21")
@pytest.mark.parametrize("missing", [{}, {"requestedSchema": None}])
def test_a_question_without_a_form_has_an_empty_one(missing: Any) -> None:
    told = json.loads(mended_elicitation(json.dumps({"message": "m", **missing}).encode()))
    assert told == {"message": "m", "requestedSchema": form({})}


@requirement("SESS-21")
@pytest.mark.parametrize(
    "schema",
    [
        5,
        [],
        {"type": "object"},
        form([]),
        form({"a": 5}),
        form({"a": {}}),
        form({"a": {"type": "object"}}),
        form({"a": {"type": "array"}}),
        form({"a": {"type": "array", "items": {"type": "object"}}}),
    ],
)
def test_what_nobody_can_fill_in_is_no_form(schema: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        mended(schema)


def sampled(**params: Any) -> Any:
    return json.loads(mended_sampling(json.dumps(params).encode()))


@requirement("SESS-21")
def test_messages_for_models_pass_as_they_came() -> None:
    use: Any = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
    used = {"type": "tool_result", "toolUseId": "1", "content": [MESSAGE["content"]], "isError": False}
    told: Any = {
        "messages": [MESSAGE, {"role": "assistant", "content": [use]}, {"role": "user", "content": [used]}],
        "maxTokens": 5,
        "modelPreferences": {"hints": [{"name": "x"}], "costPriority": 0.5},
        "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        "toolChoice": {"mode": "auto"},
        "new": None,
    }
    assert sampled(**told) == told


@requirement("SESS-21")
def test_what_is_wrong_and_need_not_be_there_is_left_out() -> None:
    wrong: Any = {
        "temperature": "hot",
        "stopSequences": 5,
        "includeContext": "all",
        "metadata": [],
        "systemPrompt": None,
    }
    told = sampled(messages=[MESSAGE], maxTokens=5, modelPreferences={"costPriority": 9, "hints": [5]}, **wrong)
    assert told == {"messages": [MESSAGE], "maxTokens": 5, "modelPreferences": {"hints": []}}


@requirement("SESS-21")
@pytest.mark.parametrize(
    "content",
    [
        None,
        "x",
        {},
        {"type": "text"},
        {"type": "hologram"},
        [{"type": "text"}],
        {"type": "tool_use", "id": 5, "name": "t", "input": {}},
        {"type": "tool_result", "toolUseId": "1", "content": [{"type": "hologram"}]},
        {"type": "tool_result", "content": []},
    ],
)
def test_what_no_model_can_read_is_no_question(content: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        sampled(messages=[{"role": "user", "content": content}], maxTokens=5)


@requirement("SESS-21")
@pytest.mark.parametrize("params", [{}, {"messages": [MESSAGE]}, {"messages": 5, "maxTokens": 5}])
def test_nor_is_one_without_messages_or_a_bound(params: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        sampled(**params)
