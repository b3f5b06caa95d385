"""Forms of servers, as a person at a terminal sees and fills them in."""

from __future__ import annotations

from typing import Any

import pytest

from clawft.cli.parser import WrongUsage
from clawft.cli.screen.form import asked, fields_of, read
from tests.requirements import requirement


def field(expected: dict[str, Any], *, required: bool = True) -> Any:
    (one,) = fields_of({"properties": {"x": expected}, "required": ["x"] if required else []})
    return one


TITLED = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("expected", "typed", "value"),
    [
        ({"type": "string"}, "Ada", "Ada"),
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "5", 5),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "boolean"}, "y", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "string", "enum": ["a", "b"]}, "2", "b"),
        ({"type": "string", "enum": ["a", "b"]}, "a", "a"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["An A", "A B"]}, "A B", "b"),
        ({"type": "string", "oneOf": TITLED}, "Red", "r"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "1, c", ["a", "c"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, "2", ["b"]),
    ],
)
def test_what_is_typed_becomes_what_the_form_wants(expected: dict[str, Any], typed: str, value: object) -> None:
    assert read(field(expected), typed) == value


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("expected", "typed", "said"),
    [
        ({"type": "integer"}, "many", "x must be a whole number, not 'many'"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "10", "x is at most 9"),
        ({"type": "integer", "minimum": 1}, "0", "x is at least 1"),
        ({"type": "string", "minLength": 3}, "ab", "x has at least 3 letters"),
        ({"type": "string", "maxLength": 3}, "abcd", "x has at most 3 letters"),
        ({"type": "boolean"}, "perhaps", "x is yes or no, not 'perhaps'"),
        ({"type": "string", "enum": ["a"]}, "2", "'2' is not one of these"),
        ({"type": "array", "items": {"enum": ["a"]}}, "a, z", "'z' is not one of these"),
    ],
)
def test_what_does_not_fit_is_said(expected: dict[str, Any], typed: str, said: str) -> None:
    with pytest.raises(WrongUsage) as wrong:
        read(field(expected), typed)
    assert said in wrong.value.message


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("expected", "required", "line"),
    [
        ({"type": "string"}, True, "x:"),
        ({"type": "string"}, False, "x, optional:"),
        ({"type": "integer", "default": 3}, False, "x, a whole number [3]:"),
        ({"type": "boolean", "default": True}, True, "x, yes or no [yes]:"),
        ({"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}, True, "x, some of these, with commas [a]:"),
    ],
)
def test_a_line_says_what_is_wanted_and_what_enter_means(expected: dict[str, Any], required: bool, line: str) -> None:
    assert asked(field(expected, required=required)) == line
