"""Forms for older clients, and their answers for newer servers."""

from typing import Any

import pytest

from clawft.wire.forms import newer_content, older_form
from tests.requirements import requirement

TITLED = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]


@requirement("RES-13")
@pytest.mark.parametrize(
    ("field", "older"),
    [
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
        (
            {"type": "string", "description": "d", "oneOf": TITLED, "default": "b"},
            {"type": "string", "description": "d", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"},
        ),
        (
            {"type": "array", "title": "t", "minItems": 1, "items": {"anyOf": TITLED}, "default": ["a"]},
            {"type": "string", "title": "t", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        ),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, {"type": "string", "enum": ["a"]}),
    ],
)
def test_an_older_client_chooses_one_word_of_a_list(field: dict[str, Any], older: dict[str, Any]) -> None:
    form = {"type": "object", "properties": {"x": field}, "required": ["x"]}
    assert older_form(form) == {"type": "object", "properties": {"x": older}, "required": ["x"]}


@requirement("RES-13")
def test_its_answer_is_one_to_the_form_the_server_made() -> None:
    form = {"properties": {"some": {"type": "array", "items": {"anyOf": TITLED}}, "one": {"type": "string"}}}
    assert newer_content(form, {"some": "a", "one": "b", "more": 1}) == {"some": ["a"], "one": "b", "more": 1}
    assert newer_content(form, {"some": ["a"]}) == {"some": ["a"]}
    assert newer_content({}, {"x": "a"}) == {"x": "a"}
