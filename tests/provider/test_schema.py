"""A tool's schema comes from its signature and is valid JSON Schema 2020-12."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider, definition_of, tool
from clawft.provider.schema import read_signature, schema_of
from tests.requirements import requirement


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(Struct):
    name: str
    children: list["Node"] = []


@dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict):
    fast: bool


@tool
async def everything(  # noqa: PLR0917 - one of each is the point
    text: Annotated[str, "a text"],
    count: Annotated[int, Meta(ge=1, le=10), "how many"],
    node: Node,
    point: Point,
    options: Options,
    ctx: ToolContext,
    colour: Colour = Colour.RED,
    mode: Literal["a", "b"] = "a",
    maybe: float | None = None,
    names: list[str] = ["x"],  # noqa: B006 - a filled default is the thing being tested
    *,
    extra: dict[str, Any] | None = None,
) -> str:
    """Takes one of each.

    And has a second paragraph.
    """
    names.append(text)
    return msgspec.json.encode([names, count, mode, maybe, extra, ctx.agent]).decode()


def schema(function: Any) -> dict[str, Any]:
    return definition_of(function).input_schema


def accepts(made: dict[str, Any], value: Any) -> bool:
    validator: Any = jsonschema.Draft202012Validator(made)
    return validator.is_valid(value)


@requirement("PROV-21", "F8-A03", "F1-A04")
def test_schema_of_a_signature_is_valid_and_closed() -> None:
    made = schema(everything)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["type"] == "object"
    assert made["additionalProperties"] is False
    assert made["required"] == ["text", "count", "node", "point", "options"]
    assert "ctx" not in made["properties"]
    assert made["properties"]["text"] == {"type": "string", "description": "a text"}
    assert made["properties"]["count"]["description"] == "how many"
    assert made["properties"]["count"]["maximum"] == 10


@requirement("PROV-21")
def test_constraints_and_inner_types_are_in_the_schema() -> None:
    good = {"text": "t", "count": 3, "node": {"name": "n"}, "point": {"x": 1}, "options": {"fast": True}}
    made = schema(everything)
    assert accepts(made, good)
    assert not accepts(made, {**good, "count": 11})
    assert not accepts(made, {**good, "unknown": 1})
    assert not accepts(made, {**good, "node": {"name": "n", "children": [{"nom": 1}]}})


async def test_a_filled_default_is_fresh_on_each_call(offer: Callable[..., FunctionProvider]) -> None:
    arguments = {"text": "t", "count": 3, "node": {"name": "n"}, "point": {"x": 1}, "options": {"fast": True}}
    provider = offer(everything)
    first = await provider.call_tool("everything", arguments)
    assert first.content == (await provider.call_tool("everything", arguments)).content
    assert first.content[0]["text"] == '[["x","t"],3,"a",null,null,"default"]'


@requirement("PROV-21")
def test_recursive_types_keep_their_own_definition() -> None:
    made = schema_of(Node)
    jsonschema.Draft202012Validator.check_schema(made)
    assert accepts(made, {"name": "a", "children": [{"name": "b", "children": []}]})
    assert not accepts(made, {"name": "a", "children": [{"children": []}]})


@requirement("PROV-21")
def test_description_is_the_dedented_docstring() -> None:
    assert definition_of(everything).description == "Takes one of each.\n\nAnd has a second paragraph."


@requirement("PROV-21")
def test_a_ready_schema_is_taken_as_given() -> None:
    given_schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}

    @tool(input_schema=given_schema)
    async def whole(arguments: dict[str, Any]) -> str:
        return str(arguments)

    assert schema(whole) == given_schema


def test_what_cannot_be_a_tool_is_refused_when_it_is_defined() -> None:
    with pytest.raises(TypeError, match=r"tool many: '\*paths: str' has no schema"):

        @tool
        async def many(*paths: str) -> str:
            return ""

    with pytest.raises(TypeError, match="tool picture: bytes have no JSON form"):

        @tool
        async def picture() -> bytes:
            return b""

    with pytest.raises(TypeError, match="tool odd"):

        @tool
        async def odd(callback: type[int]) -> str:
            return ""


@tool
async def sample(text: str, limit: int | None = None) -> str:
    return text


@given(
    st.dictionaries(st.sampled_from(["text", "limit", "txt"]), st.sampled_from(["", "a", 1, -2, 1.5, True, None, []]))
)
@requirement("PROV-21")
def test_schema_and_decoder_agree(arguments: dict[str, Any]) -> None:
    decoder = msgspec.json.Decoder(read_signature(sample, "sample").arguments)
    try:
        decoder.decode(msgspec.json.encode(arguments))
        accepted = True
    except msgspec.ValidationError:
        accepted = False
    assert accepts(schema(sample), arguments) == accepted
