"""Types that msgspec leaves to others, and functions that are not plain ones: what works, and what is told instead."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import msgspec
import pytest
from annotated_types import Gt
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, computed_field

from clawft import Gateway
from clawft.errors import ExecutionFailed, InvalidArguments
from clawft.provider.context import ToolContext
from clawft.provider.function import FunctionProvider, definition_of, tool
from clawft.provider.schema import schema_of
from tests.requirements import requirement

Offer = Callable[..., FunctionProvider]


class Street(BaseModel):
    name: str
    number: int = Field(ge=1)


class Address(BaseModel):
    street: Street
    city: str = "Hamburg"


HOME = Street(name="A", number=1)


class Tree(BaseModel):
    name: str
    branches: list["Tree"] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    day: date

    @computed_field
    def year(self) -> int:
        return self.day.year


class Numbers(RootModel[list[int]]):
    pass


@dataclass
class Parcel:
    to: Address
    label: Path


def valid(schema: dict[str, Any], value: Any) -> bool:
    jsonschema.Draft202012Validator.check_schema(schema)
    validator: Any = jsonschema.Draft202012Validator(schema)
    return validator.is_valid(value)


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-21")
async def test_a_path_is_a_text_to_the_caller(offer: Offer) -> None:
    @tool
    async def parent(path: Annotated[Path, "where"], under: Path = Path("/srv"), other: Path | None = None) -> Path:
        assert isinstance(path, Path)
        return (under / path).parent

    schema = definition_of(parent).input_schema
    assert schema["properties"]["path"] == {"type": "string", "description": "where"}
    assert schema["properties"]["under"] == {"type": "string", "default": "/srv"}
    assert schema["required"] == ["path"]
    provider = offer(parent)
    assert (await provider.call_tool("parent", {"path": "a/b"})).structured_content == {"result": "/srv/a"}
    with pytest.raises(InvalidArguments, match="parent: 'path' must be str, got int"):
        await provider.call_tool("parent", {"path": 5})


async def test_what_an_open_result_holds_may_be_foreign(offer: Offer) -> None:
    @tool
    async def found() -> dict[str, Any]:
        return {"at": Path("/srv/a"), "street": Street(name="A", number=1)}

    told = await offer(found).call_tool("found", {})
    assert told.structured_content == {"at": "/srv/a", "street": {"name": "A", "number": 1}}


# ── models ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-21")
async def test_models_are_taken_and_given(offer: Offer) -> None:
    @tool
    async def move(parcels: list[Parcel], address: Address | None = None, street: Street = HOME) -> Address:
        assert all(isinstance(each.to, Address) for each in parcels)
        street.number += 1
        return address or Address(street=street)

    schema = definition_of(move).input_schema
    good = {"to": {"street": {"name": "B", "number": 2}}, "label": "x"}
    assert valid(schema, {"parcels": [good]})
    assert not valid(schema, {"parcels": [{**good, "to": {"street": {"name": "B", "number": 0}}}]})
    assert schema["properties"]["street"]["default"] == {"name": "A", "number": 1}
    provider = offer(move)
    told = {"street": {"name": "A", "number": 2}, "city": "Hamburg"}
    for _ in range(2):  # a default is not shared by calls
        assert (await provider.call_tool("move", {"parcels": [good]})).structured_content == told
    output = provider.list_tools()[0].output_schema
    assert output is not None
    assert valid(json.loads(bytes(output)), told)


async def test_what_a_model_refuses_is_told_in_one_line(offer: Offer) -> None:
    @tool
    async def send(to: Address) -> str:
        return to.city

    with pytest.raises(InvalidArguments) as told:
        await offer(send).call_tool("send", {"to": {"street": {"number": 0}}})
    assert told.value.message == (
        "send: 'to' is wrong: street.name: Field required; street.number: Input should be greater than or equal to 1"
    )


def test_inner_models_of_one_name_are_told_apart() -> None:
    def outer(kind: type) -> type[BaseModel]:
        class Inner(BaseModel):
            value: kind  # type: ignore[valid-type]

        class Outer(BaseModel):
            inner: Inner

        return Outer

    schema = schema_of(tuple[outer(int), outer(str), Tree])
    number, text = ({"inner": {"value": value}} for value in (1, "a"))
    assert valid(schema, [number, text, {"name": "t", "branches": [{"name": "u"}]}])
    assert not valid(schema, [number, number, {"name": "t"}])
    assert not valid(schema, [number, text, {"name": "t", "branches": [{}]}])
    assert valid(schema_of(Tree), {"name": "t", "branches": [{"name": "u"}]})


@pytest.mark.parametrize(
    ("hint", "value", "sent"),
    [
        (Strict, Strict(day=date(2026, 1, 2)), {"day": "2026-01-02", "year": 2026}),
        (list[Strict], [Strict(day=date(2026, 1, 2))], {"result": [{"day": "2026-01-02", "year": 2026}]}),
        (Numbers, Numbers([1, 2]), {"result": [1, 2]}),
        (Street, {"name": "A", "number": 1}, {"name": "A", "number": 1}),
        (Tree, Tree(name="t"), {"name": "t", "branches": []}),
    ],
)
async def test_what_models_write_is_sent_and_fits(offer: Offer, hint: Any, value: Any, sent: Any) -> None:
    async def give() -> Any:
        return value

    give.__annotations__["return"] = hint
    provider = offer(tool(give))
    assert (await provider.call_tool("give", {})).structured_content == sent
    assert valid(json.loads(bytes(provider.list_tools()[0].output_schema or b"")), sent)


@pytest.mark.parametrize("value", [{"name": "A", "number": 0}, Tree(name="A"), 5])
async def test_what_is_no_such_model_is_told_and_not_sent(offer: Offer, value: Any) -> None:
    @tool
    async def give() -> Street:
        return value

    with pytest.raises(ExecutionFailed, match="give: it says that it returns Street, and returned"):
        await offer(give).call_tool("give", {})


async def test_a_strict_model_takes_what_json_can_say(offer: Offer) -> None:
    @tool
    async def year(of: Strict) -> int:
        return of.day.year

    assert (await offer(year).call_tool("year", {"of": {"day": "2026-01-02"}})).structured_content == {"result": 2026}


async def test_bounds_and_descriptions_of_pydantic_count(offer: Offer) -> None:
    @tool
    async def some(
        count: Annotated[int, Field(description="how many", ge=1, lt=10)],
        name: Annotated[str, Field(min_length=2, pattern="^a")] = "ab",
        size: Annotated[int, Gt(0)] = 1,
        each: list[Annotated[int, Field(le=5, description="of them")]] | None = None,
        wide: Annotated[int | None, Field(ge=3)] = None,
    ) -> int:
        return count

    provider = offer(some)
    schema = msgspec.json.decode(provider.list_tools()[0].input_schema)["properties"]
    assert schema["count"] == {"description": "how many", "type": "integer", "minimum": 1, "exclusiveMaximum": 10}
    assert schema["name"] == {"type": "string", "minLength": 2, "pattern": "^a", "default": "ab"}
    assert schema["each"]["anyOf"][0]["items"] == {"description": "of them", "type": "integer", "maximum": 5}
    assert (await provider.call_tool("some", {"count": 3})).structured_content == {"result": 3}
    for wrong in ({"count": 0}, {"count": 10}, {"name": "ba"}, {"size": 0}, {"each": [6]}, {"wide": 2}):
        with pytest.raises(InvalidArguments):
            await provider.call_tool("some", {"count": 3, **wrong})


async def test_a_program_hands_over_what_its_tools_take() -> None:
    @tool
    async def both(address: Address, path: Path) -> str:
        return f"{address.street.name} {path}"

    async with Gateway(both) as gateway:
        ours = Address(street=Street(name="Elbchaussee", number=1))
        result = await gateway.call_tool("both", address=ours, path=Path("a"))
        assert result.content[0]["text"] == "Elbchaussee a"
        with pytest.raises(TypeError, match="object has no JSON form"):
            await gateway.call_tool("both", address=object(), path="a")


def test_a_validator_that_nobody_would_run_is_refused() -> None:
    async def odd(count: int) -> None: ...

    odd.__annotations__["count"] = Annotated[int, AfterValidator(abs)]
    with pytest.raises(TypeError, match=r"^tool odd: .*AfterValidator has no effect here; use a pydantic model"):
        tool(odd)

    async def many(count: int = Field(1, ge=1)) -> None: ...

    with pytest.raises(TypeError, match=r"^tool many: parameter 'count': a Field is no default here; write Annotated"):
        tool(many)


def test_usual_types_load_nothing_for_it() -> None:
    program = """
import sys
from clawft import tool
@tool
async def add(a: int, b: list[str] = ["x"]) -> dict[str, int]: return {}
print([name for name in ("pydantic", "clawft.provider.foreign") if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert told.stdout == "[]\n"


# ── methods and partials ─────────────────────────────────────────────────────────────────────────────────────────────


class Counter:
    def __init__(self) -> None:
        self.count = 0

    async def add(self, by: int, ctx: ToolContext | None = None) -> int:
        """Count on."""
        assert ctx is not None
        self.count += by
        return self.count

    def reset(self) -> str:
        """Begin again."""
        self.count = 0
        return "begun"


@requirement("PROV-21")
async def test_a_method_of_an_object_is_a_tool(offer: Offer) -> None:
    counter = Counter()
    provider = offer(tool(counter.add), tool(name="again")(counter.reset))
    assert [(each.name, each.description) for each in provider.list_tools()] == [
        ("add", "Count on."),
        ("again", "Begin again."),
    ]
    assert definition_of(tool(counter.add)).input_schema["properties"].keys() == {"by"}
    await provider.call_tool("add", {"by": 2})
    assert (await provider.call_tool("add", {"by": 3})).structured_content == {"result": 5}
    await provider.call_tool("again", {})
    assert counter.count == 0
    assert tool(counter.reset)() == "begun"


async def fetch(host: str, page: int, *, token: str, deep: bool = False) -> str:
    """Fetch a page."""
    return f"{host} {page} {token} {deep}"


@requirement("PROV-21")
async def test_a_partial_is_a_tool_of_what_is_left(offer: Offer) -> None:
    """What the program gave is neither told to callers nor theirs to change."""
    made = tool(partial(partial(fetch, "here"), token="hidden"))
    definition = definition_of(made)
    assert (definition.name, definition.description) == ("fetch", "Fetch a page.")
    assert definition.input_schema["properties"].keys() == {"page", "deep"}
    assert b"hidden" not in definition.tool.wire
    provider = offer(made)
    assert (await provider.call_tool("fetch", {"page": 1})).content[0]["text"] == "here 1 hidden False"
    with pytest.raises(InvalidArguments, match="unknown argument 'token'"):
        await provider.call_tool("fetch", {"page": 1, "token": "mine"})


async def test_a_partial_that_names_an_early_parameter_passes_the_others_by_name(offer: Offer) -> None:
    made = tool(partial(fetch, host="there", token="t"))
    assert (await offer(made).call_tool("fetch", {"page": 2, "deep": True})).content[0]["text"] == "there 2 t True"


# ── what cannot be a tool ────────────────────────────────────────────────────────────────────────────────────────────


async def yields() -> AsyncIterator[int]:
    yield 1


class Unmade:
    async def method(self, a: int) -> int:
        return a


async def twice(a: ToolContext, b: ToolContext | None) -> None: ...


class Callee:
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (yields, "tool yields: it yields, but a call has one result; return a list"),
        (Unmade.method, r"tool method: 'self' cannot be given by callers; .* tool\(thing.method\)"),
        (twice, "tool twice: parameter 'b' is a second ToolContext; leave it out"),
        (Callee(), r"an object Callee cannot be a tool; give a function, or a method of an object"),
        (Callee, r"the class Callee cannot be a tool"),
    ],
)
def test_what_cannot_be_a_tool_is_told_with_what_to_do(made: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tool(made)


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (Iterable[str], r"Iterable has no JSON form; write list\[…\] instead"),
        (Annotated[Iterable[str], "described"], r"Iterable has no JSON form; write list\[…\] instead"),
        (Callable[[], int], "Callable has no JSON form; write a Literal"),
        (Callee, "Callee has no JSON form; write str, int, .* or a pydantic model instead"),
        (Path | str, "Type unions containing a custom type may not contain any additional types"),
    ],
)
def test_a_type_that_has_no_json_form_is_told_with_tool_and_parameter(hint: Any, told: str) -> None:
    async def odd(good: int, bad: Any) -> None: ...

    odd.__annotations__["bad"] = hint
    with pytest.raises(TypeError, match=f"^tool odd: parameter 'bad': {told}"):
        tool(odd)

    async def gives() -> None: ...

    gives.__annotations__["return"] = hint
    with pytest.raises(TypeError, match=f"^tool gives: return type: {told}"):
        tool(gives)
