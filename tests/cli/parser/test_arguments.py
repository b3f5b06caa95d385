"""`key=value` as the schema means it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.cli.parser import WrongUsage
from clawft.cli.parser.arguments import arguments, kinds_of
from clawft.error_words import nearest
from tests.requirements import requirement

SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array"},
        "table": {"$ref": "#/$defs/table"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "text_or_null": {"type": ["string", "null"]},
        "level": {"enum": ["low", "high"]},
        "size": {"enum": [1, 2]},
        "any": {},
    },
    "$defs": {"table": {"type": "object"}, "loop": {"$ref": "#/$defs/loop"}},
    "additionalProperties": False,
}
OPEN: dict[str, Any] = {"properties": {}}


def read(*pairs: str, whole: str | None = None, schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    return arguments(pairs, whole, schema, read=lambda name: f"[content of {name}]")


@requirement("PROV-23")
@pytest.mark.parametrize(
    ("pair", "key", "value"),
    [
        ("text=3", "text", "3"),
        ("text=", "text", ""),
        ("text=a=b", "text", "a=b"),
        ("text=@notes.md", "text", "[content of notes.md]"),
        ('text:="@literal"', "text", "@literal"),
        ("count=-3", "count", -3),
        ("share=1", "share", 1),
        ("share=0.5", "share", 0.5),
        ("flag=true", "flag", True),
        ("list=[1, 2]", "list", [1, 2]),
        ('table={"a": 1}', "table", {"a": 1}),
        ("maybe=null", "maybe", None),
        ("maybe=7", "maybe", 7),
        ("text_or_null=null", "text_or_null", "null"),
        ("text_or_null:=null", "text_or_null", None),
        ("level=low", "level", "low"),
        ("size=2", "size", 2),
        ("any=5", "any", "5"),
        ("any:=5", "any", 5),
    ],
)
def test_a_value_is_read_by_its_schema(pair: str, key: str, value: object) -> None:
    found = read(pair)
    assert found == {key: value}
    assert type(found[key]) is type(value)


@requirement("PROV-23")
@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("count=three", "count must be a whole number, not 'three'"),
        ("count=1.5", "count must be a whole number, not '1.5'"),
        ("count=true", "count must be a whole number"),
        ("flag=yes", "flag must be true or false, not 'yes'"),
        ("list={}", "list must be a JSON list"),
        ("maybe=x", "maybe must be a whole number or null, not 'x'"),
        ("any:=nope", "any must be JSON, not 'nope'"),
        ("txt=1", "no such argument: txt, did you mean 'text'?"),
        ("lonely", "'lonely' is not an argument"),
        ("=x", "'=x' is not an argument"),
        (":=1", "':=1' is not an argument"),
    ],
)
def test_a_wrong_value_says_what_it_must_be(pair: str, said: str) -> None:
    with pytest.raises(WrongUsage) as wrong:
        read(pair)
    assert said in wrong.value.message
    assert wrong.value.hint


@requirement("PROV-23")
def test_a_word_of_one_name_alone_is_taken_for_that_name() -> None:
    assert nearest("path", ["url", "target_path", "branch", "depth"]) == "target_path"
    assert nearest("pth", ["target_path", "path"]) == "path"
    assert nearest("", ["target__path"]) == ""


@requirement("PROV-23")
def test_single_arguments_win_over_the_whole_and_may_not_repeat() -> None:
    assert read("text=b", whole='{"text": "a", "count": 1}') == {"text": "b", "count": 1}
    with pytest.raises(WrongUsage, match="given twice"):
        read("text=a", "text=b")
    with pytest.raises(WrongUsage, match="--args is not a JSON object"):
        read(whole="[1]")


def test_an_open_schema_takes_unknown_texts() -> None:
    assert read("new=1", schema=OPEN) == {"new": "1"}


@requirement("PROV-23")
def test_a_reference_that_leads_nowhere_or_round_in_circles_means_anything() -> None:
    assert kinds_of({"$ref": "#/$defs/loop"}, SCHEMA) == frozenset()
    assert kinds_of({"$ref": "#/$defs/missing/deeper"}, SCHEMA) == frozenset()
    assert kinds_of({"$ref": "https://elsewhere/x"}, SCHEMA) == frozenset()


@requirement("PROV-23")
@given(st.text(), st.recursive(st.integers() | st.text() | st.booleans() | st.none(), st.lists, max_leaves=5))
def test_texts_and_json_arrive_as_they_are(text: str, value: object) -> None:
    if not text.startswith("@"):
        assert read(f"text={text}") == {"text": text}
    assert read(f"any:={json.dumps(value)}") == {"any": value}
