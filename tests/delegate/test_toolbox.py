"""Tools as models want them: chosen, renamed without loss, translated."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clawft.delegate.toolbox import NameMap, filter_tools, openai_to_anthropic, openai_tool, spec_of, tool_result
from clawft.model import Caller
from tests.delegate.support import gateway, named
from tests.requirements import requirement


@requirement("DELEG-05", "T-9.1", "T-9.2", "T-9.3")
def test_one_form_becomes_the_other() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    told = [
        {"type": "function", "function": {"name": "x", "description": "does x", "parameters": schema}},
        {"type": "web_search"},
        {"type": "function", "function": {"name": "y"}},
    ]
    assert openai_to_anthropic(told) == [
        {"name": "x", "description": "does x", "input_schema": schema},
        {"name": "y", "description": "", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert openai_to_anthropic([]) == []


@requirement("DELEG-05")
def test_our_tools_have_both_forms() -> None:
    spec = spec_of(named(gateway(), "demo__echo"))
    over_there = openai_tool(spec, spec.name)
    assert openai_to_anthropic([over_there])[0]["input_schema"]["properties"]["text"]["type"] == "string"


@requirement("DELEG-06", "T-9.4", "T-9.5")
def test_results_are_blocks() -> None:
    assert tool_result("1", "fine") == {"type": "tool_result", "tool_use_id": "1", "content": "fine"}
    assert tool_result("1", {"a": 1})["content"] == '{"a":1}'
    assert tool_result("1", "broken", is_error=True)["is_error"] is True


@requirement("DELEG-07", "T-9.6", "T-9.7", "T-9.8", "DELEG-17")
def test_tools_are_filtered_by_any_of_their_names() -> None:
    entries = gateway().tools.visible(Caller())

    def left(include: list[str], exclude: list[str]) -> list[str]:
        return [entry.name for entry in filter_tools(entries, include, exclude)]

    everything = ["demo__echo", "demo__fail", "demo__hang"]
    assert left([], []) == everything
    assert left(["demo__e*"], []) == ["demo__echo"]
    assert left([], ["mcp__demo__echo"]) == everything[1:]
    assert left(["demo__echo"], ["demo__*"]) == []
    assert left([], ["fail"]) == ["demo__echo", "demo__hang"]


@given(st.lists(st.text(min_size=1, max_size=90), max_size=30))
def test_names_come_back_as_they_were(names: list[str]) -> None:
    mapped = NameMap(names)
    spelled = {mapped.to_api(name) for name in names}
    assert len(spelled) == len(set(names))
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in spelled)
    assert all(mapped.from_api(mapped.to_api(name)) == name for name in names)
